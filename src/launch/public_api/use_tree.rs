//! The paths of a `use` declaration of Rust.
//!
//! It reads the text of one declaration and resolves nothing. Invariant: any text gives some list; its length is bounded by the text.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UsePath {
    /// The segments; those in front of the star of a glob.
    pub(super) segments: Vec<String>,
    /// The name that it gets; empty for a glob.
    pub(super) name: String,
    /// Whether it ends with `*`.
    pub(super) is_glob: bool,
}

/// Levels of braces that are read.
const MAX_DEPTH: usize = 16;

/// The paths of the declaration that `text` holds: everything between `use` and `;`.
pub(super) fn use_paths(text: &str) -> Vec<UsePath> {
    let without_comments: String =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join(" ");
    let Some((_, tree)) = without_comments.split_once("use ") else { return Vec::new() };
    let tree = tree.split(';').next().unwrap_or_default();
    let mut paths = Vec::new();
    add(tree, &[], 0, &mut paths);
    paths
}

fn add(tree: &str, before: &[String], depth: usize, paths: &mut Vec<UsePath>) {
    let tree = tree.trim();
    if tree.is_empty() || depth > MAX_DEPTH {
        return;
    }
    if let Some((head, inner)) = tree.split_once('{') {
        let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
        let segments = extended(before, head);
        for part in parts(inner) {
            add(part, &segments, depth + 1, paths);
        }
        return;
    }
    let (path, alias) = match tree.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim())),
        None => (tree, None),
    };
    let mut segments = extended(before, path);
    let is_glob = segments.last().is_some_and(|last| last == "*");
    if is_glob {
        segments.pop();
    }
    // `a::{self}` names `a`.
    if segments.len() > 1 && segments.last().is_some_and(|last| last == "self") {
        segments.pop();
    }
    let last = segments.last().cloned().unwrap_or_default();
    let name = if is_glob { String::new() } else { alias.map_or(last, str::to_owned) };
    paths.push(UsePath { segments, name, is_glob });
}

fn extended(before: &[String], path: &str) -> Vec<String> {
    let own = path.split("::").map(str::trim).filter(|part| !part.is_empty());
    before.iter().cloned().chain(own.map(|part| part.trim_start_matches("r#").to_owned())).collect()
}

/// `text` divided at the commas that are in no braces.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_of_uses_are_divided_into_paths() {
        let of = |text: &str| {
            let show = |path: UsePath| {
                format!("{}{}={}", path.segments.join("::"), if path.is_glob { "::*" } else { "" }, path.name)
            };
            use_paths(text).into_iter().map(show).collect::<Vec<_>>()
        };
        assert_eq!(of("pub use crate::a::B;"), ["crate::a::B=B"]);
        assert_eq!(of("pub use a::{self, b::{C as D, *}, // x\n r#e,};"), ["a=a", "a::b::C=D", "a::b::*=", "a::e=e"]);
        assert_eq!(of("pub use self::x::*;"), ["self::x::*="]);
        assert_eq!(of("pub use ::ext::Y as _;"), ["ext::Y=_"]);
        for text in ["", "use ", "use {", "use }{,,;", "use a::{b", &format!("use {}", "a::{".repeat(500))] {
            use_paths(text);
        }
    }
}
