//! Authentication codes (HMAC-SHA-256, RFC 2104) of a list of texts, with a key that lives in this process only.
//!
//! Invariants: no list has the code of another one; a comparison takes the same time for every code.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of a code.
pub const CODE_BYTES: usize = 32;

/// A key. It can't be read back.
pub struct AuthenticationKey([u8; 32]);

impl AuthenticationKey {
    /// The key of these random bytes.
    pub fn new(random: [u8; 32]) -> Self {
        Self(random)
    }

    /// The code of `parts`.
    pub fn code(&self, parts: &[&[u8]]) -> [u8; CODE_BYTES] {
        // A key of any length is accepted.
        self.mac(parts).map_or([0; CODE_BYTES], |mac| mac.finalize().into_bytes().into())
    }

    /// Whether `code` is the code of `parts`.
    pub fn is_code(&self, code: &[u8], parts: &[&[u8]]) -> bool {
        self.mac(parts).is_some_and(|mac| mac.verify_slice(code).is_ok())
    }

    fn mac(&self, parts: &[&[u8]]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        for part in parts {
            // With its length in front, no part can take bytes of another.
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        Some(mac)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_belongs_to_one_list_and_one_key() {
        let key = AuthenticationKey::new([1; 32]);
        let other = AuthenticationKey::new([2; 32]);
        let code = key.code(&[b"ab", b"c"]);
        assert!(key.is_code(&code, &[b"ab", b"c"]) && !other.is_code(&code, &[b"ab", b"c"]));
        for parts in [&[&b"a"[..], b"bc"][..], &[b"abc"], &[b"ab", b"c", b""], &[b"c", b"ab"]] {
            assert!(!key.is_code(&code, parts));
        }
        assert!(!key.is_code(&code[..31], &[b"ab", b"c"]) && !key.is_code(b"", &[b"ab", b"c"]));
    }

    /// The expected code comes from Python's `hmac`.
    #[test]
    fn the_code_is_hmac_sha_256() {
        let key = AuthenticationKey::new([7; 32]);
        assert_eq!(crate::digest::hex(&key.code(&[b"hi"])), EXPECTED);
    }

    const EXPECTED: &str = "3e3dcb6fc6085a7487558d100acb2be51595c49271fedaaca2a0a74c8f7ef0e6";
}
