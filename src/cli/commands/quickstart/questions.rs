//! The seven questions of the quickstart: one for each tool, spread over the three sample workspaces.
//!
//! Positions are found by the text of a line, so that the samples can change without this file.

use std::path::Path;

use serde_json::{Value, json};

use crate::Failure;
use codeyard_model::uri::encode_path;

/// One question with its expected answer.
pub(super) struct SampleQuestion {
    /// The workspace; also the name of its folder.
    pub workspace: &'static str,
    /// The tool of `lsp-v1`.
    pub tool: &'static str,
    /// The question as a sentence.
    pub words: &'static str,
    pub about: QuestionSubject,
    /// A text that a right answer contains outside its summary.
    pub expects: &'static str,
}

pub(super) enum QuestionSubject {
    /// A symbol: the file, a text in the file, the symbol in that text.
    Symbol(&'static str, &'static str, &'static str),
    File(&'static str),
    /// Symbols that match a query.
    Query(&'static str),
    /// The whole workspace.
    Workspace,
}

/// All questions, in the order they are asked.
pub(super) const QUESTIONS: [SampleQuestion; 7] = [
    SampleQuestion {
        workspace: "c",
        tool: "vscode.lsp.definition",
        words: "Where is `yard_simulate` defined, which src/main.c calls?",
        about: QuestionSubject::Symbol("src/main.c", "yard_simulate(&yard", "yard_simulate"),
        expects: "src/yard.c",
    },
    SampleQuestion {
        workspace: "typescript",
        tool: "vscode.lsp.references",
        words: "Who uses the class `Cycle` of src/graph.ts?",
        about: QuestionSubject::Symbol("src/graph.ts", "class Cycle<T", "Cycle"),
        expects: "src/sheet.ts",
    },
    SampleQuestion {
        workspace: "c",
        tool: "vscode.lsp.hover",
        words: "What is `train_uncouple`, called in src/main.c?",
        about: QuestionSubject::Symbol("src/main.c", "train_uncouple(yard_find", "train_uncouple"),
        expects: "train_uncouple",
    },
    SampleQuestion {
        workspace: "python",
        tool: "vscode.lsp.documentSymbols",
        words: "What is in larder/items.py?",
        about: QuestionSubject::File("larder/items.py"),
        expects: "Perishable",
    },
    SampleQuestion {
        workspace: "typescript",
        tool: "vscode.lsp.workspaceSymbols",
        words: "Where are symbols called like `Evaluator`?",
        about: QuestionSubject::Query("Evaluator"),
        expects: "src/evaluate.ts",
    },
    SampleQuestion {
        workspace: "c",
        tool: "vscode.lsp.diagnostics.document",
        words: "What is wrong in src/broken.c?",
        about: QuestionSubject::File("src/broken.c"),
        expects: "carcount",
    },
    SampleQuestion {
        workspace: "python",
        tool: "vscode.lsp.diagnostics.workspace",
        words: "What is wrong anywhere in the Python workspace?",
        about: QuestionSubject::Workspace,
        expects: "larder/broken.py",
    },
];

impl SampleQuestion {
    /// The arguments of the call, for sample workspaces in the folder `samples`.
    pub(super) fn arguments(&self, samples: &Path) -> Result<Value, Failure> {
        let folder = samples.join(self.workspace);
        let (file, position) = match self.about {
            QuestionSubject::Query(query) => return Ok(json!({"query": query, "pageSize": 10})),
            QuestionSubject::Workspace => return Ok(json!({"pageSize": 10})),
            QuestionSubject::File(file) => (file, None),
            QuestionSubject::Symbol(file, line, symbol) => {
                let path = folder.join(file);
                let text = std::fs::read_to_string(&path).map_err(|error| {
                    Failure::new(format!("cannot read {}: {error}; restore the sample with git", path.display()))
                })?;
                let found = position_of(&text, line, symbol);
                let position = found.ok_or_else(|| {
                    Failure::new(format!("{} does not contain `{line}`; restore the sample with git", path.display()))
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

    /// Whether a later answer may contain more: diagnostics of a workspace grow while files are checked in the background.
    pub(super) fn may_grow(&self) -> bool {
        matches!(self.about, QuestionSubject::Workspace)
    }

    /// Whether an answer contains the expected text.
    pub(super) fn is_right(&self, content: &Value) -> bool {
        let fields = content.as_object().into_iter().flatten();
        // Some answers repeat the uri of the question, so only lists count.
        fields.filter(|(_, value)| value.is_array()).any(|(_, value)| contains(value, self.expects))
    }
}

/// Line and UTF-16 column of `symbol` in the first occurrence of `line` in `text`.
fn position_of(text: &str, line: &str, symbol: &str) -> Option<(usize, usize)> {
    let at = text.find(line)? + line.find(symbol)?;
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    Some((before.matches('\n').count(), before[start..].encode_utf16().count()))
}

fn contains(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found.contains(text),
        Value::Array(items) => items.iter().any(|item| contains(item, text)),
        Value::Object(fields) => fields.values().any(|item| contains(item, text)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_tool_is_asked_once_and_every_position_exists() {
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
    fn a_right_answer_contains_the_text_in_a_list() {
        let question = &QUESTIONS[0];
        assert!(question.is_right(&json!({"locations": [{"uri": "file:///x/src/yard.c"}]})));
        for wrong in [json!({"locations": []}), json!({"summary": "src/yard.c"}), json!({"uri": "src/yard.c"})] {
            assert!(!question.is_right(&wrong), "{wrong}");
        }
    }
}
