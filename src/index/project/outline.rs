//! File outlines: the symbols of a file as a tree.

use super::refusals::no_index;
use super::source_reader::SourceReader;
use super::symbol_search::refuse_store_error;
use super::{Project, QueryContext};
use crate::classify::Provenance;
use crate::facts::{Facts, Symbol};
use codeyard_model::code::{CodeError, CodeRefusal, Completeness, Outline, OutlineDepth, OutlineQuery, OutlineSymbol};

impl Project {
    /// `get_file_outline`.
    ///
    /// # Errors
    /// Those of `docs/internals/reference/contract-code.md#errors`.
    pub fn outline(&self, query: &OutlineQuery) -> Result<Outline, Box<CodeRefusal>> {
        let context = self.query_context(query.reference.as_deref(), query.freshness)?;
        let Some(path) = self.relative_path(&query.path) else { return Err(outside(&context)) };
        let entry = context.view.as_ref().and_then(|view| Some((view, view.manifest.find(path)?.clone())));
        let Some((view, entry)) = entry else { return Err(not_found(&query.path, &context)) };
        let facts =
            context.facts(&self.facts, view, entry.content).map_err(|error| refuse_store_error(&error, &context))?;
        let mut metadata = context.metadata.clone();
        if facts.is_too_complex {
            metadata.warnings.push("This file is too complex to parse; it is searched as text only.".to_owned());
            metadata.completeness = Completeness::Partial;
        } else if facts.has_errors {
            metadata.warnings.push("This file has syntax errors; symbols may be missing.".to_owned());
        }
        if entry.class.provenance == Provenance::Minified {
            metadata.warnings.push("This file is minified; it is searched as text only.".to_owned());
            metadata.completeness = Completeness::Partial;
        } else if entry.language.is_some() && entry.size > self.settings().sizes.parsed {
            metadata.warnings.push("This file is too large to parse; it is searched as text only.".to_owned());
            metadata.completeness = Completeness::Partial;
        }
        let hash = context.store.as_ref().map(|store| store.hash_of(entry.content)).transpose();
        if let Some(hash) = hash.map_err(|error| refuse_store_error(&error, &context))?.flatten() {
            let mut sources = SourceReader::new(self);
            sources.is_unchanged(view, &entry, &hash);
            metadata.warnings.extend(sources.warnings());
        }
        Ok(Outline {
            path: entry.path.to_string(),
            root: self.root_in_rows(),
            workspace: None,
            language: entry.language.map(crate::Language::name),
            depth: query.depth,
            symbols: symbol_tree(&facts, query.depth),
            asked: query.into(),
            metadata,
        })
    }

    /// The path relative to the root; `None`: it is outside the root.
    fn relative_path<'p>(&self, path: &'p str) -> Option<&'p str> {
        let path = match path.starts_with('/') {
            true => path.strip_prefix(self.root.to_str()?)?.strip_prefix('/')?,
            false => path,
        };
        (!leaves_root(path)).then(|| path.strip_prefix("./").unwrap_or(path))
    }
}

/// Whether a relative path climbs out of the folder that it starts from.
fn leaves_root(path: &str) -> bool {
    let below = |depth: usize, part| match part {
        "" | "." => Some(depth),
        ".." => depth.checked_sub(1),
        _ => Some(depth + 1),
    };
    path.split('/').try_fold(0, below).is_none()
}

/// The refusal of a path outside the root. It doesn't repeat the path.
fn outside(context: &QueryContext) -> Box<CodeRefusal> {
    let message = "The path lies outside the roots of this workspace. Give a path relative to a root, or serve the folder that holds the file: \
                   `codeyard serve --root DIR`.";
    Box::new(CodeRefusal::new(CodeError::ProjectNotFound, message).with_metadata(context.metadata.clone()))
}

fn not_found(path: &str, context: &QueryContext) -> Box<CodeRefusal> {
    if context.view.is_none() {
        return no_index(context);
    }
    let shown: String = path.chars().take(200).collect();
    let message = format!(
        "No file '{shown}' is indexed at this ref. Give a path relative to the root; search_code with the file name finds it. \
         Ignored, binary and overlarge files are not indexed; index_status counts them."
    );
    Box::new(CodeRefusal::new(CodeError::FileNotFound, message).with_metadata(context.metadata.clone()))
}

/// The top-level symbols, each with its children.
fn symbol_tree(facts: &Facts, depth: OutlineDepth) -> Vec<OutlineSymbol> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); facts.symbols.len()];
    let mut top = Vec::new();
    for (at, symbol) in facts.symbols.iter().enumerate() {
        // A parent must precede its children, or the tree would have a cycle.
        match symbol.parent.map(|parent| parent as usize).filter(|parent| *parent < at) {
            Some(parent) => children[parent].push(at),
            None => top.push(at),
        }
    }
    // From last to first, so that a symbol's children are complete before its parent takes it.
    let mut built: Vec<Option<OutlineSymbol>> =
        facts.symbols.iter().map(|symbol| Some(outline_symbol(symbol))).collect();
    if depth == OutlineDepth::All {
        for at in (0..facts.symbols.len()).rev() {
            let own: Vec<OutlineSymbol> = children[at].iter().filter_map(|child| built[*child].take()).collect();
            if let Some(symbol) = &mut built[at] {
                symbol.children = own;
            }
        }
    }
    top.into_iter().filter_map(|at| built[at].take()).collect()
}

fn outline_symbol(symbol: &Symbol) -> OutlineSymbol {
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
