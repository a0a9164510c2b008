//! The build profile of this executable, derived from the folder that Cargo builds it into: `target/PROFILE/codeyard-bench`.

use std::path::Path;

/// The profile as Cargo names its folder: `debug`, `release`, `dist`. `unknown` for an executable outside a target folder.
pub(crate) fn of_this_executable() -> String {
    std::env::current_exe().map_or_else(|_| UNKNOWN.to_owned(), |path| of_executable(&path))
}

const UNKNOWN: &str = "unknown";

fn of_executable(path: &Path) -> String {
    let folders = || path.ancestors().skip(1);
    let is_target = folders().skip(1).take(2).any(|folder| folder.file_name().is_some_and(|name| name == "target"));
    let profile = folders().next().and_then(Path::file_name).filter(|_| is_target);
    profile.map_or_else(|| UNKNOWN.to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_is_the_folder_below_target() {
        let cases = [
            ("/src/codeyard/target/debug/codeyard-bench", "debug"),
            ("/src/codeyard/target/dist/codeyard-bench", "dist"),
            ("/src/codeyard/target/x86_64-unknown-linux-gnu/release/codeyard-bench", "release"),
            ("/usr/local/bin/codeyard-bench", "unknown"),
        ];
        for (path, expected) in cases {
            assert_eq!(of_executable(Path::new(path)), expected, "{path}");
        }
    }
}
