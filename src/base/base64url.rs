//! base64url without padding (RFC 4648, section 5), the encoding of cursors.
//!
//! Invariant: `decode` accepts exactly the output of `encode`; padding, other characters and unused bits are refused.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Encodes without padding.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes; `None` if `text` is not canonical base64url without padding.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_it_would_not_write() {
        assert_eq!(decode(&encode(b"\xff\xfe{}")).as_deref(), Some(&b"\xff\xfe{}"[..]));
        for bad in ["YQ==", "Y+", "Y", "YR", "é"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
