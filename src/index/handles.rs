//! Handles: the ids by which a client can request a symbol again.
//!
//! A *symbol id* identifies a symbol in one content of one file. It is valid as long as the file has these bytes. A
//! *stable id* identifies a symbol by its language, kind and names, so it survives moves between files and lines.
//! Symbols with the same key are numbered in the order of their paths. A *result id* contains the symbol id.

use crate::facts::Facts;
use crate::language::Language;
use codeyard_base::digest::{hex, sha256};

/// The number of hash bytes in a handle.
const HASH_BYTES: usize = 10;

/// The parts of a symbol id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SymbolId {
    /// The first bytes of the content's hash.
    pub content: Vec<u8>,
    /// The index of the symbol in the content's facts.
    pub ordinal: u32,
    /// The first bytes of the path's hash, in hexadecimal.
    pub path: String,
}

fn short_hash(text: &[u8]) -> String {
    hex(&sha256(text)[..HASH_BYTES])
}

pub(crate) fn symbol_id(content: &[u8; 32], ordinal: u32, path: &str) -> String {
    format!("sym.{}.{ordinal}.{}", hex(&content[..HASH_BYTES]), short_hash(path.as_bytes()))
}

/// The result id of a symbol's row.
pub(crate) fn result_id(symbol_id: &str) -> String {
    format!("res.{symbol_id}")
}

/// The result id of a line's row or a file's row.
pub(crate) fn line_result_id(path: &str, line: u32, text: &str) -> String {
    format!("res.at.{}", short_hash(format!("{path}\0{line}\0{text}").as_bytes()))
}

/// The inverse of [`symbol_id`].
pub(crate) fn parse_symbol_id(text: &str) -> Option<SymbolId> {
    let mut parts = text.strip_prefix("sym.")?.split('.');
    let content = parts.next()?;
    let ordinal = parts.next()?;
    let path = parts.next()?;
    let is_hex = |digits: &str| digits.len() == 2 * HASH_BYTES && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if parts.next().is_some() || !is_hex(content) || !is_hex(path) {
        return None;
    }
    let content =
        (0..HASH_BYTES).map(|at| u8::from_str_radix(&content[2 * at..2 * at + 2], 16).ok()).collect::<Option<_>>()?;
    Some(SymbolId { content, ordinal: ordinal.parse().ok()?, path: path.to_owned() })
}

/// The symbol id in a result id; `None`: the row is no symbol, or the text is no result id.
pub(crate) fn parse_result_id(text: &str) -> Option<SymbolId> {
    parse_symbol_id(text.strip_prefix("res.")?)
}

/// Whether a symbol id is of the file at this path.
pub(crate) fn is_of_path(id: &SymbolId, path: &str) -> bool {
    id.path == short_hash(path.as_bytes())
}

/// The key of a stable id: the language, the kind and the names. The signature isn't part of it, so that a function
/// keeps its id when it gets a parameter.
pub(crate) fn stable_key(language: Language, facts: &Facts, ordinal: usize) -> u64 {
    let kind = facts.symbols.get(ordinal).map_or("", |symbol| symbol.kind.as_str());
    let text = format!("{}\0{kind}\0{}", language.name(), facts.qualified_name(ordinal));
    let mut first = [0; 8];
    first.copy_from_slice(&sha256(text)[..8]);
    u64::from_be_bytes(first)
}

/// The stable id of the `nth` symbol with this key.
pub(crate) fn stable_id(key: u64, nth: usize) -> String {
    if nth == 0 { format!("stable.{key:016x}") } else { format!("stable.{key:016x}.{}", nth + 1) }
}

/// The inverse of [`stable_id`].
pub(crate) fn parse_stable_id(text: &str) -> Option<(u64, usize)> {
    let rest = text.strip_prefix("stable.")?;
    let (key, nth) = match rest.split_once('.') {
        None => (rest, 0),
        Some((key, nth)) => (key, nth.parse::<usize>().ok()?.checked_sub(1).filter(|nth| *nth > 0)?),
    };
    let key = Some(key).filter(|key| key.len() == 16).and_then(|key| u64::from_str_radix(key, 16).ok())?;
    Some((key, nth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_round_trip() {
        let hash = sha256("text");
        let id = symbol_id(&hash, 7, "src/a.rs");
        let parsed = parse_symbol_id(&id).unwrap();
        assert_eq!((parsed.content.as_slice(), parsed.ordinal), (&hash[..HASH_BYTES], 7));
        assert!(is_of_path(&parsed, "src/a.rs") && !is_of_path(&parsed, "src/b.rs"));
        assert_eq!(parse_result_id(&result_id(&id)), Some(parsed));
        for bad in ["", "sym.", "sym.0.0.0", "sym.zz.7.00", &id[1..], &format!("{id}.1")] {
            assert_eq!(parse_symbol_id(bad), None, "{bad}");
        }
        assert_eq!(parse_result_id(&line_result_id("a", 3, "x")), None);
        for nth in [0, 1, 30] {
            assert_eq!(parse_stable_id(&stable_id(u64::MAX - 5, nth)), Some((u64::MAX - 5, nth)));
        }
        for bad in ["stable.abc", "stable.0123456789abcdef.1", "stable.0123456789abcdef.x", "0123456789abcdef"] {
            assert_eq!(parse_stable_id(bad), None, "{bad}");
        }
    }
}
