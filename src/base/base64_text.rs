//! base64 with padding (RFC 4648, section 4), the encoding of binary content in JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Encodes with padding.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

/// Decodes; `None` if `text` is not canonical base64 with padding.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_and_other_alphabets_are_refused() {
        assert_eq!(decode(&encode(b"\xff\xfe{}")).as_deref(), Some(&b"\xff\xfe{}"[..]));
        for bad in ["YQ", "__4=", "Y"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
