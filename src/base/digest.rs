//! SHA-256 as lower-case hexadecimal text: request keys, snapshot keys, stable identifiers.
//!
//! Invariant: a digest depends on the bytes given and on nothing else.

use sha2::{Digest, Sha256};

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The lower-case hex SHA-256 of `text` (64 characters); `sha256hex` of `docs/internals/reference/contract-lsp-v1.md`.
pub fn sha256hex(text: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(text.as_ref()))
}

/// A stable identifier, `sha256:` and the hex digest of the canonical string.
pub fn stable_id(canonical: &str) -> String {
    let mut id = String::with_capacity(71);
    id.push_str("sha256:");
    id.push_str(&sha256hex(canonical));
    id
}

/// The raw 32 bytes of the SHA-256 of `bytes`.
pub fn sha256(bytes: impl AsRef<[u8]>) -> [u8; 32] {
    Sha256::digest(bytes.as_ref()).into()
}

/// `bytes` as lower-case hexadecimal text.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(HEX[usize::from(byte >> 4)] as char);
        text.push(HEX[usize::from(byte & 15)] as char);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_vectors() {
        assert_eq!(sha256hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(sha256hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(stable_id("abc"), format!("sha256:{}", sha256hex("abc")));
    }
}
