//! Tuples hold values that belong together: no `let` makes one only to take it apart, and no function has one as a parameter,
//! except a reference to an element of a list.

use crate::source::{files_below, project, relative};

/// The Rust files of the project: path and text.
fn files() -> Vec<(String, String)> {
    let all = ["src", "tests"].iter().flat_map(|folder| files_below(&project().join(folder)));
    let rust = all.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    rust.map(|path| (relative(&path), std::fs::read_to_string(&path).unwrap())).collect()
}

/// The first lines of `lines` in one, to the one that ends a statement or begins a block; without the contents of strings.
fn statement(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let line = line.replace("\\\"", "").replace("'\"'", "").replace("'('", "").replace("')'", "");
        text.extend(line.trim().split('"').step_by(2));
        text.push(' ');
        if line.ends_with([';', '{']) {
            break;
        }
    }
    text
}

/// What is inside of the bracket at the beginning of `text`, and what follows it.
fn bracket(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return text.starts_with('(').then(|| (&text[1..at], text[at + 1..].trim_start()));
        }
    }
    None
}

/// Whether the statement is `let (a, b) = (x, y);`.
fn is_parallel_let(statement: &str) -> bool {
    let parts = || {
        let (_, rest) = bracket(statement.strip_prefix("let ")?)?;
        let rest = rest.strip_prefix(": ").map_or(Some(rest), |types| bracket(types).map(|(_, rest)| rest))?;
        let (_, end) = bracket(rest.strip_prefix("= ")?)?;
        Some(end.starts_with(';'))
    };
    parts().unwrap_or(false)
}

/// Whether the statement begins a function with a tuple as a parameter.
fn has_tuple_parameter(statement: &str) -> bool {
    let Some((before, function)) = statement.split_once("fn ") else { return false };
    if !before.chars().all(|c| c.is_ascii_lowercase() || " ():\"".contains(c)) {
        return false;
    }
    // Type parameters come first, those of `Fn(A)` among them.
    let open = function.char_indices().scan(0, |depth, (at, c)| {
        *depth += i32::from(c == '<') - i32::from(c == '>' && !function[..at].ends_with('-'));
        Some((at, c, *depth))
    });
    let open = open.into_iter().find(|(_, c, depth)| *c == '(' && *depth == 0);
    let Some((parameters, _)) = open.and_then(|(at, ..)| bracket(&function[at..])) else { return false };
    let mut depth = 0;
    let top_level: String = parameters
        .chars()
        .map(|c| {
            depth += i32::from("([{<".contains(c)) - i32::from(")]}>".contains(c));
            if depth > 1 || depth == 1 && c == ',' { ' ' } else { c }
        })
        .collect();
    top_level.split(',').any(|parameter| {
        let is_drawn = parameter.contains(") in ");
        let of_type = parameter.split_once(": ").map_or("", |(_, of_type)| of_type);
        let is_tuple = |text: &str| text.starts_with('(') && !text.starts_with("()");
        !is_drawn && (is_tuple(parameter.trim_start()) || is_tuple(of_type))
    })
}

/// Where statements of this kind begin.
fn places(is_wrong: impl Fn(&str) -> bool, marker: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files() {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            if line.contains(marker) && !is_comment && is_wrong(&statement(&lines[at..])) {
                found.push(format!("{path}:{}", at + 1));
            }
        }
    }
    found
}

#[test]
fn no_let_takes_a_tuple_literal_apart() {
    assert_eq!(places(is_parallel_let, "let ("), Vec::<String>::new(), "write a `let` for each name");
}

#[test]
fn no_function_has_a_tuple_as_a_parameter() {
    assert_eq!(places(has_tuple_parameter, "fn "), Vec::<String>::new(), "write two parameters, or a struct");
}

#[test]
fn the_rules_find_what_they_forbid() {
    let lets = |text: &str| is_parallel_let(&statement(&text.lines().collect::<Vec<_>>()));
    for wrong in [
        "let (a, mut b) = (1, f(2));",
        "let (a, b): (A, B<C>) =\n    (x, \")\");",
        "let ((a, b), c) = (\n    d,\n    e,\n);",
    ] {
        assert!(lets(wrong), "{wrong}");
    }
    for right in
        ["let (a, b) = f(1, 2);", "let (a, b) = (x, y).swapped();", "let (Some(a), b) = (x, y) else { return };"]
    {
        assert!(!lets(right), "{right}");
    }
    let function = |text: &str| has_tuple_parameter(&statement(&text.lines().collect::<Vec<_>>()));
    for wrong in ["fn f((a, b): (A, B)) {", "pub(super) fn f<T: Fn(A) -> B>(\n    a: A,\n    b: (A, B),\n) {"] {
        assert!(function(wrong), "{wrong}");
    }
    for right in [
        "fn f(a: (), b: &[(A, B)], c: &(A, B), d: impl Fn((A, B))) {",
        "let f = |(a, b)| g(a, \"fn f((a, b): (A, B))\");",
    ] {
        assert!(!function(right), "{right}");
    }
}
