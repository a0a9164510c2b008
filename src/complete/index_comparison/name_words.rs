//! Whether a name is unlikely to mean several things in one workspace.

/// Fewest characters of such a name.
const MIN_CHARS: usize = 6;

/// Whether a name consists of several words, as in `loadConfig`, `load_config` or `HttpServer`. Single words are often methods of libraries.
pub(super) fn is_compound(name: &str) -> bool {
    let mut words = 0;
    let mut is_before_lower = false;
    let mut is_before_part = false;
    for c in name.chars() {
        let begins = c.is_alphanumeric() && (!is_before_part || c.is_uppercase() && is_before_lower);
        words += usize::from(begins);
        is_before_part = c.is_alphanumeric();
        is_before_lower = c.is_lowercase() || c.is_numeric();
    }
    words > 1 && name.chars().count() >= MIN_CHARS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_several_words_are_compound() {
        for name in ["loadConfig", "load_config", "HttpServer", "MAX_SIZE", "test-case", "x86Target"] {
            assert!(is_compound(name), "{name}");
        }
        for name in ["config", "Config", "HTTP", "_private", "__init__", "a_b", "getX", "$scope"] {
            assert!(!is_compound(name), "{name}");
        }
    }
}
