//! Finds the absolute imports in a file of Python.
//!
//! It reads lines, not a syntax tree: a statement in a string counts too, which at worst adds a search path that holds the named module.

use std::collections::BTreeSet;

/// The names that a text imports absolutely: of `a.b.c` the first part, `a`, and the first two, `a.b`; of `from a import b` the same.
pub(super) fn imports_of(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    // The module whose list of names continues on the next line.
    let mut unfinished = None;
    for line in text.lines().map(str::trim_start) {
        if let Some(rest) = statement(line, "import") {
            unfinished = None;
            for one in rest.split(',') {
                add(first_name(one.trim_start()), &mut found);
            }
        } else if let Some(rest) = statement(line, "from") {
            unfinished = add_from(rest, &mut found);
        } else if let Some(module) = unfinished {
            add_parts(module, line, &mut found);
            unfinished = unfinished.filter(|_| !line.contains(')'));
        }
    }
    found
}

/// Adds what follows `from`. The module, if its list of names goes on.
fn add_from<'t>(rest: &'t str, found: &mut BTreeSet<String>) -> Option<&'t str> {
    let module = first_name(rest);
    let names = rest[module.len()..].trim_start().strip_prefix("import")?;
    if !names.starts_with([' ', '\t', '(']) {
        return None;
    }
    add(module, found);
    if module.contains('.') {
        return None;
    }
    add_parts(module, names, found);
    (names.trim_start().starts_with('(') && !names.contains(')')).then_some(module)
}

/// Adds what a line imports from a module.
fn add_parts(module: &str, line: &str, found: &mut BTreeSet<String>) {
    let code = line.split('#').next().unwrap_or_default();
    for part in code.split([',', '(', ')']) {
        let part = first_name(part.trim_start());
        if !part.is_empty() && !part.contains('.') {
            add(&format!("{module}.{part}"), found);
        }
    }
}

fn first_name(text: &str) -> &str {
    text.split(|c: char| !is_in_name(c)).next().unwrap_or_default()
}

/// What follows the keyword and a space.
fn statement<'a>(line: &'a str, keyword: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(keyword)?;
    rest.starts_with([' ', '\t']).then(|| rest.trim_start())
}

fn is_in_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '.'
}

/// Adds an absolute name; relative ones begin with a dot.
fn add(name: &str, found: &mut BTreeSet<String>) {
    let name = name.trim_end_matches('.');
    let is_name = |part: &str| part.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_');
    if name.split('.').all(is_name) {
        let mut ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
        found.extend(ends.by_ref().take(2).map(|end| name[..end].to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_imports_are_found_at_any_depth() {
        let text = "import os, a.b as c,d\nfrom e.f import g\n  from h import (\n    i,\n)\nfrom . import j\nfrom .k import l\n\
            # import m\nimportant = 1\nfrom_x = 2\nfrom n import(o)\nimport straße # note\nx = 'from p import q'\n";
        let found: Vec<String> = imports_of(text).into_iter().collect();
        assert_eq!(found, ["a", "a.b", "d", "e", "e.f", "h", "h.i", "n", "n.o", "os", "straße"]);
    }

    #[test]
    fn broken_lines_are_ignored() {
        for text in ["import", "from", "from  import x", "import 1a", "from a.. import b", "import ,", "from x"] {
            assert!(imports_of(text).iter().all(|name| name == "a"), "{text}: {:?}", imports_of(text));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC{0,60}|(from|import|[a.( ,\n]){0,20}") {
            imports_of(&text);
        }
    }
}
