//! A bearer token: 256 random bits as text with a prefix that identifies codeyard.
//!
//! A token is neither a session nor a name. Invariants: its bits come from the operating system's randomness; `Debug` shows nothing
//! of it.

use std::fmt;

use rand::TryRngCore;
use rand::rngs::OsRng;

use codeyard_base::base64url;
use codeyard_base::digest::{hex, sha256};

/// The prefix of every token, by which secret scanners recognise a leaked one.
const PREFIX: &str = "cyd_";

/// Digits of an id. Two of `MAX_TOKENS` tokens have the same one with a probability below one in a million.
const ID_DIGITS: usize = 10;

/// The text of a token. It is shown once, when it is made.
#[derive(Clone)]
pub struct Token(String);

/// The id of a token: the first hexadecimal digits of its hash. It is no secret, and it never changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TokenId(String);

/// The SHA-256 of a token's text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TokenHash([u8; 32]);

impl Token {
    /// A new token.
    ///
    /// # Errors
    /// If the operating system provides no randomness.
    pub fn generate() -> Result<Self, std::io::Error> {
        let mut bits = [0_u8; 32];
        OsRng.try_fill_bytes(&mut bits).map_err(std::io::Error::other)?;
        Ok(Self(format!("{PREFIX}{}", base64url::encode(bits))))
    }

    /// The text, to be shown once or sent.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The id.
    pub fn id(&self) -> TokenId {
        self.hash().id()
    }

    /// The hash, which is all that is stored.
    pub(crate) fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(redacted)")
    }
}

impl TokenId {
    /// The id that `text` is, if it has the form of one.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == ID_DIGITS && text.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TokenHash {
    /// The hash of a token's text.
    pub(crate) fn of(text: &str) -> Self {
        Self(sha256(text))
    }

    /// Reads 64 hexadecimal characters.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let mut bytes = [0_u8; 32];
        if digits.len() != 64 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16)?;
            let low = char::from(pair[1]).to_digit(16)?;
            *byte = u8::try_from(high * 16 + low).ok()?;
        }
        Some(Self(bytes))
    }

    /// 64 hexadecimal characters.
    pub(crate) fn to_hex(self) -> String {
        hex(&self.0)
    }

    pub(crate) fn id(self) -> TokenId {
        let mut digits = self.to_hex();
        digits.truncate(ID_DIGITS);
        TokenId(digits)
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_have_256_bits_and_debug_redacts_them() {
        let one = Token::generate().unwrap();
        let two = Token::generate().unwrap();
        assert_ne!(one.reveal(), two.reveal());
        let bits = base64url::decode(one.reveal().strip_prefix(PREFIX).unwrap()).unwrap();
        assert_eq!(bits.len(), 32);
        assert_eq!(format!("{one:?} {:?}", one.hash()), "Token(redacted) TokenHash(redacted)");
    }

    #[test]
    fn a_hash_equals_itself_after_hex() {
        let hash = TokenHash::of("x");
        assert!(TokenHash::from_hex(&hash.to_hex()) == Some(hash) && TokenHash::of("y") != hash);
        for bad in ["", "zz", &"g".repeat(64), &"0".repeat(63)] {
            assert!(TokenHash::from_hex(bad).is_none());
        }
        assert_eq!(TokenId::parse(hash.id().as_str()), Some(hash.id()));
        for bad in ["", "local", "2D711642B7", "2d711642b", "2d711642b72", "2d711642bg", "2d711642\u{e9}"] {
            assert_eq!(TokenId::parse(bad), None, "{bad}");
        }
    }
}
