//! Finds texts in code that look like secrets: keys and tokens of known services, private keys.
//!
//! Placeholders such as `ghp_xxxx…` are none. Invariant: the time grows with the length of the text.

/// How tokens begin, how many characters follow at least, and what they are.
const TOKENS: [(&str, usize, &str); 16] = [
    ("AKIA", 16, "a key of AWS"),
    ("ASIA", 16, "a key of AWS"),
    ("ghp_", 30, "a token of GitHub"),
    ("gho_", 30, "a token of GitHub"),
    ("ghs_", 30, "a token of GitHub"),
    ("github_pat_", 30, "a token of GitHub"),
    ("glpat-", 18, "a token of GitLab"),
    ("sk-", 20, "an API key"),
    ("sk_live_", 16, "an API key"),
    ("rk_live_", 16, "an API key"),
    ("AIza", 30, "a key of Google"),
    ("xoxb-", 20, "a token of Slack"),
    ("xoxp-", 20, "a token of Slack"),
    ("npm_", 34, "a token of npm"),
    ("pypi-AgE", 40, "a token of PyPI"),
    ("eyJ", 60, "a signed token"),
];

/// What kind of secret a text seems to hold.
pub(super) fn found_in(text: &str) -> Option<&'static str> {
    if text.lines().any(|line| line.contains("-----BEGIN") && line.contains("PRIVATE KEY")) {
        return Some("a private key");
    }
    TOKENS.iter().find(|(start, least, _)| has_token(text, start, *least)).map(|(_, _, kind)| *kind)
}

fn has_token(text: &str, start: &str, least: usize) -> bool {
    let is_of_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    text.match_indices(start).any(|(at, _)| {
        let is_inside = text[..at].bytes().next_back().is_some_and(|byte| byte.is_ascii_alphanumeric());
        let rest = &text.as_bytes()[at + start.len()..];
        let length = rest.iter().take_while(|byte| is_of_token(byte)).count();
        !is_inside && length >= least && is_random(&rest[..length])
    })
}

/// Whether characters seem chosen at random: many different ones, digits and letters.
fn is_random(bytes: &[u8]) -> bool {
    let different: std::collections::BTreeSet<u8> = bytes.iter().copied().collect();
    different.len() >= 8 && bytes.iter().any(u8::is_ascii_digit) && bytes.iter().any(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::found_in;

    #[test]
    fn tokens_are_found_and_placeholders_are_not() {
        // Put together here, so that no scanner takes this file for a leak.
        let random = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
        for start in ["ghp_", "sk-", "github_pat_", "npm_"] {
            assert!(found_in(&format!("key = \"{start}{random}\"")).is_some(), "{start}");
            assert_eq!(found_in(&format!("key = \"{start}{}\"", "x".repeat(40))), None, "{start}");
            assert_eq!(found_in(&format!("key = \"{start}...\"")), None, "{start}");
        }
        assert!(found_in("-----BEGIN RSA PRIVATE KEY-----").is_some());
        assert_eq!(found_in("task-runner-with-a-long-name-1234567890abcdef"), None);
        assert_eq!(found_in("let risk-level = 1"), None);
        assert_eq!(found_in("ä"), None);
    }
}
