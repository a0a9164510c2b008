//! Which characters are part of an identifier, in any language.

/// Whether a character may be part of a word.
pub fn is_part(c: char) -> bool {
    // Unicode allows joiners inside identifiers, but most of them join emoji.
    let is_joiner = matches!(c, '\u{200c}' | '\u{200d}');
    unicode_ident::is_xid_continue(c) && !is_joiner || c == '$'
}
