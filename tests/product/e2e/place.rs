//! Copies of the sample workspaces, and a query for each with one correct answer.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::mcp::Mcp;
use crate::running_server::listing;
use codeyard_test_support::real_servers::copy_sample;

/// A copy of a sample workspace.
pub(crate) struct Place {
    pub root: PathBuf,
    sample: &'static str,
    before: BTreeMap<PathBuf, String>,
    _folder: tempfile::TempDir,
}

impl Place {
    /// A fresh copy of `sample`.
    pub(crate) fn new(sample: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("a path").join(sample);
        copy_sample(sample, &root);
        let before = listing(&root);
        Self { root, sample, before, _folder: folder }
    }

    /// A configuration with it as the workspace of its sample's name.
    pub(crate) fn workspace(&self) -> String {
        format!("[[workspace]]\nname = {:?}\nroots = [{:?}]\n", self.sample, self.root)
    }

    /// Arguments of `vscode.lsp.definition` at a use of a symbol, and the file and line of its definition.
    pub(crate) fn definition(&self) -> (Value, &'static str, u64) {
        let (used, text, word, defined, beginning) = match self.sample {
            "python" => ("larder/pricing.py", "Item", "Item", "larder/items.py", "class Item("),
            "typescript" => {
                ("src/nodes.ts", "readonly address: Address", "Address", "src/address.ts", "export class Address")
            }
            _ => ("src/main.c", "train_couple(train", "train_couple", "src/train.c", "enum status train_couple("),
        };
        let find = |file: &str, text: &str| {
            let content = fs::read_to_string(self.root.join(file)).expect("UTF-8");
            let at = content.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text} in {file}"));
            (at as u64, content.lines().nth(at).expect("a line").to_owned())
        };
        let (line, content) = find(used, text);
        let before = &content[..content.find(text).expect("it is there") + text.find(word).expect("it is there")];
        let position = json!({"line": line, "character": before.encode_utf16().count() + 1});
        let uri = format!("file://{}", self.root.join(used).display());
        (json!({"uri": uri, "position": position}), defined, find(defined, beginning).0)
    }

    /// Whether this answer to [`Place::definition`] is correct.
    pub(crate) fn is_right(&self, answer: &Value) -> bool {
        let (_, file, line) = self.definition();
        let uri = format!("file://{}", self.root.join(file).display());
        let right =
            |location: &Value| location["uri"] == json!(uri) && location["range"]["start"]["line"] == json!(line);
        answer["locations"].as_array().is_some_and(|locations| locations.iter().any(right))
    }

    /// Asserts that this answer to [`Place::definition`] is correct.
    pub(crate) fn assert_right(&self, answer: &Value) {
        let (_, file, line) = self.definition();
        assert!(self.is_right(answer), "{file}:{line} in {answer}");
    }

    /// Requests the definition and checks the answer.
    pub(crate) fn ask(&self, client: &mut Mcp) {
        let answer = client.ask("vscode.lsp.definition", &self.definition().0).expect("an answer");
        self.assert_right(&answer);
    }

    /// Asserts that no file in it differs from the original copy.
    pub(crate) fn assert_untouched(&self) {
        assert_eq!(listing(&self.root), self.before, "something was written into the root");
    }
}
