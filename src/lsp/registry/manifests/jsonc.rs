//! JSON as configurations are written: with comments, commas before a closing bracket, and a byte order mark.

use serde_json::Value;

/// The value of such a text; nothing if it is none.
pub(super) fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(&bare(text.trim_start_matches('\u{feff}'))).ok()
}

/// The text without comments and without commas that nothing follows.
fn bare(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '"' => string_length(rest),
            '/' if rest.starts_with("//") => {
                rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = rest[2..].split_once("*/").map_or("", |(_, after)| after);
                continue;
            }
            '}' | ']' => {
                let kept = bare.trim_end().len();
                if bare[..kept].ends_with(',') {
                    bare.truncate(kept - 1);
                }
                1
            }
            other => other.len_utf8(),
        };
        bare.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    bare
}

/// Bytes of the string that the text begins with, its quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_last_commas_are_no_matter() {
        let text = "\u{feff}// one\n{ /* two, */ \"a\": [1, 2, /* x */ ], // ]\n \"b//\": \"c,]/*\\\"}\", \"d\": {},\n}\n// end";
        assert_eq!(parse(text), Some(json!({"a": [1, 2], "b//": "c,]/*\"}", "d": {}})));
        for broken in ["", "{", "\"a", "/*", "{} x", "[,]x", "\"\\"] {
            assert_eq!(parse(broken), None, "{broken:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in "\\PC{0,40}|[\"\\\\/*,\\]}{\n a]{0,40}") {
            let _ = parse(&text);
        }

        #[test]
        fn plain_json_stays_what_it_is(texts in proptest::collection::vec("\\PC{0,12}", 0..5)) {
            let value = json!({"all": texts, "n": [1, {}, []]});
            prop_assert_eq!(parse(&value.to_string()), Some(value.clone()));
            prop_assert_eq!(parse(&serde_json::to_string_pretty(&value).unwrap()), Some(value));
        }
    }
}
