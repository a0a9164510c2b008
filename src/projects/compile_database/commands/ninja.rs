//! Reads the compile commands from a `build.ninja`, as CMake, Meson and GN write them, without running anything.
//!
//! It understands `build` statements whose first input is a source, and the variables that are bound below them or at the top. Invariant: the
//! commands together are at most [`MAX_DATABASE_BYTES`] large; those beyond are left out.

use std::collections::BTreeMap;
use std::path::Path;

use super::database::CompileCommand;
use super::shell_words;
use crate::compile_database::language::{FileRole, role};
use crate::limits::MAX_DATABASE_BYTES;
use crate::tree::join;

/// Variables that hold arguments of the compiler, in the order in which they are used.
const ARGUMENT_NAMES: [&str; 9] =
    ["DEFINES", "INCLUDES", "FLAGS", "ARGS", "defines", "include_dirs", "cflags", "cflags_c", "cflags_cc"];

/// The compile commands of a `build.ninja` that stands in `folder`, an absolute path.
pub(crate) fn read(text: &str, folder: &Path) -> Vec<CompileCommand> {
    read_at_most(text, folder, MAX_DATABASE_BYTES)
}

fn read_at_most(text: &str, folder: &Path, most_bytes: u64) -> Vec<CompileCommand> {
    let text = text.replace("$\r\n", "$\n").replace("$\n", " ");
    let mut globals: BTreeMap<String, String> = BTreeMap::new();
    let mut found: Vec<CompileCommand> = Vec::new();
    // A variable of the whole file is part of each command.
    let mut room = most_bytes;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(statement) = line.strip_prefix("build ") {
            let mut bound: BTreeMap<String, String> = BTreeMap::new();
            while let Some(inner) = lines.next_if(|next| next.starts_with(' ')) {
                if let Some((name, value)) = inner.split_once('=') {
                    bound.insert(name.trim().to_owned(), value.trim().to_owned());
                }
            }
            let size = ARGUMENT_NAMES.iter().filter_map(|name| bound.get(*name).or_else(|| globals.get(*name)));
            let Some(left) = room.checked_sub(size.map(|value| value.len() as u64).sum()) else { break };
            room = left;
            found.extend(command(statement, &bound, &globals, folder));
        } else if !line.starts_with([' ', '#'])
            && let Some((name, value)) = line.split_once('=')
        {
            globals.insert(name.trim().to_owned(), value.trim().to_owned());
        }
    }
    found
}

/// The command of one `build` statement; `None` if it compiles no source.
fn command(
    statement: &str,
    bound: &BTreeMap<String, String>,
    globals: &BTreeMap<String, String>,
    folder: &Path,
) -> Option<CompileCommand> {
    let (_, inputs) = split_outputs(statement)?;
    let mut inputs = words(inputs).into_iter();
    let rule = inputs.next()?;
    let source = inputs.next()?;
    let Some(FileRole::Source(language)) = role(&source) else { return None };
    let is_link = ["link", "archive", "LINKER", "phony", "alink"].iter().any(|part| rule.contains(part));
    if is_link {
        return None;
    }
    let mut arguments = vec![if language.is_cpp() { "clang++".to_owned() } else { "clang".to_owned() }];
    for name in ARGUMENT_NAMES {
        let is_other = matches!((name, language.is_cpp()), ("cflags_cc", false) | ("cflags_c", true));
        let value = bound.get(name).or_else(|| globals.get(name)).filter(|_| !is_other);
        if let Some(value) = value {
            arguments.extend(shell_words::split(&unescaped(value)));
        }
    }
    let file = if source.starts_with('/') {
        source
    } else {
        // `..` is resolved here, so that the same file always has the same path.
        format!("/{}", join(folder.to_str()?, &source)?)
    };
    arguments.extend(["-c".to_owned(), file.clone()]);
    Some(CompileCommand { directory: folder.to_path_buf(), file: file.into(), arguments })
}

/// The text before and behind the colon that separates outputs from rule and inputs.
fn split_outputs(statement: &str) -> Option<(&str, &str)> {
    let at = statement.match_indices(':').find(|(at, _)| !statement[..*at].ends_with('$'))?.0;
    Some((&statement[..at], &statement[at + 1..]))
}

/// The words up to `|`, with ninja's escapes resolved.
fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '$' => word.extend(chars.next()),
            '|' => break,
            ' ' => {
                if !word.is_empty() {
                    found.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        found.push(word);
    }
    found
}

/// A value with `$ `, `$:` and `$$` resolved. Variables in it are left out.
fn unescaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '$' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('{') => drop(chars.by_ref().find(|c| *c == '}')),
            Some(c) if c.is_alphanumeric() || c == '_' => {
                while chars.next_if(|c| c.is_alphanumeric() || *c == '_' || *c == '-').is_some() {}
            }
            Some(c) => text.push(c),
            None => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_compile_are_read() {
        let text = "cflags = -O2\nrule cc\n  command = cc $ARGS -c $in\nbuild x.o: C_COMPILER__x ../src/a$ b.c || dep\n  DEFINES = -DA=\\\"1\\\" \
                    $\n    -DB\n  FLAGS = -std=gnu11 $x\n  INCLUDES = -I../include\nbuild y.o: cxx /abs/b.cc | h.h\n  ARGS = -DX$:Y\n\
                    build lib: STATIC_LINKER x.c\nbuild all: phony x.o\nbuild broken\n";
        let found = read(text, Path::new("/p/build"));
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].file, Path::new("/p/src/a b.c"));
        assert_eq!(
            found[0].arguments,
            ["clang", "-DA=\"1\"", "-DB", "-I../include", "-std=gnu11", "-O2", "-c", "/p/src/a b.c"]
        );
        assert_eq!(found[1].arguments, ["clang++", "-DX:Y", "-O2", "-c", "/abs/b.cc"]);
    }

    #[test]
    fn commands_that_share_a_huge_variable_are_bounded() {
        let text = format!("cflags = -DA={}\n{}", "x".repeat(100_000), "build a.o: cc a.c\n".repeat(1_000));
        assert_eq!(read_at_most(&text, Path::new("/p/build"), 1_000_000).len(), 9);
    }
}
