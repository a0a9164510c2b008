//! The different words of a text, as sorted digests: enough to tell most texts that lack a name.
//!
//! Invariant: if a text has a name, [`WordSet::may_have`] says so. Two words may share a digest, so the reverse doesn't hold.

/// Quotes of a specifier.
const QUOTES: [u8; 3] = [b'\'', b'"', b'`'];
/// Stands for specifiers that end with a folder without a name: `.`, `./`, `../..`.
const UNNAMED_FOLDER: &[u8] = b"./";

/// The words of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WordSet(Box<[u32]>);

impl WordSet {
    /// The words of a text.
    pub(super) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut digests: Vec<u32> = words(bytes).map(digest).collect();
        let mut quotes = bytes.iter().enumerate().filter(|(_, byte)| QUOTES.contains(byte));
        if quotes.any(|(at, quote)| ends_with_unnamed_folder(&bytes[..at], *quote)) {
            digests.push(digest(UNNAMED_FOLDER));
        }
        digests.sort_unstable();
        digests.dedup();
        Self(digests.into_boxed_slice())
    }

    /// Whether the text may have this name: all its words. A name without words may be anywhere.
    pub(super) fn may_have(&self, name: &str) -> bool {
        words(name.as_bytes()).all(|word| self.has(word))
    }

    /// Whether the text may have a specifier with this last part.
    pub(super) fn may_end_specifier(&self, last: &str) -> bool {
        if matches!(last, "." | "..") { self.has(UNNAMED_FOLDER) } else { self.may_have(last) }
    }

    fn has(&self, word: &[u8]) -> bool {
        self.0.binary_search(&digest(word)).is_ok()
    }
}

/// Whether a literal that ends here ends with `.`, `..` or a slash behind one of them.
fn ends_with_unnamed_folder(before: &[u8], quote: u8) -> bool {
    let rest = before.strip_suffix(b"/").unwrap_or(before);
    rest.strip_suffix(b".").is_some_and(|rest| {
        let rest = rest.strip_suffix(b".").unwrap_or(rest);
        rest.last().is_some_and(|last| *last == b'/' || *last == quote)
    })
}

/// Runs of letters, digits, `_`, `$` and everything that isn't ASCII.
fn words(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii();
    bytes.split(move |byte| !is_part(byte)).filter(|word| !word.is_empty())
}

/// FNV-1a.
fn digest(word: &[u8]) -> u32 {
    word.iter().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_specifiers_are_found() {
        let set = WordSet::of("const { größe: $x } = require(\"../lib/some-file.js\");\nexports['a b'] = 1;");
        for name in ["größe", "$x", "some-file.js", "some-file", "a b", "", "+"] {
            assert!(set.may_have(name), "{name}");
        }
        for name in ["gr", "x", "other-file", "c"] {
            assert!(!set.may_have(name), "{name}");
        }
        assert!(set.may_end_specifier("some-file") && !set.may_end_specifier(".") && !set.may_end_specifier(".."));
        for specifier in ["'.'", "\"..\"", "`./`", "'../..'", "'../../'"] {
            let set = WordSet::of(&format!("require({specifier})"));
            assert!(set.may_end_specifier(".") && set.may_end_specifier(".."), "{specifier}");
        }
        for text in ["'a.'", "a.b", "'...'", "."] {
            assert!(!WordSet::of(text).may_end_specifier("."), "{text}");
        }
    }
}
