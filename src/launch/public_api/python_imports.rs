//! What a module of Python imports by `from … import …`, and the names in its `__all__`.
//!
//! It reads text and resolves nothing. Invariant: any text gives some list; its length is bounded by the text.

use std::collections::BTreeSet;

/// One name of a statement `from module import name as alias`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ImportFrom {
    /// The module as it is written, with the dots in front of a relative one.
    pub(super) module: String,
    /// The name in that module; empty for a star.
    pub(super) name: String,
    /// The name here; empty for a star.
    pub(super) alias: String,
    /// Whether everything is imported.
    pub(super) is_star: bool,
}

/// The names of the statement in `text`. A statement `import …` gives none: it exports modules.
pub(super) fn imports(text: &str) -> Vec<ImportFrom> {
    let joined: String =
        text.lines().map(|line| line.split('#').next().unwrap_or_default()).collect::<Vec<_>>().join(" ");
    let Some(rest) = joined.trim_start().strip_prefix("from ") else { return Vec::new() };
    let Some((module, names)) = rest.split_once(" import") else { return Vec::new() };
    let module: String = module.split_whitespace().collect();
    let names = names.trim().trim_start_matches('(');
    let names = names.split([')', ';']).next().unwrap_or_default();
    let one = |part: &str| {
        let part = part.trim().trim_end_matches('\\').trim();
        let (name, alias) = part.split_once(" as ").map_or((part, part), |(name, alias)| (name.trim(), alias.trim()));
        let is_star = name == "*";
        let text = |text: &str| if is_star { String::new() } else { text.to_owned() };
        (!name.is_empty()).then(|| ImportFrom { module: module.clone(), name: text(name), alias: text(alias), is_star })
    };
    names.split(',').filter_map(one).collect()
}

/// The literals that a module assigns and adds to `__all__`; `None` if it has none.
pub(super) fn exported_names(text: &str) -> Option<BTreeSet<String>> {
    let mut names: Option<BTreeSet<String>> = None;
    let mut at = 0;
    while let Some(found) = text[at..].find("__all__") {
        let start = at + found;
        at = start + "__all__".len();
        let is_statement = start == 0 || text[..start].ends_with('\n');
        let rest = &text[at..];
        let operator = rest.trim_start();
        let is_value = [".extend(", ".append(", "+=", "=", ":"].iter().any(|sign| operator.starts_with(sign));
        if is_statement && is_value && !operator.starts_with("==") {
            names.get_or_insert_default().extend(literals(rest));
        }
    }
    // One that is computed entirely says nothing.
    names.filter(|names| !names.is_empty())
}

/// The quoted names up to the end of the statement that `text` continues.
fn literals(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let mut names = Vec::new();
    let mut depth = 0_i32;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b'\n' if depth <= 0 && at > 0 && bytes[at - 1] != b'\\' => break,
            // The line's end, which may end the statement, is read next.
            b'#' => at = text[at..].find('\n').map_or(text.len(), |end| at + end) - 1,
            b'"' | b'\'' => {
                let inner = &text[at + 1..];
                let Some(end) = inner.find([char::from(*byte), '\n']) else { break };
                if !inner[..end].is_empty() {
                    names.push(inner[..end].to_owned());
                }
                at += 1 + end;
            }
            _ => {}
        }
        at += 1;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_have_their_modules_and_names() {
        let of = |text: &str| {
            let show = |import: ImportFrom| format!("{}:{}={}", import.module, import.name, import.alias);
            imports(text).into_iter().map(show).collect::<Vec<_>>()
        };
        assert_eq!(of("from .a import (\n  B, # why\n  c as D,\n)\n"), [".a:B=B", ".a:c=D"]);
        assert_eq!(of("from .. import x, y"), ["..:x=x", "..:y=y"]);
        assert_eq!(of("from a.b import *"), ["a.b:="]);
        assert_eq!(of("import os"), Vec::<String>::new());
        assert_eq!(of("from  . a import (b"), [".a:b=b"]);
    }

    #[test]
    fn names_in_all_are_read_from_its_literals() {
        let of = |text: &str| exported_names(text).map(|names| names.into_iter().collect::<Vec<_>>().join(" "));
        assert_eq!(of("__all__ = [\n  'a', # 'no'\n  \"b\",\n]\nx = 'c'\n").as_deref(), Some("a b"));
        assert_eq!(of("__all__ = ('a',)\n__all__ += x.__all__ + ['d']\n").as_deref(), Some("a d"));
        assert_eq!(of("__all__: list[str] = ['a']").as_deref(), Some("a"));
        assert_eq!(of("__all__ = 'a', \\\n 'b'\n'c'").as_deref(), Some("a b"));
        assert_eq!(of("__all__ = [n for n in dir()]"), None);
        assert_eq!(of("print(__all__ == ['a'])"), None);
        for text in ["__all__", "__all__ = ", "__all__ = ['", "__all__ = #", "__all__ = 'ä"] {
            exported_names(text);
        }
    }
}
