//! The environment variables that a language server inherits.
//!
//! An allow-list of names. Other variables aren't inherited, so tokens and codeyard's own settings (`CODEYARD_*`) never
//! reach a language server. The registry and the configuration may add variables for a server. The folder for temporary files
//! isn't inherited: each server has its own.

use std::ffi::{OsStr, OsString};

/// Names of inherited variables.
const ALLOWED: &[&str] = &[
    // User and locale.
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "LANG", "LANGUAGE", "TZ",
    // The network, for servers that fetch dependencies.
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
    "http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
    // Dynamic linking, for toolchains outside the usual directories.
    "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "PKG_CONFIG_PATH",
    // Rust.
    "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUSTC", "RUSTFLAGS", "CARGO_BUILD_TARGET", // Go.
    "GOPATH", "GOROOT", "GOBIN", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GOPRIVATE", "GOTOOLCHAIN", "GOWORK",
    // JVM languages.
    "JAVA_HOME", "JDK_HOME", "GRADLE_HOME", "GRADLE_USER_HOME", "MAVEN_HOME", "M2_HOME", "KOTLIN_HOME", "SCALA_HOME",
    // Python.
    "VIRTUAL_ENV", "PYENV_ROOT", "PYENV_VERSION", "PYTHONPATH", "PYTHONHOME", "CONDA_PREFIX", "CONDA_DEFAULT_ENV",
    "POETRY_HOME", "UV_CACHE_DIR", "UV_PYTHON_INSTALL_DIR", "PIPENV_VENV_IN_PROJECT", // JavaScript.
    "NODE_PATH", "NVM_DIR", "NVM_BIN", "FNM_DIR", "VOLTA_HOME", "PNPM_HOME", "DENO_DIR", "BUN_INSTALL",
    // C and C++.
    "CC", "CXX", "SDKROOT", "DEVELOPER_DIR", "VCPKG_ROOT", "CMAKE_PREFIX_PATH", // Others.
    "GEM_HOME", "GEM_PATH", "RBENV_ROOT", "RBENV_VERSION", "BUNDLE_PATH", "DOTNET_ROOT", "NUGET_PACKAGES",
    "PHPENV_ROOT", "COMPOSER_HOME", "OPAMROOT", "OPAM_SWITCH_PREFIX", "GHCUP_INSTALL_BASE_PREFIX", "STACK_ROOT",
    "ZIG_GLOBAL_CACHE_DIR", "ELIXIR_HOME", "MIX_HOME", "HEX_HOME", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR",
    "NIX_PATH", "NIX_PROFILES",
];

/// Prefixes of names of inherited variables.
const ALLOWED_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// The inherited part of this process's environment, ordered by name.
pub fn allowed_environment() -> Vec<(OsString, OsString)> {
    allowed(std::env::vars_os())
}

/// The inherited part of `variables`, ordered by name.
pub fn allowed(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut kept: Vec<_> = variables.into_iter().filter(|(name, _)| is_allowed(name)).collect();
    kept.sort();
    kept
}

fn is_allowed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    ALLOWED.contains(&name) || ALLOWED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allowed_variables_are_inherited() {
        let pair = |name: &str| (OsString::from(name), OsString::from("x"));
        let names = [
            "PATH", "LC_ALL", "XDG_CACHE_HOME", "https_proxy", "CARGO_HOME", "GITHUB_TOKEN", "CARGO_REGISTRY_TOKEN",
            "AWS_SECRET_ACCESS_KEY", "CODEYARD_TOKEN", "CODEYARD_CONFIG", "NPM_TOKEN", "SSH_AUTH_SOCK", "LD_PRELOAD",
            "NODE_OPTIONS", "path",
        ];
        let kept: Vec<_> = allowed(names.map(pair)).into_iter().map(|(name, _)| name.into_string().unwrap()).collect();
        assert_eq!(kept, ["CARGO_HOME", "LC_ALL", "PATH", "XDG_CACHE_HOME", "https_proxy"]);
    }
}
