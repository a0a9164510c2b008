//! Tool declarations, and their entries in `tools/list`. The schemas are the files in `schemas/tools/`, minified.
//!
//! Invariants: schemas keep the order of their members; an entry has no line breaks, because stdio separates messages by
//! them. The files have no `$schema`: MCP's default, draft 2020-12, applies, and they only use what it shares with draft 7.

use std::fmt::Write;

/// The declaration of one tool. Listing, decoding and the tests of the contract's tables use it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolDecl {
    /// The canonical, dotted name.
    pub(super) name: &'static str,
    /// The purpose of the tool, in one or two sentences.
    pub(super) description: &'static str,
    /// The JSON Schema of the arguments.
    pub(super) input_schema: &'static str,
    /// The JSON Schema of the payload.
    pub(super) output_schema: &'static str,
}

/// The declaration of a tool whose schemas are `schemas/tools/FILE.json` and `FILE.output.json`.
macro_rules! tool {
    ($file:literal, $description:literal) => {
        $crate::schema::tool!($file, $file, $description)
    };
    ($name:expr, $file:literal, $description:literal) => {
        $crate::schema::ToolDecl {
            name: $name,
            description: $description,
            input_schema: include_str!(concat!("../../../schemas/tools/", $file, ".json")),
            output_schema: include_str!(concat!("../../../schemas/tools/", $file, ".output.json")),
        }
    };
}
pub(super) use tool;

/// The annotations of a tool that only reads.
const READ_ONLY: &str = r#"{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}"#;

/// The annotations of a tool that writes codeyard's own files, and none of the caller's.
const WRITES_OWN: &str =
    r#"{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}"#;

/// The annotations of a tool that publishes to another service.
const PUBLISHES: &str = r#"{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":true}"#;

impl ToolDecl {
    /// The `tools/list` entry of a tool that only reads, under `name`.
    pub(super) fn entry(&self, name: &str) -> String {
        self.entry_with(name, READ_ONLY)
    }

    /// The `tools/list` entry of a tool that writes codeyard's own files, under `name`.
    pub(super) fn writing_entry(&self, name: &str) -> String {
        self.entry_with(name, WRITES_OWN)
    }

    /// The `tools/list` entry of a tool that publishes to another service, under `name`.
    pub(super) fn publishing_entry(&self, name: &str) -> String {
        self.entry_with(name, PUBLISHES)
    }

    fn entry_with(&self, name: &str, hints: &str) -> String {
        let name = serde_json::Value::from(name);
        let description = serde_json::Value::from(self.description);
        let input = minified(self.input_schema);
        let output = minified(self.output_schema);
        let mut entry = format!("{{\"name\":{name},\"description\":{description}");
        // Writing to a string can't fail.
        let _ = write!(entry, ",\"inputSchema\":{input},\"outputSchema\":{output},\"annotations\":{hints}}}");
        entry
    }
}

/// `json` without the white space between tokens. Strings keep theirs.
fn minified(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut in_string = false;
    let mut escaped = false;
    for character in json.chars() {
        if in_string || !character.is_ascii_whitespace() {
            text.push(character);
        }
        if character == '"' && !escaped {
            in_string = !in_string;
        }
        escaped = in_string && character == '\\' && !escaped;
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
