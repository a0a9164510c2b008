//! Reads include directories, definitions and standards from a `CMakeLists.txt`.
//!
//! It understands the commands that set them, plain variables, and `if` on other systems; not functions, macros and generator expressions
//! except `BUILD_INTERFACE`.

use std::collections::BTreeMap;

use super::build_hints::{Collector, names_other_system};
use super::open_branches::{OpenBranches, SystemCondition};
use crate::compile_database::commands::shell_words;

/// Longest value of a variable, in bytes: a list that is appended to itself would double without end.
const MAX_VALUE_BYTES: usize = 64 * 1024;
/// Most expansions of variables in one argument.
const MAX_EXPANSIONS: usize = 64;
/// Longest bracket argument or comment, in bytes: each opening bracket is a search for its end.
const MAX_BRACKET_BYTES: usize = 64 * 1024;
/// Words in the argument lists of `target_…` commands that aren't values.
const KEYWORDS: [&str; 7] = ["PUBLIC", "PRIVATE", "INTERFACE", "SYSTEM", "BEFORE", "AFTER", "APPEND"];

pub(in crate::compile_database) struct Command<'a> {
    /// In lower case.
    pub(in crate::compile_database) name: String,
    text: &'a str,
    pub(in crate::compile_database) args: Vec<String>,
}

/// Reads a `CMakeLists.txt`.
pub(super) fn read(text: &str, collector: &mut Collector<'_>) {
    let mut variables = BTreeMap::new();
    let dir = format!("{}/{}", collector.root(), collector.dir);
    for name in ["CMAKE_SOURCE_DIR", "PROJECT_SOURCE_DIR"] {
        variables.insert(name.to_owned(), collector.root());
    }
    for name in ["CMAKE_CURRENT_SOURCE_DIR", "CMAKE_CURRENT_LIST_DIR"] {
        variables.insert(name.to_owned(), dir.trim_end_matches('/').to_owned());
    }
    let mut branches = OpenBranches::default();
    for command in commands(text) {
        match command.name.as_str() {
            "if" => branches.open(system_condition(command.text)),
            "elseif" => branches.next(system_condition(command.text)),
            "else" => branches.next(SystemCondition::Unknown),
            "endif" => branches.close(),
            _ if branches.are_foreign() => {}
            "project" if !collector.dir.is_empty() => {
                variables.insert("PROJECT_SOURCE_DIR".into(), dir.clone());
            }
            _ => apply(&command, &mut variables, collector),
        }
    }
}

fn system_condition(condition: &str) -> SystemCondition {
    let words: Vec<&str> = condition.split_whitespace().collect();
    let is_negated = words.first().is_some_and(|word| word.eq_ignore_ascii_case("NOT"));
    match names_other_system(condition) {
        false => SystemCondition::Unknown,
        true if !is_negated => SystemCondition::Elsewhere,
        true if words.len() == 2 => SystemCondition::Here,
        true => SystemCondition::Unknown,
    }
}

fn apply(command: &Command<'_>, variables: &mut BTreeMap<String, String>, collector: &mut Collector<'_>) {
    let expanded = command.args.iter().map(|arg| expand(arg, variables));
    let args: Vec<String> = expanded.flat_map(|arg| arg.split(';').map(str::to_owned).collect::<Vec<_>>()).collect();
    let values = || args.iter().filter(|arg| !KEYWORDS.contains(&arg.as_str()) && !arg.is_empty());
    match command.name.as_str() {
        "set" => set(&args, variables, collector),
        "list" if args.first().is_some_and(|verb| verb == "APPEND") && args.len() > 2 => {
            let known = variables.entry(args[1].clone()).or_default();
            if known.len() < MAX_VALUE_BYTES {
                *known = format!("{known};{}", args[2..].join(";"));
            }
        }
        "include_directories" => values().filter_map(|arg| plain(arg)).for_each(|dir| collector.include_dir(dir)),
        "target_include_directories" => {
            values().skip(1).filter_map(|arg| plain(arg)).for_each(|dir| collector.include_dir(dir));
        }
        "add_definitions" => values().filter_map(|arg| arg.strip_prefix("-D")).for_each(|arg| collector.define(arg)),
        "add_compile_definitions" => values().for_each(|arg| collector.define(arg)),
        "target_compile_definitions" => {
            values().skip(1).for_each(|arg| collector.define(arg.strip_prefix("-D").unwrap_or(arg)));
        }
        "add_compile_options" | "target_compile_options" => {
            let words: Vec<String> = values().filter(|arg| arg.starts_with('-')).cloned().collect();
            collector.arguments(&words);
        }
        "target_compile_features" => args.iter().for_each(|arg| feature(arg, collector)),
        "set_target_properties" | "set_property" => properties(&args, collector),
        _ => {}
    }
}

fn set(args: &[String], variables: &mut BTreeMap<String, String>, collector: &mut Collector<'_>) {
    let Some((name, values)) = args.split_first() else { return };
    let end = values.iter().position(|value| value == "CACHE" || value == "PARENT_SCOPE").unwrap_or(values.len());
    let value = values[..end].join(";");
    match name.as_str() {
        "CMAKE_C_STANDARD" => collector.standard(&format!("gnu{value}")),
        "CMAKE_CXX_STANDARD" => collector.standard(&format!("gnu++{value}")),
        "CMAKE_C_FLAGS" | "CMAKE_CXX_FLAGS" => collector.arguments(&shell_words::split(&value)),
        _ => {}
    }
    if value.len() < MAX_VALUE_BYTES {
        variables.insert(name.clone(), value);
    }
}

/// `cxx_std_20`, `c_std_11`.
fn feature(name: &str, collector: &mut Collector<'_>) {
    if let Some(version) = name.strip_prefix("cxx_std_") {
        collector.standard(&format!("gnu++{version}"));
    } else if let Some(version) = name.strip_prefix("c_std_") {
        collector.standard(&format!("gnu{version}"));
    }
}

fn properties(args: &[String], collector: &mut Collector<'_>) {
    for pair in args.windows(2) {
        match pair[0].as_str() {
            "C_STANDARD" => collector.standard(&format!("gnu{}", pair[1])),
            "CXX_STANDARD" => collector.standard(&format!("gnu++{}", pair[1])),
            "INCLUDE_DIRECTORIES" | "INTERFACE_INCLUDE_DIRECTORIES" => {
                plain(&pair[1]).into_iter().for_each(|dir| collector.include_dir(dir));
            }
            _ => {}
        }
    }
}

/// The argument without generator expressions; `None` if it can't be known.
fn plain(arg: &str) -> Option<&str> {
    match arg.strip_prefix("$<BUILD_INTERFACE:").and_then(|rest| rest.strip_suffix('>')) {
        Some(inner) => Some(inner),
        None => (!arg.contains("$<")).then_some(arg),
    }
}

/// Replaces `${NAME}`. Unknown names stay, so that the value is recognised as unknown.
pub(in crate::compile_database) fn expand(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut text = text.to_owned();
    if text.len() > MAX_VALUE_BYTES {
        return text;
    }
    for _ in 0..MAX_EXPANSIONS {
        let found = text.match_indices("${").find_map(|(start, _)| {
            let end = start + text[start..].find('}')?;
            Some((start, end, variables.get(&text[start + 2..end])?.clone()))
        });
        let Some((start, end, value)) = found else { break };
        if text.len() + value.len() > MAX_VALUE_BYTES {
            break;
        }
        text.replace_range(start..=end, &value);
    }
    text
}

/// The commands of a file: names in lower case, arguments without their quotation marks.
pub(in crate::compile_database) fn commands(text: &str) -> Vec<Command<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '#') {
        rest = &rest[start..];
        if rest.starts_with('#') {
            rest = &rest[comment_end(rest)..];
            continue;
        }
        let name_end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, behind) = rest.split_at(name_end);
        let open = behind.trim_start_matches([' ', '\t']);
        let Some(inner) = open.strip_prefix('(') else {
            rest = behind;
            continue;
        };
        let (args, length) = arguments(inner);
        found.push(Command { name: name.to_ascii_lowercase(), text: &inner[..length], args });
        rest = &inner[length..];
    }
    found
}

/// The end of a comment: of its line, or of `#[[ … ]]`.
fn comment_end(text: &str) -> usize {
    if let Some((_, end)) = bracket(&text[1..]) {
        return 1 + end;
    }
    text.find('\n').unwrap_or(text.len())
}

/// The content of a bracket argument `[=[ … ]=]` that begins the text, and its end.
fn bracket(text: &str) -> Option<(&str, usize)> {
    let inner = text.strip_prefix('[')?;
    let level = inner.len() - inner.trim_start_matches('=').len();
    let body = inner[level..].strip_prefix('[')?;
    let close = format!("]{}]", "=".repeat(level));
    let near = &body.as_bytes()[..body.len().min(MAX_BRACKET_BYTES)];
    let length = memchr::memmem::find(near, close.as_bytes())?;
    Some((&body[..length], text.len() - body.len() + length + close.len()))
}

/// The arguments up to the closing parenthesis, and the length of the text before it.
fn arguments(text: &str) -> (Vec<String>, usize) {
    let mut args = Vec::new();
    let mut arg = String::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let mut next = at + c.len_utf8();
        match c {
            '"' => {
                let mut quoted = text[next..].char_indices();
                while let Some((offset, c)) = quoted.next() {
                    match c {
                        '\\' => arg.extend(quoted.next().map(|(_, c)| c)),
                        '"' => {
                            next += offset + 1;
                            break;
                        }
                        c => arg.push(c),
                    }
                }
                if next == at + 1 {
                    next = text.len().max(next);
                }
                args.push(std::mem::take(&mut arg));
            }
            '#' => next = at + comment_end(&text[at..]),
            '[' if arg.is_empty() && bracket(&text[at..]).is_some() => {
                if let Some((body, end)) = bracket(&text[at..]) {
                    args.push(body.to_owned());
                    next = at + end;
                }
            }
            '(' => depth += 1,
            ')' if depth == 0 => break,
            ')' => depth -= 1,
            '\\' => {
                if let Some(c) = text[next..].chars().next() {
                    arg.push(c);
                    next += c.len_utf8();
                }
            }
            c if c.is_whitespace() => {
                if !arg.is_empty() {
                    args.push(std::mem::take(&mut arg));
                }
            }
            c => arg.push(c),
        }
        at = next;
    }
    if !arg.is_empty() {
        args.push(arg);
    }
    (args, at.min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile_database::build_files::build_hints::tests::collected;

    const FILES: [&str; 5] = ["sub/include/a.h", "include/b.h", "lib/x y/c.h", "sub/src/d.c", "other/e.h"];

    #[test]
    fn directories_definitions_and_standards_are_read() {
        let text = r#"
            cmake_minimum_required(VERSION 3.10) # include_directories(other)
            project(demo)
            set(INC include "${CMAKE_SOURCE_DIR}/lib/x y")
            set(CMAKE_C_STANDARD 11)
            INCLUDE_DIRECTORIES(SYSTEM ${INC} ${UNKNOWN}/include)
            add_definitions(-DA=1 -Wall)
            target_include_directories(t PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include> ${CMAKE_SOURCE_DIR}/include)
            target_compile_definitions(t PRIVATE B "C=\"x\"" D=${UNKNOWN} $<$<CONFIG:Debug>:E>)
            target_compile_features(t PUBLIC cxx_std_20)
            #[[ include_directories(other) ]]
            if(WIN32)
              add_definitions(-DF)
              if(X)
                add_definitions(-DG)
              endif()
            elseif(UNIX)
              add_definitions(-DH)
            else()
              add_definitions(-DI)
            endif()
            if(NOT WIN32)
              add_compile_options(-DJ "-Iinclude")
            else()
              add_definitions(-DK)
            endif()
            if(NOT WIN32 AND SHARED)
            else()
              add_definitions(-DL)
            endif()
            set_target_properties(t PROPERTIES C_STANDARD 99)
        "#;
        let flags = collected(read, "sub", text, &FILES);
        assert_eq!(flags.include_dirs, ["sub/include", "lib/x y", "sub/src", "include"]);
        assert_eq!(flags.flags, ["-DA=1", "-DB", "-DC=\"x\"", "-DH", "-DI", "-DJ", "-DL"]);
        assert_eq!((flags.c_standard.as_deref(), flags.cpp_standard.as_deref()), (Some("gnu99"), Some("gnu++20")));
    }

    #[test]
    fn broken_files_end() {
        for text in [
            "set(",
            "set(A \"open",
            "#[[ open",
            "set(A ${A}${A})\nset(A ${A}${A})",
            "include_directories(((",
            "[[",
            "a\u{301}(\\",
            "x(\"\\",
        ] {
            collected(read, "", text, &FILES);
        }
        // Each of these searches for an end that isn't there.
        for part in ["#[[\n", "a([[ [=[", "set(A ${", "if(WIN32)\n"] {
            collected(read, "", &part.repeat(256 * 1024 / part.len()), &FILES);
        }
        let doubling = "set(A aaaaaaaa)\n".to_owned() + &"set(A ${A}${A})\n".repeat(64);
        collected(read, "", &doubling, &FILES);
    }
}
