//! A coarse tokenizer for C and C++. Comments are skipped.

/// A token.
#[derive(Debug, Clone, Copy)]
pub(super) struct CToken {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) kind: TokenKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// An identifier or a keyword.
    Word,
    /// A number, a string or a character literal.
    Value,
    /// One punctuation character.
    Punctuation(u8),
    /// `#if`, `#ifdef`, `#ifndef`
    If,
    /// `#else`, `#elif`
    Else,
    /// `#endif`
    End,
    /// Another preprocessor directive.
    Directive,
}

pub(super) fn tokens(source: &str) -> Vec<CToken> {
    let bytes = source.as_bytes();
    let mut found = Vec::with_capacity(bytes.len() / 5);
    let mut at = 0;
    let mut is_line_start = true;
    while let Some(byte) = bytes.get(at).copied() {
        let start = at;
        let kind = match byte {
            b'\n' => {
                is_line_start = true;
                at += 1;
                continue;
            }
            _ if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = line_end(bytes, at);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = comment_end(bytes, at);
                continue;
            }
            b'#' if is_line_start => {
                at = line_end(bytes, at);
                directive(&bytes[start..at])
            }
            b'"' | b'\'' => {
                at = quoted_end(bytes, at);
                TokenKind::Value
            }
            b'0'..=b'9' => {
                at += word_length(&bytes[at..]);
                TokenKind::Value
            }
            _ if is_word(byte) => {
                at += word_length(&bytes[at..]);
                TokenKind::Word
            }
            b'\\' => {
                at += 1;
                continue;
            }
            punctuation => {
                at += 1;
                TokenKind::Punctuation(punctuation)
            }
        };
        is_line_start = false;
        let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        found.push(CToken { start: small(start), end: small(at), kind });
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn word_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !is_word(*byte)).unwrap_or(bytes.len())
}

fn directive(line: &[u8]) -> TokenKind {
    let rest = line[1..].trim_ascii_start();
    match &rest[..word_length(rest)] {
        b"if" | b"ifdef" | b"ifndef" => TokenKind::If,
        b"else" | b"elif" | b"elifdef" | b"elifndef" => TokenKind::Else,
        b"endif" => TokenKind::End,
        _ => TokenKind::Directive,
    }
}

/// The end of a line that may continue after a backslash or inside a comment.
fn line_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' if at > 0 && bytes[at - 1] == b'\\' => {}
            b'\n' if at > 1 && bytes[at - 2..at] == *b"\\\r" => {}
            b'\n' => return at,
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = comment_end(bytes, at);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn comment_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at + 2..).unwrap_or_default();
    rest.windows(2).position(|pair| pair == b"*/").map_or(bytes.len(), |length| at + 2 + length + 2)
}

/// The offset after the closing quote, or the end of the line if no quote closes.
fn quoted_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' => return at,
            quote if *quote == bytes[start] => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}
