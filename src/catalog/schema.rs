//! Tool declarations as `tools/list` shows them: the schemas as they lie in `schemas/tools/`, without white space.
//!
//! Invariants: schemas keep their members' order; an entry has no line breaks, because stdio frames messages by them.
//! The files name no dialect of JSON Schema: MCP's default, 2020-12, applies, and they use nothing that drafts differ in.

use std::fmt::Write;

/// One tool, declared once: listing, decoding and the contract's tables all start here.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolDecl {
    /// The canonical, dotted name.
    pub(super) name: &'static str,
    /// What it is for, in one or two sentences.
    pub(super) description: &'static str,
    /// The schema of its arguments.
    pub(super) input_schema: &'static str,
    /// The schema of its payload.
    pub(super) output_schema: &'static str,
}

/// The hints of every tool that only reads.
const READ_ONLY: &str = r#"{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}"#;

/// The hints of a tool that writes what is codeyard's own, and nothing of the caller's.
const WRITES_OWN: &str =
    r#"{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}"#;

impl ToolDecl {
    /// The entry of `tools/list` under `name` (contract §2.2), of a tool that only reads.
    pub(super) fn entry(&self, name: &str) -> String {
        self.hinted(name, READ_ONLY)
    }

    /// The same of a tool that writes what is codeyard's own.
    pub(super) fn writing_entry(&self, name: &str) -> String {
        self.hinted(name, WRITES_OWN)
    }

    fn hinted(&self, name: &str, hints: &str) -> String {
        let (name, description) = (serde_json::Value::from(name), serde_json::Value::from(self.description));
        let (input, output) = (minified(self.input_schema), minified(self.output_schema));
        let mut entry = format!("{{\"name\":{name},\"description\":{description}");
        // Writing to a string can't fail.
        let _ = write!(entry, ",\"inputSchema\":{input},\"outputSchema\":{output},\"annotations\":{hints}}}");
        entry
    }
}

/// JSON text without the white space between its tokens; strings stay as they are.
fn minified(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for letter in json.chars() {
        if in_string || !letter.is_ascii_whitespace() {
            text.push(letter);
        }
        if letter == '"' && !escaped {
            in_string = !in_string;
        }
        escaped = in_string && letter == '\\' && !escaped;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minified_keeps_strings_and_order() {
        assert_eq!(minified("{ \"b\" : [ 1,\n 2 ],\t\"a \\\" \\\\\" : \" x \" }"), r#"{"b":[1,2],"a \" \\":" x "}"#);
    }
}
