//! What a configuration would find on this machine: headers, functions and types of the C library, sizes, features of the compiler.
//!
//! The names are those that stand in the installed standard headers; nothing is compiled. A name that nothing is known about isn't there.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use super::system_headers::SystemHeaders;
use crate::limits::MAX_SCANNED_BYTES;

/// Standard headers of the machine that are searched for the names of functions and types.
const MAX_INSTALLED_HEADERS: usize = 4_096;

/// Folders whose headers declare the functions and types of the C library.
const FOLDERS: [&str; 12] = [
    "", "sys", "net", "netinet", "arpa", "linux", "bits", "bits/types", "x86_64-linux-gnu/sys",
    "x86_64-linux-gnu/bits", "x86_64-linux-gnu/bits/types", "aarch64-linux-gnu/bits",
];
/// Definitions of autoconf that are always there.
const ALWAYS: [&str; 12] = [
    "STDC_HEADERS", "TIME_WITH_SYS_TIME", "_GNU_SOURCE", "_ALL_SOURCE", "__EXTENSIONS__", "_DEFAULT_SOURCE",
    "HAVE_LONG_LONG", "HAVE_LONGLONG", "HAVE_LONG_LONG_INT", "HAVE_UNSIGNED_LONG_LONG_INT", "HAVE_BOOL_T",
    "HAVE_INLINE",
];
/// Parts of names of features that the compiler has.
const OF_COMPILER: [&str; 8] = [
    "HAVE_ATTRIBUTE", "HAVE___ATTRIBUTE", "HAVE_BUILTIN", "HAVE___BUILTIN", "HAVE_FUNC_ATTRIBUTE",
    "HAVE_VAR_ATTRIBUTE", "HAVE_C99", "HAVE_VARIADIC",
];
/// Libraries that belong to the C library.
const OF_C_LIBRARY: [&str; 7] = ["LIBC", "LIBM", "LIBPTHREAD", "PTHREAD", "LIBDL", "LIBRT", "THREADS"];

/// Answers the checks of a configuration.
#[derive(Debug, Default)]
pub(super) struct InstalledNames {
    names: OnceLock<HashSet<Box<str>>>,
}

impl InstalledNames {
    /// The value of a definition that a configuration makes; empty for one that is only defined. `None`: it isn't defined.
    pub(super) fn definition(&self, name: &str, system: &SystemHeaders) -> Option<String> {
        if ALWAYS.contains(&name) || OF_COMPILER.iter().any(|part| name.starts_with(part)) {
            return Some("1".into());
        }
        if let Some(kind) = name.strip_prefix("SIZEOF_") {
            return Some(size_of(kind).to_string());
        }
        if let Some(declared) = name.strip_prefix("HAVE_DECL_") {
            return Some(u8::from(self.has(declared)).to_string());
        }
        if name == "RETSIGTYPE" {
            return Some("void".into());
        }
        if ["_CONST", "_QUAL", "_EXTERN", "_EXPORT", "_API", "_INLINE"].iter().any(|ending| name.ends_with(ending)) {
            return Some(String::new());
        }
        let is_text = name.starts_with("PACKAGE") || name == "VERSION" || name.ends_with("_VERSION");
        if is_text && !name.contains("HAVE") {
            return Some("\"0\"".into());
        }
        let checked = name.strip_prefix("HAVE_").or_else(|| Some(name.split_once("_HAVE_")?.1))?;
        self.is_there(checked, system).then(|| "1".into())
    }

    /// Whether a configuration finds what stands behind `HAVE_`.
    fn is_there(&self, checked: &str, system: &SystemHeaders) -> bool {
        if OF_C_LIBRARY.contains(&checked) {
            return true;
        }
        if let Some(header) = checked.strip_suffix("_H") {
            return spellings(&header.to_ascii_lowercase()).any(|name| system.has(&format!("{name}.h")));
        }
        let plain = checked.strip_prefix("STRUCT_").or_else(|| checked.strip_prefix("TYPE_")).unwrap_or(checked);
        let plain = plain.strip_prefix("WORKING_").or_else(|| plain.strip_suffix("_FUNC")).unwrap_or(plain);
        let of_library = checked.strip_prefix("LIB").map(str::to_ascii_lowercase);
        let has_library = || {
            of_library
                .is_some_and(|name| [format!("{name}.h"), format!("{name}lib.h")].iter().any(|name| system.has(name)))
        };
        self.has(plain) || has_library()
    }

    /// Whether a standard header names it, in capitals or not.
    fn has(&self, name: &str) -> bool {
        let names = self.names.get_or_init(|| read_names(Path::new("/usr/include")));
        names.contains(name) || names.contains(name.to_ascii_lowercase().as_str())
    }
}

/// The paths that a name with underscores may stand for.
fn spellings(name: &str) -> impl Iterator<Item = String> {
    [name.to_owned(), name.replacen('_', "/", 1), name.replace('_', "/"), name.replace('_', "-")].into_iter()
}

fn size_of(kind: &str) -> usize {
    match kind {
        "CHAR" | "UNSIGNED_CHAR" | "BOOL" | "_BOOL" | "INT8_T" | "UINT8_T" => 1,
        "SHORT" | "UNSIGNED_SHORT" | "SHORT_INT" | "INT16_T" | "UINT16_T" => 2,
        "INT" | "UNSIGNED_INT" | "UNSIGNED" | "FLOAT" | "WCHAR_T" | "INT32_T" | "UINT32_T" | "PID_T" | "UID_T" => 4,
        "LONG_DOUBLE" => 16,
        _ => 8,
    }
}

/// All names in the headers of the C library.
fn read_names(include: &Path) -> HashSet<Box<str>> {
    let mut paths = Vec::new();
    for folder in FOLDERS {
        let entries = fs::read_dir(include.join(folder)).into_iter().flatten().flatten();
        let headers = entries.map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            let of_library = |name: &str| !folder.is_empty() || super::system_headers::is_standard(name);
            name.is_some_and(|name| name.ends_with(".h") && of_library(name))
        });
        let mut headers: Vec<_> = headers.collect();
        headers.sort();
        paths.extend(headers);
    }
    let mut names = HashSet::new();
    for path in paths.iter().take(MAX_INSTALLED_HEADERS) {
        let is_small = fs::metadata(path).is_ok_and(|found| found.len() <= MAX_SCANNED_BYTES);
        let Some(text) = is_small.then(|| fs::read(path).ok()).flatten() else { continue };
        let text = String::from_utf8_lossy(&text);
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for word in words.filter(|word| word.len() > 2 && !word.starts_with(|c: char| c.is_ascii_digit())) {
            if !names.contains(word) {
                names.insert(word.into());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_answered_from_the_headers() {
        let installed = InstalledNames::default();
        let system = SystemHeaders::default();
        let names = ["getaddrinfo", "timeval", "MSG_NOSIGNAL", "ssize_t"].map(Box::from);
        installed.names.set(names.into_iter().collect()).unwrap();
        let value = |name: &str| installed.definition(name, &system);
        for name in [
            "HAVE_GETADDRINFO", "HAVE_STRUCT_TIMEVAL", "HAVE_MSG_NOSIGNAL", "HAVE_SSIZE_T", "HAVE_STDDEF_H",
            "STDC_HEADERS", "X_HAVE_STDINT_H",
        ] {
            assert_eq!(value(name).as_deref(), Some("1"), "{name}");
        }
        for name in ["HAVE_KQUEUE", "HAVE_WINDOWS_UI_H", "USE_SSL", "HAVE_LIBNO", "WORDS_BIGENDIAN", "size_t"] {
            assert_eq!(value(name), None, "{name}");
        }
        let texts =
            ["SIZEOF_INT", "SIZEOF_VOID_P", "HAVE_DECL_KQUEUE", "HAVE_DECL_GETADDRINFO", "PACKAGE_NAME", "ICONV_CONST"];
        assert_eq!(texts.map(|name| value(name).unwrap()), ["4", "8", "0", "1", "\"0\"", ""]);
    }
}
