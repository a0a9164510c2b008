//! Response files of compile commands, `@args.rsp`: their arguments take the place of the one that names them.
//!
//! clangd would read any file that a command names, so only files in the workspace are read here, and no `@` is left to the server. Invariants:
//! nothing outside of the workspace is read; what is read for one command is bounded; a file that can't be read is named.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use codeyard_files::gate::{normal, read_below};

use super::database::CompileCommand;
use super::shell_words;

/// Largest response file, in bytes.
const MAX_RESPONSE_BYTES: u64 = 4 * 1024 * 1024;
/// How deep response files name each other.
const MAX_DEPTH: usize = 8;
/// Arguments of one command.
const MAX_ARGUMENTS: usize = 65_536;
/// Drivers that take the quoting rules of Windows.
const WINDOWS_DRIVERS: [&str; 4] = ["cl", "cl.exe", "clang-cl", "clang-cl.exe"];

/// The response files that commands name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ResponseFiles {
    pub read: BTreeSet<PathBuf>,
    /// Files that are missing, too large or not in the workspace.
    pub unreadable: BTreeSet<PathBuf>,
}

/// Expands the response files of all commands. `top` is the workspace root.
pub(crate) fn expand(commands: &mut [CompileCommand], top: &Path, found: &mut ResponseFiles) {
    for command in commands {
        if !command.arguments.iter().skip(1).any(|argument| argument.starts_with('@')) {
            continue;
        }
        let mut arguments = std::mem::take(&mut command.arguments).into_iter();
        let driver: Vec<String> = arguments.by_ref().take(1).collect();
        let name = driver.first().and_then(|path| path.rsplit(['/', '\\']).next()).unwrap_or_default();
        let split: fn(&str) -> Vec<String> =
            if WINDOWS_DRIVERS.contains(&name) { split_windows } else { shell_words::split };
        let mut expansion =
            Expansion { directory: &command.directory, top, split, arguments: driver, found: &mut *found };
        arguments.for_each(|argument| expansion.add(argument, 0));
        command.arguments = expansion.arguments;
    }
}

/// The expansion of one command.
struct Expansion<'a> {
    directory: &'a Path,
    top: &'a Path,
    split: fn(&str) -> Vec<String>,
    arguments: Vec<String>,
    found: &'a mut ResponseFiles,
}

impl Expansion<'_> {
    fn add(&mut self, argument: String, depth: usize) {
        let Some(name) = argument.strip_prefix('@').filter(|name| !name.is_empty()) else {
            if self.arguments.len() < MAX_ARGUMENTS {
                self.arguments.push(argument);
            }
            return;
        };
        let path = normal(&self.directory.join(name));
        let bytes = read_below(self.top, &path, MAX_RESPONSE_BYTES).ok().filter(|_| depth < MAX_DEPTH);
        let Some(bytes) = bytes else {
            self.found.unreadable.insert(path);
            return;
        };
        self.found.read.insert(path);
        let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).into_owned();
        for word in (self.split)(&text) {
            self.add(word, depth + 1);
        }
    }
}

/// The words of a text by the rules of Windows: a backslash escapes only a quotation mark.
fn split_windows(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_open = false;
    let mut is_quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'"') => word.extend(chars.next()),
            '"' => is_quoted = !is_quoted,
            c if c.is_whitespace() && !is_quoted => {
                if is_open {
                    words.push(std::mem::take(&mut word));
                }
                is_open = false;
                continue;
            }
            c => word.push(c),
        }
        is_open = true;
    }
    words.extend(is_open.then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn arguments_of_response_files_in_the_workspace_replace_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap().join("w");
        fs::create_dir_all(top.join("build")).unwrap();
        for (name, text) in [
            ("build/a.rsp", "-DA -I../inc\n'-DB=x y' @build.rsp"),
            ("build/build.rsp", "\u{feff}-DC @build.rsp"),
            ("build/win.rsp", "-DP=c:\\x\\y \"-DQ=a b\" -DR=\\\"s\\\""),
            ("../outside.rsp", "-DNO"),
        ] {
            fs::write(top.join(name), text).unwrap();
        }
        let mut found = ResponseFiles::default();
        let mut expanded = |arguments: &[&str]| {
            let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
            let mut all = [CompileCommand { directory: top.join("build"), file: "../a.c".into(), arguments }];
            expand(&mut all, &top, &mut found);
            all[0].arguments.join("|")
        };
        // A file that names itself is read a few times.
        assert_eq!(expanded(&["cc", "@a.rsp", "-c", "@"]), format!("cc|-DA|-I../inc|-DB=x y{}|-c|@", "|-DC".repeat(7)));
        assert_eq!(expanded(&["/bin/clang-cl", "@win.rsp"]), "/bin/clang-cl|-DP=c:\\x\\y|-DQ=a b|-DR=\"s\"");
        assert_eq!(expanded(&["@cc", "@gone.rsp", "@../../outside.rsp", "x"]), "@cc|x");
        let paths = |all: &BTreeSet<PathBuf>| {
            all.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(paths(&found.read), ["a.rsp", "build.rsp", "win.rsp"]);
        assert_eq!(paths(&found.unreadable), ["outside.rsp", "build.rsp", "gone.rsp"]);
    }
}
