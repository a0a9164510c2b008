//! Reads include directories and definitions from a `BUILD` file of Bazel.
//!
//! It looks at the lists `includes`, `copts`, `defines` and `local_defines` and at `strip_include_prefix`; `select` is flattened. Paths in
//! sources are relative to the workspace, so the root is an include directory.

use super::build_hints::Collector;

/// Reads a `BUILD` file.
pub(super) fn read(text: &str, collector: &mut Collector<'_>) {
    let is_of_c = ["cc_library", "cc_binary", "cc_test", "objc_library", "cc_shared_library"]
        .iter()
        .any(|rule| text.contains(rule));
    if !is_of_c {
        return;
    }
    for (name, values) in attributes(text) {
        match name {
            "includes" => values.iter().for_each(|dir| collector.include_dir(dir)),
            "strip_include_prefix" => values.iter().for_each(|dir| {
                let from_root = dir.strip_prefix('/').map(|dir| format!("{}/{dir}", collector.root()));
                collector.include_dir(&from_root.unwrap_or_else(|| dir.clone()));
            }),
            "defines" | "local_defines" => values.iter().for_each(|definition| collector.define(definition)),
            "copts" | "cxxopts" | "conlyopts" => copts(&values, collector),
            _ => {}
        }
    }
    let root = collector.root();
    collector.include_dir(&root);
}

/// Include directories in `copts` are relative to the workspace.
fn copts(values: &[String], collector: &mut Collector<'_>) {
    for value in values {
        let dir = ["-I", "-isystem", "-iquote"].iter().find_map(|prefix| value.strip_prefix(prefix));
        match dir {
            Some(dir) if !dir.starts_with('/') => {
                let dir = format!("{}/{}", collector.root(), dir.trim());
                collector.include_dir(&dir);
            }
            _ => collector.arguments(std::slice::from_ref(value)),
        }
    }
}

/// The attributes `name = "value"` and `name = [ … ]`, with the string literals of their values.
fn attributes(text: &str) -> Vec<(&str, Vec<String>)> {
    const NAMES: [&str; 7] =
        ["includes", "strip_include_prefix", "defines", "local_defines", "copts", "cxxopts", "conlyopts"];
    let mut found = Vec::new();
    let mut end = 0;
    for (at, _) in text.match_indices('=') {
        // Inside of a value that was read.
        if at < end {
            continue;
        }
        let before = text[..at].trim_end();
        let name_start = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        let name = &before[name_start..];
        if !NAMES.contains(&name) {
            continue;
        }
        let value = &text[at + 1..];
        let (literals, length) = literals(value);
        end = at + 1 + length;
        found.push((name, literals));
    }
    found
}

/// The string literals of a value and the length of the text that was read: up to the comma, the parenthesis or the end of the line behind it.
fn literals(value: &str) -> (Vec<String>, usize) {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut chars = value.char_indices();
    let mut is_open = true;
    while let Some((at, c)) = chars.next() {
        if !c.is_whitespace() {
            is_open = c == '+';
        }
        match c {
            '"' | '\'' => {
                let mut literal = String::new();
                while let Some((_, next)) = chars.next().filter(|(_, next)| *next != c) {
                    literal.push(if next == '\\' { chars.next().map_or(next, |(_, next)| next) } else { next });
                }
                found.push(literal);
            }
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' if depth > 0 => depth -= 1,
            ',' | ']' | ')' | '}' if depth == 0 => return (found, at),
            '\n' if depth == 0 && !is_open => return (found, at),
            '#' => drop(chars.by_ref().find(|(_, c)| *c == '\n')),
            _ => {}
        }
    }
    (found, value.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile_database::build_files::build_hints::tests::collected;

    #[test]
    fn lists_are_read() {
        let text = r#"
            cc_library(
                name = "x", # includes = ["no"]
                srcs = ["x.cc"], includes = ["include", "."],
                copts = COMMON + ["-Ithird_party/z", "-DA=\"1\""] + select({"//x": ["-DE"]}) + ["-std=c++20"],
                local_defines = ["B"], strip_include_prefix = "/lib",
            )
            cc_test(name = "y", defines = select({"//x": ["C"], "//y": []}), includes = [
        "#;
        let files = ["lib/include/a.h", "lib/x.cc", "third_party/z/z.h", "lib/no/b.h"];
        let flags = collected(read, "lib", text, &files);
        assert!(
            ["lib/include", "lib", "third_party/z", ""]
                .iter()
                .all(|dir| flags.include_dirs.contains(&(*dir).to_owned())),
            "{flags:?}"
        );
        assert_eq!(
            flags.flags,
            ["-DA=\"1\"", "-DE", "-DB", "-D//x", "-DC"]
                .iter()
                .filter(|flag| !flag.contains('/'))
                .map(|flag| (*flag).to_owned())
                .collect::<Vec<_>>()
        );
        assert_eq!(flags.cpp_standard.as_deref(), Some("c++20"));
        // A value in a value is part of it.
        let nested = "cc_library(".to_owned() + &"includes = [".repeat(100_000);
        assert_eq!(collected(read, "", &nested, &files).flags, [""; 0]);
        assert_eq!(collected(read, "", "py_library(includes = [\"lib\"])", &files), Default::default());
    }
}
