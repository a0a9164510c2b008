//! Names of symbols in files that were links a short while ago.
//!
//! Such a name may come from a file outside the roots that the link led to. Invariant: an answer has no name of such a file of which no
//! word is in the file as it is read through the gate.

use std::collections::{BTreeMap, HashSet};

use codeyard_files::gate::Gate;
use codeyard_lsp::limits::MAX_DOCUMENT_BYTES;
use codeyard_model::error::{CallPhase, ToolError};
use codeyard_model::uri::CanonicalUri;

/// When to ask again, in milliseconds: the language server learns of the change meanwhile.
const RETRY_MS: u64 = 1_000;

/// Checks names of symbols, each with its file.
///
/// # Errors
/// CAP_EXCEEDED with the reason `timeout`: the language server answers from something else than the file.
pub(super) fn check<'a>(
    gate: &Gate,
    entries: impl Iterator<Item = (&'a CanonicalUri, &'a str)>,
) -> Result<(), ToolError> {
    let mut known: BTreeMap<&CanonicalUri, Option<HashSet<String>>> = BTreeMap::new();
    for (uri, name) in entries {
        let words_of_file = known.entry(uri).or_insert_with(|| {
            let bytes = gate.was_link(uri).then(|| gate.read(uri, MAX_DOCUMENT_BYTES));
            let text = bytes.map(|read| read.map(|(bytes, _)| bytes).unwrap_or_default())?;
            let path = uri.to_path();
            let both = [path.to_string_lossy(), String::from_utf8_lossy(&text)];
            Some(both.iter().flat_map(|text| words(text)).map(str::to_owned).collect())
        });
        let is_there = |words_of_file: &HashSet<String>| {
            let mut all = words(name).peekable();
            all.peek().is_none() || all.any(|word| words_of_file.contains(word))
        };
        if words_of_file.as_ref().is_some_and(|words_of_file| !is_there(words_of_file)) {
            return Err(ToolError::timeout(CallPhase::Answering, None, RETRY_MS));
        }
    }
    Ok(())
}

/// The identifiers and numbers in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}
