//! Reads include directories, definitions and standards from a `meson.build`.
//!
//! It looks at string literals only: those of `include_directories`, of `c_std` and `cpp_std`, and those that begin with a dash. Branches
//! on other systems are skipped.

use super::build_hints::{Collector, names_other_system};
use super::open_branches::{OpenBranches, SystemCondition};

/// Reads a `meson.build`.
pub(super) fn read(text: &str, collector: &mut Collector<'_>) {
    let mut branches = OpenBranches::default();
    let mut in_includes = false;
    for line in text.lines() {
        let line = line.trim();
        let (first, rest) = line.split_once(|c: char| c.is_whitespace()).unwrap_or((line, ""));
        match first {
            "if" => branches.open(system_condition(rest)),
            "elif" => branches.next(system_condition(rest)),
            "else" => branches.next(SystemCondition::Unknown),
            "endif" => branches.close(),
            _ if branches.are_foreign() || first.starts_with('#') => {}
            _ => {
                in_includes |= line.contains("include_directories(");
                for literal in literals(line) {
                    take(literal, in_includes, collector);
                }
                // The list ends with its parenthesis; names of sources between have none.
                in_includes &= !line.contains(')');
            }
        }
    }
}

fn system_condition(condition: &str) -> SystemCondition {
    let is_negated = condition.contains("!=") || condition.starts_with("not ");
    match names_other_system(condition) {
        false => SystemCondition::Unknown,
        true if !is_negated => SystemCondition::Elsewhere,
        true if condition.contains(" and ") => SystemCondition::Unknown,
        true => SystemCondition::Here,
    }
}

fn take(literal: &str, in_includes: bool, collector: &mut Collector<'_>) {
    if let Some(standard) = literal.strip_prefix("c_std=").or_else(|| literal.strip_prefix("cpp_std=")) {
        // A list of alternatives names the preferred one first.
        standard.split(',').next().into_iter().for_each(|standard| collector.standard(standard));
    } else if literal.starts_with('-') {
        collector.arguments(&[literal.to_owned()]);
    } else if in_includes {
        collector.include_dir(literal);
    }
}

/// The string literals of a line, before a comment.
fn literals(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(open) = rest.find(['\'', '#']) {
        if rest[open..].starts_with('#') {
            break;
        }
        let inner = &rest[open + 1..];
        let Some(length) = inner.find('\'') else { break };
        found.push(&inner[..length]);
        rest = &inner[length + 1..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile_database::build_files::build_hints::tests::collected;

    #[test]
    fn literals_are_read() {
        let text = "project('x', 'c', 'cpp', default_options: ['c_std=c11', 'cpp_std=c++20,c++17'])\n# include_directories('no')\n\
                    inc = include_directories('include',\n  'src/sub')\nlib = library('x', 'gone.c')\n\
                    if host_machine.system() == 'windows'\n  add_project_arguments('-DWIN', language: 'c')\nelse\n\
                    add_project_arguments('-DUNIX', '-D_GNU_SOURCE', language: 'c') # '-DNO'\nendif\nx = 'open\n\
                    if host_machine.system() != 'windows'\n  add_project_arguments('-DPOSIX', language: 'c')\nelse\n  add_project_arguments('-DNO', language: 'c')\nendif\n";
        let flags = collected(read, "", text, &["include/a.h", "src/sub/b.h", "c/d.h", "no/e.h"]);
        assert_eq!(flags.include_dirs, ["include", "src/sub"]);
        assert_eq!(flags.flags, ["-DUNIX", "-D_GNU_SOURCE", "-DPOSIX"]);
        assert_eq!((flags.c_standard.as_deref(), flags.cpp_standard.as_deref()), (Some("c11"), Some("c++20")));
    }
}
