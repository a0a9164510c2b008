//! Reads JSON with comments, trailing commas and a byte order mark, as `tsconfig.json` is written.
//!
//! The caller bounds the size of the text; the parser bounds the nesting.

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::Value;

/// Strict JSON except for comments and trailing commas.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The object in the text; `None` if the text isn't an object.
pub fn parse_object(text: &str) -> Option<Value> {
    let text = text.trim_start_matches('\u{feff}');
    parse_to_serde_value::<Value>(text, &OPTIONS).ok().filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_trailing_commas_and_a_byte_order_mark_are_accepted() {
        let text = "\u{feff}// one\n{ /* two, */ \"a\": [1, 2, /* x */ ], // ]\n \"b//\": \"c,]/*\\\"}\", \"d\": {},\n}\n// end";
        assert_eq!(parse_object(text), Some(json!({"a": [1, 2], "b//": "c,]/*\"}", "d": {}})));
    }

    #[test]
    fn other_extensions_and_other_values_are_refused() {
        let deep = format!("{}{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
        for text in [
            "", "// nothing", "{", "\"a", "/*", "{} x", "[,]x", "\"\\", "[1]", "{a: 1}", "{'a': 1}", "{\"a\" 1}", &deep,
        ] {
            assert_eq!(parse_object(text), None, "{:?}", &text[..text.len().min(40)]);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_a_panic(text in "\\PC{0,40}|[\"\\\\/*,\\]}{\n a]{0,40}") {
            let _ = parse_object(&text);
        }

        #[test]
        fn plain_json_keeps_its_value(texts in proptest::collection::vec("\\PC{0,12}", 0..5)) {
            let value = json!({"all": texts, "n": [1, {}, []]});
            prop_assert_eq!(parse_object(&value.to_string()), Some(value.clone()));
            prop_assert_eq!(parse_object(&serde_json::to_string_pretty(&value).unwrap()), Some(value));
        }
    }
}
