//! Symbols of the workspace that only import a name: zuban lists them beside the definition.
//!
//! A place counts as an import if its file's grammar sees one there and no definition. Invariant: what can't be read stays listed.

use std::collections::BTreeMap;
use std::sync::Arc;

use codeyard_files::gate::Gate;
use codeyard_index::extract::extract;
use codeyard_index::{Facts, Language};
use codeyard_model::code::SymbolKind;
use codeyard_model::symbol::RawWorkspaceSymbol;
use codeyard_model::uri::UriAdmission;

/// Files that are read for the symbols of one answer.
const MAX_FILES: usize = 200;
/// Largest of them, in bytes.
const MAX_FILE_BYTES: usize = 2 * 1024 * 1024;

/// The symbols without those that are imports. Blocks.
pub fn without_imports(gate: &Gate, mut symbols: Vec<RawWorkspaceSymbol>) -> Vec<RawWorkspaceSymbol> {
    let mut files: BTreeMap<Arc<str>, Option<Facts>> = BTreeMap::new();
    symbols.retain(|symbol| {
        if !files.contains_key(&symbol.uri) {
            let facts = if files.len() < MAX_FILES { facts(gate, &symbol.uri) } else { None };
            files.insert(symbol.uri.clone(), facts);
        }
        let line = symbol.range.start.line + 1;
        !files.get(&symbol.uri).and_then(Option::as_ref).is_some_and(|facts| is_import(facts, &symbol.name, line))
    });
    symbols
}

fn facts(gate: &Gate, uri: &str) -> Option<Facts> {
    let UriAdmission::Inside(uri) = gate.admit(uri) else { return None };
    let (bytes, _) = gate.read(&uri, MAX_FILE_BYTES).ok()?;
    let language = Language::of_file(uri.to_path().to_str()?, &bytes)?;
    Some(extract(language, &String::from_utf8_lossy(&bytes)))
}

fn is_import(facts: &Facts, name: &str, line: u32) -> bool {
    let is_use = |kind: SymbolKind| kind == SymbolKind::Use;
    let imports = facts.symbols.iter().any(|one| is_use(one.kind) && (one.line_start..=one.line_end).contains(&line));
    imports && !facts.symbols.iter().any(|one| !is_use(one.kind) && one.name_line == line && one.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_model::position::Range;

    #[test]
    fn imports_go_and_definitions_stay() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let gate = Gate::open(std::slice::from_ref(&root), &[]).unwrap();
        std::fs::write(root.join("a.py"), "from b import (\n    run,\n)\n\ndef run2(): pass\n").unwrap();
        let symbol = |file: &str, name: &str, line: u32| RawWorkspaceSymbol {
            name: name.into(),
            kind: 13,
            uri: format!("file://{}/{file}", root.display()).into(),
            range: Range::new(line, 0, line, 1),
            container_name: None,
        };
        let listed = vec![symbol("a.py", "run", 1), symbol("a.py", "run2", 4), symbol("gone.py", "run", 0)];
        let kept: Vec<String> = without_imports(&gate, listed).into_iter().map(|one| one.name).collect();
        assert_eq!(kept, ["run2", "run"]);
    }
}
