//! The seven questions of the quickstart, one a tool, spread over the three sample workspaces.
//!
//! Positions are found by the text of a line, so that the samples may change without this file.

use std::path::Path;

use serde_json::{Value, json};

use super::super::Failure;
use codeyard_model::uri::encode_path;

/// One question.
pub(super) struct Question {
    /// The workspace, which is its folder's name.
    pub workspace: &'static str,
    /// The tool of `lsp-v1`.
    pub tool: &'static str,
    /// In words.
    pub words: &'static str,
    /// What it is about.
    pub about: About,
    /// A text that a right answer holds, beside its summary.
    pub expects: &'static str,
}

/// What a question is about.
pub(super) enum About {
    /// A symbol in a line of a file: file, a text of the line, the symbol in that text.
    Symbol(&'static str, &'static str, &'static str),
    /// A file.
    File(&'static str),
    /// Symbols by name.
    Query(&'static str),
    /// Everything.
    Workspace,
}

/// All of them, in the order they are asked.
pub(super) const QUESTIONS: [Question; 7] = [
    Question {
        workspace: "c",
        tool: "vscode.lsp.definition",
        words: "Where is `yard_simulate` defined, which src/main.c calls?",
        about: About::Symbol("src/main.c", "yard_simulate(&yard", "yard_simulate"),
        expects: "src/yard.c",
    },
    Question {
        workspace: "typescript",
        tool: "vscode.lsp.references",
        words: "Who uses the class `Cycle` of src/graph.ts?",
        about: About::Symbol("src/graph.ts", "class Cycle<T", "Cycle"),
        expects: "src/sheet.ts",
    },
    Question {
        workspace: "c",
        tool: "vscode.lsp.hover",
        words: "What is `train_uncouple`, called in src/main.c?",
        about: About::Symbol("src/main.c", "train_uncouple(yard_find", "train_uncouple"),
        expects: "train_uncouple",
    },
    Question {
        workspace: "python",
        tool: "vscode.lsp.documentSymbols",
        words: "What is in larder/items.py?",
        about: About::File("larder/items.py"),
        expects: "Perishable",
    },
    Question {
        workspace: "typescript",
        tool: "vscode.lsp.workspaceSymbols",
        words: "Where are symbols called like `Evaluator`?",
        about: About::Query("Evaluator"),
        expects: "src/evaluate.ts",
    },
    Question {
        workspace: "c",
        tool: "vscode.lsp.diagnostics.document",
        words: "What is wrong in src/broken.c?",
        about: About::File("src/broken.c"),
        expects: "carcount",
    },
    Question {
        workspace: "python",
        tool: "vscode.lsp.diagnostics.workspace",
        words: "What is wrong anywhere in the Python workspace?",
        about: About::Workspace,
        expects: "larder/broken.py",
    },
];

impl Question {
    /// The arguments of the call, for samples in the folder `samples`.
    pub(super) fn arguments(&self, samples: &Path) -> Result<Value, Failure> {
        let folder = samples.join(self.workspace);
        let (file, position) = match self.about {
            About::Query(query) => return Ok(json!({"query": query, "pageSize": 10})),
            About::Workspace => return Ok(json!({"pageSize": 10})),
            About::File(file) => (file, None),
            About::Symbol(file, line, symbol) => {
                let path = folder.join(file);
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| Failure::new(format!("{} can't be read: {error}", path.display())))?;
                let found = position_of(&text, line, symbol);
                let position = found.ok_or_else(|| {
                    Failure::new(format!("{} has no `{line}` any more; take the sample back from git", path.display()))
                })?;
                (file, Some(position))
            }
        };
        let uri = encode_path(&folder.join(file));
        Ok(match position {
            Some((line, character)) => json!({"uri": uri, "position": {"line": line, "character": character}}),
            None => json!({ "uri": uri }),
        })
    }

    /// Whether the answer may still become a right one: it grows while files are looked at in the background.
    pub(super) fn may_grow(&self) -> bool {
        matches!(self.about, About::Workspace)
    }

    /// Whether an answer holds what it should.
    pub(super) fn is_right(&self, content: &Value) -> bool {
        let fields = content.as_object().into_iter().flatten();
        // The question's own uri comes back in some answers, so only lists count.
        fields.filter(|(_, value)| value.is_array()).any(|(_, value)| holds(value, self.expects))
    }
}

/// Line and UTF-16 column of `symbol` in the first place of `text` that reads `line`.
fn position_of(text: &str, line: &str, symbol: &str) -> Option<(usize, usize)> {
    let at = text.find(line)? + line.find(symbol)?;
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    Some((before.matches('\n').count(), before[start..].encode_utf16().count()))
}

fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found.contains(text),
        Value::Array(items) => items.iter().any(|item| holds(item, text)),
        Value::Object(fields) => fields.values().any(|item| holds(item, text)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_tool_once_in_three_languages_and_every_position_is_there() {
        let tools: BTreeSet<&str> = QUESTIONS.iter().map(|question| question.tool).collect();
        let workspaces: BTreeSet<&str> = QUESTIONS.iter().map(|question| question.workspace).collect();
        assert_eq!((tools.len(), workspaces.len()), (7, 3));
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workspaces");
        for question in &QUESTIONS {
            question.arguments(&samples).unwrap();
        }
    }

    #[test]
    fn columns_count_utf16_units() {
        assert_eq!(position_of("a\n\t𝒳é fill(x)\n", "fill(x)", "x"), Some((1, 10)));
        assert_eq!(position_of("a", "b", "b"), None);
    }

    #[test]
    fn a_right_answer_holds_the_text_in_a_list() {
        let question = &QUESTIONS[0];
        assert!(question.is_right(&json!({"locations": [{"uri": "file:///x/src/yard.c"}]})));
        for wrong in [json!({"locations": []}), json!({"summary": "src/yard.c"}), json!({"uri": "src/yard.c"})] {
            assert!(!question.is_right(&wrong), "{wrong}");
        }
    }
}
