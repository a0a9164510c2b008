//! Reads include directories and definitions from a make file, also one of automake, autoconf or kbuild.
//!
//! It understands assignments to variables whose name says that they hold flags, plain variables in them, and `ifeq` on other systems; not
//! functions, rules and included files. A definition inside of any conditional is left out, because the alternatives contradict each other.

use std::collections::BTreeMap;

use super::build_hints::{Collector, names_other_system};
use super::platforms::host_architecture;
use super::shell_words;

/// Most expansions of variables in one value.
const MAX_EXPANSIONS: usize = 256;
/// Longest value of a variable, in bytes.
const MAX_VALUE_BYTES: usize = 64 * 1024;
/// Parts of names of variables that hold flags of the compiler.
const FLAG_NAMES: [&str; 8] = ["CFLAGS", "CXXFLAGS", "CPPFLAGS", "CCFLAGS", "INCLUDE", "INCS", "DEFS", "DEFINES"];

/// Reads a make file.
pub(super) fn read(text: &str, collector: &mut Collector<'_>) {
    let own = format!("{}/{}", collector.root(), collector.dir);
    let own = own.trim_end_matches('/').to_owned();
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    for name in ["srcdir", "CURDIR", "builddir", "src", "obj", "PWD", "top_builddir", "abs_srcdir"] {
        variables.insert(name.into(), own.clone());
    }
    for name in ["top_srcdir", "srctree", "objtree", "abs_top_srcdir", "TOP", "TOPDIR", "ROOT", "ROOTDIR"] {
        variables.insert(name.into(), collector.root());
    }
    for name in ["SRCARCH", "ARCH"] {
        variables.insert(name.into(), host_architecture().into());
    }
    // One entry for each open conditional: whether its present branch is for another system.
    let mut branches: Vec<bool> = Vec::new();
    let mut words: Vec<(Vec<String>, bool)> = Vec::new();
    for line in logical_lines(text) {
        let line = line.trim();
        let (first, rest) = line.split_once(|c: char| c.is_whitespace() || c == '(').unwrap_or((line, ""));
        match first {
            "ifeq" | "if" => branches.push(names_other_system(rest)),
            "ifneq" | "ifdef" | "ifndef" => branches.push(false),
            "else" => branches.last_mut().into_iter().for_each(|branch| *branch = names_other_system(rest)),
            "endif" => drop(branches.pop()),
            _ if branches.contains(&true) => {}
            _ => {
                if let Some((name, value)) = assignment(line, &mut variables, branches.is_empty())
                    && FLAG_NAMES.iter().any(|part| name.to_ascii_uppercase().contains(part))
                    && !name.contains("HOST")
                {
                    words.push((shell_words::split(&expand(&value, &variables)), branches.is_empty()));
                }
            }
        }
    }
    for (words, is_certain) in words {
        let is_definition = |word: &String| word.starts_with("-D") || word.starts_with("-U");
        let words: Vec<String> = words.into_iter().filter(|word| is_certain || !is_definition(word)).collect();
        collector.arguments(&words);
    }
}

/// The lines of a make file: continued lines joined, comments and recipes removed.
fn logical_lines(text: &str) -> Vec<String> {
    let (mut lines, mut current) = (Vec::new(), String::new());
    for line in text.lines() {
        // A recipe; inside of a conditional, assignments are indented too.
        if current.is_empty() && line.starts_with('\t') && !is_assignment(line) {
            continue;
        }
        let comment = line.match_indices('#').find(|(at, _)| !line[..*at].ends_with('\\')).map(|(at, _)| at);
        let content = comment.map_or(line, |at| &line[..at]);
        match content.strip_suffix('\\').filter(|_| comment.is_none()) {
            Some(part) => {
                current.push_str(part);
                current.push(' ');
            }
            None => {
                current.push_str(content);
                lines.push(std::mem::take(&mut current));
            }
        }
    }
    lines.push(current);
    lines
}

/// Whether an indented line assigns a variable, and isn't a command of a recipe.
fn is_assignment(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default();
    let is_name = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    is_name && words.next().is_some_and(|operator| ["=", ":=", "+=", "?="].contains(&operator))
}

/// The name of an assigned variable and the value of this assignment; remembers it. Definitions in a conditional aren't remembered.
fn assignment(line: &str, variables: &mut BTreeMap<String, String>, is_certain: bool) -> Option<(String, String)> {
    let at = line.find('=')?;
    let (left, value) = (&line[..at], line[at + 1..].trim());
    let certain: String = value.split_inclusive(' ').filter(|word| is_certain || !word.starts_with("-D")).collect();
    let value = certain.trim();
    let operator = left.trim_end_matches([':', '+', '?', '!']);
    let name = operator.trim().trim_start_matches("export ").trim_start_matches("override ").trim();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    if !is_name {
        return None;
    }
    let known = variables.get(name).cloned();
    let is_append = left.trim_end().ends_with('+');
    let keeps = left.trim_end().ends_with('?') && known.is_some();
    let whole = match known {
        Some(known) if is_append => format!("{known} {value}"),
        Some(known) if keeps => known,
        _ => value.to_owned(),
    };
    if whole.len() < MAX_VALUE_BYTES {
        variables.insert(name.to_owned(), whole);
    }
    Some((name.to_owned(), value.to_owned()))
}

/// Replaces `$(NAME)`, `${NAME}` and `@NAME@`. What is unknown becomes `$?`, so that its word is left out later.
fn expand(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut text = text.to_owned();
    for _ in 0..MAX_EXPANSIONS {
        let Some((start, end, name)) = reference(&text) else { break };
        let value = variables.get(name).filter(|value| text.len() + value.len() < MAX_VALUE_BYTES);
        let value = value.cloned().unwrap_or_else(|| "$?".into());
        text.replace_range(start..end, &value);
    }
    text
}

/// The first reference to a variable: where it is, and the name.
fn reference(text: &str) -> Option<(usize, usize, &str)> {
    for (start, _) in text.match_indices(['$', '@']) {
        let rest = &text[start..];
        let (open, close) = match rest.as_bytes().get(..2) {
            Some(b"$(") => (2, ')'),
            Some(b"${") => (2, '}'),
            Some([b'@', _]) => (1, '@'),
            _ => continue,
        };
        let Some(length) = rest[open..].find(close) else { continue };
        let name = &rest[open..open + length];
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        if is_name || open == 2 {
            return Some((start, start + open + length + 1, name));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile_database::build_hints::tests::collected;

    const FILES: [&str; 6] =
        ["src/a.c", "deps/lua/src/lua.h", "deps/hi/hi.h", "include/b.h", "src/inc/c.h", "k/kconfig.h"];

    #[test]
    fn flags_are_read_from_variables() {
        let text = "# CFLAGS=-DNO\nDEP = ../deps\nCFLAGS+= -I$(DEP)/hi \\\n  -I${DEP}/lua/src -DA -DVERSION=\\\"1\\\" # -DNO\n\
                    FINAL_CFLAGS=$(CFLAGS) -I$(shell pwd)/x -DB=$(UNKNOWN)\nAM_CPPFLAGS = -I$(top_srcdir)/include -I@srcdir@/inc @DEFS@\n\
                    ifeq ($(OS),Windows_NT)\nCFLAGS+=-Ipath -DNO\nelse\nCFLAGS += -DMAYBE -include $(srctree)/k/kconfig.h -std=gnu11\nendif\n\
                    ifdef X\nOTHER = -DNO\nendif\nHOSTCFLAGS = -DNO\nall:\n\tcc -DNO CFLAGS=-DNO\nexport CXXFLAGS ?= -DC\n";
        let flags = collected(read, "src", text, &FILES);
        assert_eq!(flags.include_dirs, ["deps/hi", "deps/lua/src", "include", "src/inc"]);
        assert_eq!(flags.flags, ["-DA", "-DVERSION=\"1\"", "-DC"]);
        assert_eq!((flags.forced, flags.c_standard), (vec!["k/kconfig.h".to_owned()], Some("gnu11".to_owned())));
    }

    #[test]
    fn broken_files_end() {
        for text in [
            "CFLAGS=$(",
            "CFLAGS=$(CFLAGS) $(CFLAGS)",
            "=",
            "endif\nelse",
            "A=@",
            "CFLAGS = \\",
            "ü=ü\nCFLAGS=${ü}@ü@$é",
        ] {
            collected(read, "", text, &FILES);
        }
        let doubling = "CFLAGS=-Da\n".to_owned() + &"CFLAGS+=$(CFLAGS)\n".repeat(64);
        collected(read, "", &doubling, &FILES);
    }
}
