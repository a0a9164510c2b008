//! Handlers of requests about a position, a document or a name: definition, references, hover, implementation, symbols.
//!
//! They answer by name and scope. Invariant: lists are bounded and ordered by likelihood or by place, so that the same index gives the
//! same answer.

use std::collections::BTreeSet;
use std::path::Path;

use async_lsp::lsp_types as lsp;

use super::conversion::{PositionConverter, hover_markdown, lsp_kind};
use super::cursor_context::{CursorContext, cursor_context};
use super::fact_source::{FactSource, SyntacticError};
use super::name_resolution::resolve;
use super::usages::local_places;
use codeyard_index::project::navigator::{FileFacts, SymbolRef};
use codeyard_index::{Facts, ReferenceRole};
use codeyard_lsp::text::encoding::{PositionEncoding, from_server};
use codeyard_model::code::SymbolKind;
use codeyard_model::position::Position;

/// Definitions that one of its hovers shows.
const MAX_HOVERED_DEFINITIONS: usize = 5;

/// What every handler needs: the facts, the root, and the encoding of positions.
#[derive(Clone, Copy)]
pub(crate) struct HandlerContext<'d> {
    /// The facts and texts to answer from.
    pub source: &'d dyn FactSource,
    /// The root that paths are relative to.
    pub root: &'d Path,
    /// The position encoding that `initialize` negotiated.
    pub encoding: PositionEncoding,
}

/// The word at the cursor.
pub(crate) struct CursorWord {
    pub file: FileFacts,
    /// The word and what surrounds it.
    pub cursor: CursorContext,
}

impl HandlerContext<'_> {
    /// The path of a document, relative to the root.
    ///
    /// # Errors
    /// The document lies outside the root.
    pub(crate) fn path(&self, uri: &lsp::Url) -> Result<String, SyntacticError> {
        relative_path(self.root, uri)
            .ok_or_else(|| SyntacticError::InvalidParams("the document lies outside the root".into()))
    }

    /// The document at a path, relative to the root.
    pub(crate) fn uri(&self, path: &str) -> Result<lsp::Url, SyntacticError> {
        lsp::Url::from_file_path(self.root.join(path))
            .map_err(|()| SyntacticError::Failed("the root path has no file URI".into()))
    }

    /// The file at a path, relative to the root; `None`: it isn't indexed.
    ///
    /// # Errors
    /// The file is too complex to parse, the build has no grammar for its language, or those of the fact source.
    fn parsed_file(&self, path: &str) -> Result<Option<FileFacts>, SyntacticError> {
        match self.source.file(path)? {
            Some(file) if file.facts.is_too_complex => Err(SyntacticError::Failed(format!(
                "{path} is too complex to parse: it nests too deeply or is ambiguous in too many places; search its text instead"
            ))),
            Some(FileFacts { language: Some(language), .. }) if !language.has_grammar() => {
                Err(SyntacticError::Failed(format!(
                    "{path} isn't parsed: this build has no grammar for {}; search its text instead, or build codeyard with the feature \
                 `all-languages`",
                    language.name()
                )))
            }
            file => Ok(file),
        }
    }

    /// The word at a position; `None`: the file isn't indexed, or there is no word.
    ///
    /// # Errors
    /// Those of the fact source.
    pub(crate) fn word_at(&self, at: &lsp::TextDocumentPositionParams) -> Result<Option<CursorWord>, SyntacticError> {
        let path = self.path(&at.text_document.uri)?;
        let (Some(file), Some(document)) = (self.parsed_file(&path)?, self.source.text(&path)) else {
            return Ok(None);
        };
        let position = Position { line: at.position.line, character: at.position.character };
        let position = from_server(&document, position, self.encoding);
        Ok(cursor_context(&file, &document, position).map(|cursor| CursorWord { file, cursor }))
    }

    fn locations(&self, symbols: &[SymbolRef]) -> Result<Vec<lsp::Location>, SyntacticError> {
        let location = |(file, at): &SymbolRef| {
            let converter = PositionConverter::for_names(self.source, &file.path, self.encoding);
            Ok(lsp::Location::new(self.uri(&file.path)?, converter.name_range(&file.facts.symbols[*at])))
        };
        symbols.iter().map(location).collect()
    }

    /// `textDocument/definition`.
    ///
    /// # Errors
    /// Those of the fact source.
    pub(crate) fn definition(
        &self,
        at: &lsp::TextDocumentPositionParams,
    ) -> Result<Vec<lsp::Location>, SyntacticError> {
        let Some(word) = self.word_at(at)? else { return Ok(Vec::new()) };
        if let Some(places) = local_places(self.source, &word.file, &word.cursor) {
            return self.local_locations(&word, &places[..1]);
        }
        self.locations(&resolve(self.source, &word.file, &word.cursor)?)
    }

    /// `textDocument/declaration`: the declarations without a body; the definitions, if there are none.
    ///
    /// # Errors
    /// Those of the fact source.
    pub(crate) fn declaration(
        &self,
        at: &lsp::TextDocumentPositionParams,
    ) -> Result<Vec<lsp::Location>, SyntacticError> {
        let Some(word) = self.word_at(at)? else { return Ok(Vec::new()) };
        if let Some(places) = local_places(self.source, &word.file, &word.cursor) {
            return self.local_locations(&word, &places[..1]);
        }
        let definitions = resolve(self.source, &word.file, &word.cursor)?;
        let mut declarations = self.source.definitions(&word.cursor.word)?;
        declarations.retain(|(file, at)| {
            let symbol = &file.facts.symbols[*at];
            !symbol.is_definition && symbol.kind != SymbolKind::Use && word.file.shares_names_with(file)
        });
        self.locations(if declarations.is_empty() { &definitions } else { &declarations })
    }

    /// The files of related languages that mention a word.
    pub(super) fn related_files(&self, current: &FileFacts, word: &str) -> Result<Vec<FileFacts>, SyntacticError> {
        let mut files = self.source.files_mentioning(word)?;
        files.retain(|file| current.shares_names_with(file));
        Ok(files)
    }

    /// `textDocument/hover`: the signatures and comments of the symbols that the word may refer to.
    ///
    /// # Errors
    /// Those of the fact source.
    pub(crate) fn hover(&self, at: &lsp::TextDocumentPositionParams) -> Result<Option<lsp::Hover>, SyntacticError> {
        let Some(word) = self.word_at(at)? else { return Ok(None) };
        if let Some(places) = local_places(self.source, &word.file, &word.cursor) {
            return Ok(self.local_hover(&word, &places[0]));
        }
        let CursorWord { file: current, cursor } = word;
        let found = resolve(self.source, &current, &cursor)?;
        if found.is_empty() {
            return Ok(None);
        }
        let mut texts: Vec<String> = Vec::new();
        for (file, at) in &found {
            let text = hover_markdown(file, &file.facts.symbols[*at]);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let more = texts.len().saturating_sub(MAX_HOVERED_DEFINITIONS);
        texts.truncate(MAX_HOVERED_DEFINITIONS);
        if more > 0 {
            texts.push(format!("{more} more definitions with this name."));
        }
        let contents = lsp::HoverContents::Markup(lsp::MarkupContent {
            kind: lsp::MarkupKind::Markdown,
            value: texts.join("\n\n---\n\n"),
        });
        Ok(Some(lsp::Hover { contents, range: Some(self.word_range(&current, &cursor)) }))
    }

    pub(super) fn word_range(&self, file: &FileFacts, cursor: &CursorContext) -> lsp::Range {
        let converter = PositionConverter::for_names(self.source, &file.path, self.encoding);
        converter.word_range(cursor.line + 1, cursor.column, &cursor.word)
    }

    /// `textDocument/implementation`: the subtypes of a type; for a member, the members of the same name in subtypes.
    ///
    /// # Errors
    /// Those of the fact source.
    pub(crate) fn implementation(
        &self,
        at: &lsp::TextDocumentPositionParams,
    ) -> Result<Vec<lsp::Location>, SyntacticError> {
        let Some(CursorWord { file: current, cursor }) = self.word_at(at)? else { return Ok(Vec::new()) };
        let mut found: Vec<SymbolRef> = Vec::new();
        let mut seen = BTreeSet::new();
        for (file, at) in resolve(self.source, &current, &cursor)? {
            let symbol = &file.facts.symbols[at];
            let is_type = matches!(
                symbol.kind,
                SymbolKind::Class | SymbolKind::Interface | SymbolKind::Trait | SymbolKind::Struct | SymbolKind::Type
            );
            let new = if is_type {
                self.subtypes(&file, &symbol.name)?
            } else if let Some(base) = file.facts.owning_type(at) {
                self.subtype_members(&file, base, &symbol.name)?
            } else {
                Vec::new()
            };
            found.extend(new.into_iter().filter(|(file, at)| seen.insert((file.path.clone(), *at))));
        }
        self.locations(&found)
    }

    /// The symbols that extend or implement `base`.
    fn subtypes(&self, current: &FileFacts, base: &str) -> Result<Vec<SymbolRef>, SyntacticError> {
        let mut found = Vec::new();
        for file in self.related_files(current, base)? {
            let bases = file.facts.references.iter().filter(|one| one.role == ReferenceRole::Base && one.name == base);
            let subtypes: BTreeSet<usize> = bases.filter_map(|one| Some(one.within? as usize)).collect();
            found.extend(subtypes.into_iter().filter(|at| *at < file.facts.symbols.len()).map(|at| (file.clone(), at)));
        }
        Ok(found)
    }

    fn subtype_members(&self, current: &FileFacts, base: &str, member: &str) -> Result<Vec<SymbolRef>, SyntacticError> {
        let mut found = Vec::new();
        for (file, subtype) in self.subtypes(current, base)? {
            let symbols = &file.facts.symbols;
            let name = &symbols[subtype].name;
            let is_member = |at: &usize| {
                let symbol = &symbols[*at];
                symbol.name == member
                    && (symbol.parent == u32::try_from(subtype).ok() || symbol.scope.as_deref() == Some(name))
            };
            let members: Vec<usize> = (0..symbols.len()).filter(is_member).collect();
            found.extend(members.into_iter().map(|at| (file.clone(), at)));
        }
        Ok(found)
    }

    /// `workspace/symbol`.
    ///
    /// # Errors
    /// Those of the fact source.
    pub(crate) fn symbols(&self, query: &str) -> Result<Vec<lsp::SymbolInformation>, SyntacticError> {
        if query.trim().is_empty() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for (file, at) in self.source.search(query)? {
            let symbol = &file.facts.symbols[at];
            if symbol.kind == SymbolKind::Use || !name_matches(&symbol.name, query) {
                continue;
            }
            let converter = PositionConverter::for_names(self.source, &file.path, self.encoding);
            let parent = symbol.parent.and_then(|parent| file.facts.symbols.get(parent as usize));
            #[expect(deprecated, reason = "a struct literal must set every field")]
            found.push(lsp::SymbolInformation {
                name: symbol.name.clone(),
                kind: lsp_kind(symbol.kind),
                tags: None,
                deprecated: None,
                location: lsp::Location::new(self.uri(&file.path)?, converter.name_range(symbol)),
                container_name: symbol.scope.clone().or_else(|| parent.map(|parent| parent.name.clone())),
            });
        }
        Ok(found)
    }

    /// `textDocument/documentSymbol`: the symbols of a file as a tree, without imports.
    ///
    /// # Errors
    /// Those of the fact source.
    pub(crate) fn document_symbols(&self, uri: &lsp::Url) -> Result<Vec<lsp::DocumentSymbol>, SyntacticError> {
        let path = self.path(uri)?;
        let Some(file) = self.parsed_file(&path)? else { return Ok(Vec::new()) };
        let converter = PositionConverter::with_text(self.source, &path, self.encoding);
        Ok(nest_symbols(&file.facts, &converter))
    }
}

/// Whether a name contains the last part of the query. Ignores case and separators.
fn name_matches(name: &str, query: &str) -> bool {
    let plain =
        |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect() };
    let last = query.rsplit([':', '.', '/', '#']).next().unwrap_or(query);
    plain(name).contains(&plain(last))
}

/// The path of a document relative to a root; `None`: it isn't below the root.
pub(crate) fn relative_path(root: &Path, uri: &lsp::Url) -> Option<String> {
    let path = uri.to_file_path().ok()?;
    let rest = path.strip_prefix(root).ok()?.to_str()?;
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// The symbols of a file with this name: their index, and the line and column of the name.
pub(super) fn symbols_named<'f>(facts: &'f Facts, word: &'f str) -> impl Iterator<Item = (usize, (u32, u32))> + 'f {
    let is_match = move |at: &usize| facts.symbols[*at].name == word && facts.symbols[*at].kind != SymbolKind::Use;
    (0..facts.symbols.len())
        .filter(is_match)
        .map(|at| (at, (facts.symbols[at].name_line, facts.symbols[at].name_column)))
}

fn nest_symbols(facts: &Facts, converter: &PositionConverter) -> Vec<lsp::DocumentSymbol> {
    let mut children: Vec<Vec<lsp::DocumentSymbol>> = facts.symbols.iter().map(|_| Vec::new()).collect();
    let mut top = Vec::new();
    // From last to first: a parent precedes its children, so its children are complete when the loop gets to it.
    for (at, symbol) in facts.symbols.iter().enumerate().rev() {
        if symbol.kind == SymbolKind::Use {
            continue;
        }
        let mut own_children = std::mem::take(&mut children[at]);
        own_children.reverse();
        #[expect(deprecated, reason = "a struct literal must set every field")]
        let document_symbol = lsp::DocumentSymbol {
            name: symbol.name.clone(),
            detail: Some(symbol.signature.clone()).filter(|signature| !signature.is_empty()),
            kind: lsp_kind(symbol.kind),
            tags: None,
            deprecated: None,
            range: converter.symbol_range(symbol),
            selection_range: converter.name_range(symbol),
            children: (!own_children.is_empty()).then_some(own_children),
        };
        match symbol.parent.map(|parent| parent as usize).filter(|parent| *parent < at) {
            Some(parent) => children[parent].push(document_symbol),
            None => top.push(document_symbol),
        }
    }
    top.reverse();
    top
}

#[cfg(test)]
#[path = "handlers/tests.rs"]
mod tests;
