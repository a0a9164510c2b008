//! What a file declares: its facts, nested.

use super::symbol_search::store_broken;
use super::{QueryContext, Project};
use crate::facts::{Facts, Symbol};
use codeyard_model::code::{CodeError, Completeness, OutlineDepth, Outline, OutlineQuery, OutlineSymbol, CodeRefusal};

impl Project {
    /// `get_file_outline`.
    ///
    /// # Errors
    /// As the contract's.
    pub fn outline(&self, query: &OutlineQuery) -> Result<Outline, Box<CodeRefusal>> {
        let here = self.here(query.reference.as_deref(), query.freshness)?;
        let path = self.below_root(&query.path);
        let entry =
            here.view.as_ref().zip(path).and_then(|(view, path)| Some((view, view.manifest.find(path)?.clone())));
        let Some((view, entry)) = entry else { return Err(not_found(&query.path, &here)) };
        let facts = here.facts(&self.facts, view, entry.content).map_err(|error| store_broken(&error, &here))?;
        let mut metadata = here.metadata.clone();
        if facts.has_errors {
            metadata.warnings.push("The parser met errors in this file; something may be missing.".to_owned());
        }
        if entry.language.is_some() && entry.size > self.settings().sizes.parsed {
            metadata.warnings.push("This file is too large to be parsed; it is searched as text only.".to_owned());
            metadata.completeness = Completeness::Partial;
        }
        Ok(Outline {
            path: entry.path.to_string(),
            root: self.shown_root(),
            language: entry.language.map(crate::Language::name),
            depth: query.depth,
            symbols: nested(&facts, query.depth),
            asked: query.into(),
            metadata,
        })
    }

    /// A path relative to the root, with `/` between and no dots; `None` for one that lies elsewhere.
    fn below_root<'p>(&self, path: &'p str) -> Option<&'p str> {
        let path = match path.strip_prefix(self.root.to_str()?) {
            Some(below) if path.starts_with('/') => below.strip_prefix('/')?,
            _ => path,
        };
        Some(path.strip_prefix("./").unwrap_or(path))
    }
}

fn not_found(path: &str, here: &QueryContext<'_>) -> Box<CodeRefusal> {
    let shown: String = path.chars().take(200).collect();
    let message = if here.view.is_some() {
        format!(
            "No file '{shown}' is indexed at this ref. Give a path relative to the root; search_code with the file's name finds it. \
             Ignored, binary, generated and overlarge files are not indexed; index_status counts them."
        )
    } else {
        "Nothing is indexed yet. Call index_repo, wait until index_status says ready, and ask again.".to_owned()
    };
    let code = if here.view.is_some() { CodeError::FileNotFound } else { CodeError::IndexNotReady };
    Box::new(CodeRefusal::new(code, message).beside(here.metadata.clone()))
}

/// The symbols at the top, each with what stands in it.
fn nested(facts: &Facts, depth: OutlineDepth) -> Vec<OutlineSymbol> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); facts.symbols.len()];
    let mut top = Vec::new();
    for (at, symbol) in facts.symbols.iter().enumerate() {
        // A parent stands before its children; anything else would never end.
        match symbol.parent.map(|parent| parent as usize).filter(|parent| *parent < at) {
            Some(parent) => children[parent].push(at),
            None => top.push(at),
        }
    }
    // From the last to the first: children are made before who takes them.
    let mut made: Vec<Option<OutlineSymbol>> = facts.symbols.iter().map(|symbol| Some(one(symbol))).collect();
    if depth == OutlineDepth::All {
        for at in (0..facts.symbols.len()).rev() {
            let own: Vec<OutlineSymbol> = children[at].iter().filter_map(|child| made[*child].take()).collect();
            if let Some(symbol) = &mut made[at] {
                symbol.children = own;
            }
        }
    }
    top.into_iter().filter_map(|at| made[at].take()).collect()
}

fn one(symbol: &Symbol) -> OutlineSymbol {
    OutlineSymbol {
        kind: symbol.kind,
        name: symbol.name.clone(),
        line_start: symbol.line_start,
        line_end: symbol.line_end,
        visibility: Some(symbol.marker.clone()).filter(|marker| !marker.is_empty()),
        signature: Some(symbol.signature.clone()).filter(|signature| !signature.is_empty()),
        children: Vec::new(),
    }
}
