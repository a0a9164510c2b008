//! Answers about a position, a document, or a name: definition, references, hover, implementation, symbols.
//!
//! All by name and scope. Invariant: lists are bounded, and ordered by what is likeliest meant or by place, so that the same index
//! gives the same answer.

use std::collections::BTreeSet;
use std::path::Path;

use async_lsp::lsp_types as lsp;

use super::library::{Library, Trouble, are_related};
use super::present::{Presenter, kind, markdown};
use super::resolve::{holder, resolve};
use super::spot::{Spot, spot};
use crate::limits::MAX_HOVERED_DEFINITIONS;
use codeyard_index::project::navigate::{Found, Known};
use codeyard_index::{Facts, Role};
use codeyard_lsp::encoding::{PositionEncoding, from_server};
use codeyard_model::code::SymbolKind;
use codeyard_model::limits::MAX_RAW_ITEMS_PAGED;
use codeyard_model::position::Position;

/// Who answers: the library, where it lies, and how positions are counted.
#[derive(Clone, Copy)]
pub(crate) struct Desk<'d> {
    /// See there.
    pub library: &'d dyn Library,
    /// The root that paths are relative to.
    pub root: &'d Path,
    /// As negotiated.
    pub encoding: PositionEncoding,
}

/// A word that was asked about.
pub(crate) struct Asked {
    /// Its file.
    pub known: Known,
    /// It.
    pub spot: Spot,
}

impl Desk<'_> {
    /// The path of a document, relative to the root.
    ///
    /// # Errors
    /// It lies elsewhere.
    pub(crate) fn path(&self, uri: &lsp::Url) -> Result<String, Trouble> {
        below(self.root, uri).ok_or_else(|| Trouble::Unasked("the document lies outside the root".into()))
    }

    /// The document at a path, relative to the root.
    pub(crate) fn uri(&self, path: &str) -> Result<lsp::Url, Trouble> {
        lsp::Url::from_file_path(self.root.join(path)).map_err(|()| Trouble::Failed("the root has no address".into()))
    }

    /// The word at a position, if there is one in a file that is known.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn asked(&self, at: &lsp::TextDocumentPositionParams) -> Result<Option<Asked>, Trouble> {
        let path = self.path(&at.text_document.uri)?;
        let (Some(known), Some(document)) = (self.library.file(&path)?, self.library.text(&path)) else {
            return Ok(None);
        };
        let position = Position { line: at.position.line, character: at.position.character };
        let position = from_server(&document, position, self.encoding);
        Ok(spot(&known, &document, position).map(|spot| Asked { known, spot }))
    }

    /// The places of symbols' names.
    fn locations(&self, found: &[Found]) -> Result<Vec<lsp::Location>, Trouble> {
        let place = |(known, at): &Found| {
            let presenter = Presenter::of_names(self.library, &known.path, self.encoding);
            Ok(lsp::Location::new(self.uri(&known.path)?, presenter.name(&known.facts.symbols[*at])))
        };
        found.iter().map(place).collect()
    }

    /// `textDocument/definition`.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn definition(&self, at: &lsp::TextDocumentPositionParams) -> Result<Vec<lsp::Location>, Trouble> {
        let Some(asked) = self.asked(at)? else { return Ok(Vec::new()) };
        self.locations(&resolve(self.library, &asked.known, &asked.spot)?)
    }

    /// `textDocument/declaration`: where it is announced; where it is written, if it isn't announced anywhere.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn declaration(&self, at: &lsp::TextDocumentPositionParams) -> Result<Vec<lsp::Location>, Trouble> {
        let Some(asked) = self.asked(at)? else { return Ok(Vec::new()) };
        let written = resolve(self.library, &asked.known, &asked.spot)?;
        let mut announced = self.library.defined(&asked.spot.word)?;
        announced.retain(|(file, at)| {
            let symbol = &file.facts.symbols[*at];
            !symbol.is_definition && symbol.kind != SymbolKind::Use && are_related(asked.known.language, file.language)
        });
        self.locations(if announced.is_empty() { &written } else { &announced })
    }

    /// `textDocument/references`: what is called so in related languages.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn references(
        &self,
        at: &lsp::TextDocumentPositionParams,
        with_declaration: bool,
    ) -> Result<Vec<lsp::Location>, Trouble> {
        let Some(Asked { known, spot }) = self.asked(at)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for file in self.related(&known, &spot.word)? {
            let presenter = Presenter::of_names(self.library, &file.path, self.encoding);
            let uri = self.uri(&file.path)?;
            let own: BTreeSet<(u32, u32)> = names(&file.facts, &spot.word).map(|(_, at)| at).collect();
            let mut ranges: Vec<lsp::Range> = file
                .facts
                .references
                .iter()
                .filter(|reference| reference.name == spot.word && !own.contains(&(reference.line, reference.column)))
                .map(|reference| presenter.reference(reference))
                .collect();
            if with_declaration {
                ranges.extend(names(&file.facts, &spot.word).map(|(at, _)| presenter.name(&file.facts.symbols[at])));
            }
            ranges.sort_by_key(|range| (range.start, range.end));
            ranges.dedup();
            found.extend(ranges.into_iter().map(|range| lsp::Location::new(uri.clone(), range)));
            if found.len() > MAX_RAW_ITEMS_PAGED {
                break;
            }
        }
        Ok(found)
    }

    /// The files of related languages that name a word.
    pub(super) fn related(&self, known: &Known, word: &str) -> Result<Vec<Known>, Trouble> {
        let mut files = self.library.naming(word)?;
        files.retain(|file| are_related(known.language, file.language));
        Ok(files)
    }

    /// `textDocument/hover`: signatures and comments of what the word may mean.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn hover(&self, at: &lsp::TextDocumentPositionParams) -> Result<Option<lsp::Hover>, Trouble> {
        let Some(Asked { known, spot }) = self.asked(at)? else { return Ok(None) };
        let found = resolve(self.library, &known, &spot)?;
        if found.is_empty() {
            return Ok(None);
        }
        let mut texts: Vec<String> = Vec::new();
        for (file, at) in &found {
            let text = markdown(file, &file.facts.symbols[*at]);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let more = texts.len().saturating_sub(MAX_HOVERED_DEFINITIONS);
        texts.truncate(MAX_HOVERED_DEFINITIONS);
        if more > 0 {
            texts.push(format!("{more} more of this name."));
        }
        let contents = lsp::HoverContents::Markup(lsp::MarkupContent {
            kind: lsp::MarkupKind::Markdown,
            value: texts.join("\n\n---\n\n"),
        });
        Ok(Some(lsp::Hover { contents, range: Some(self.range_of(&known, &spot)) }))
    }

    fn range_of(&self, known: &Known, spot: &Spot) -> lsp::Range {
        let presenter = Presenter::of_names(self.library, &known.path, self.encoding);
        let role = Role::Other;
        let (line, column) = (spot.line + 1, spot.column);
        presenter.reference(&codeyard_index::Reference { name: spot.word.clone(), role, line, column, within: None })
    }

    /// `textDocument/implementation`: of a type what extends it, of a member the members of the same name there.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn implementation(&self, at: &lsp::TextDocumentPositionParams) -> Result<Vec<lsp::Location>, Trouble> {
        let Some(Asked { known, spot }) = self.asked(at)? else { return Ok(Vec::new()) };
        let mut found: Vec<Found> = Vec::new();
        let mut seen = BTreeSet::new();
        for (file, at) in resolve(self.library, &known, &spot)? {
            let symbol = &file.facts.symbols[at];
            let is_type = matches!(
                symbol.kind,
                SymbolKind::Class | SymbolKind::Interface | SymbolKind::Trait | SymbolKind::Struct | SymbolKind::Type
            );
            let new = if is_type {
                self.heirs(&file, &symbol.name)?
            } else if let Some(base) = holder(&file.facts, at) {
                self.members_of_heirs(&file, base, &symbol.name)?
            } else {
                Vec::new()
            };
            found.extend(new.into_iter().filter(|(file, at)| seen.insert((file.path.clone(), *at))));
        }
        self.locations(&found)
    }

    /// What says that it extends or implements `base`.
    fn heirs(&self, known: &Known, base: &str) -> Result<Vec<Found>, Trouble> {
        let mut found = Vec::new();
        for file in self.related(known, base)? {
            let says = file.facts.references.iter().filter(|one| one.role == Role::Base && one.name == base);
            let heirs: BTreeSet<usize> = says.filter_map(|one| Some(one.within? as usize)).collect();
            found.extend(heirs.into_iter().filter(|at| *at < file.facts.symbols.len()).map(|at| (file.clone(), at)));
        }
        Ok(found)
    }

    fn members_of_heirs(&self, known: &Known, base: &str, member: &str) -> Result<Vec<Found>, Trouble> {
        let mut found = Vec::new();
        for (file, heir) in self.heirs(known, base)? {
            let symbols = &file.facts.symbols;
            let name = &symbols[heir].name;
            let is_member = |at: &usize| {
                let symbol = &symbols[*at];
                symbol.name == member
                    && (symbol.parent == u32::try_from(heir).ok() || symbol.scope.as_deref() == Some(name))
            };
            let members: Vec<usize> = (0..symbols.len()).filter(is_member).collect();
            found.extend(members.into_iter().map(|at| (file.clone(), at)));
        }
        Ok(found)
    }

    /// `workspace/symbol`.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn symbols(&self, query: &str) -> Result<Vec<lsp::SymbolInformation>, Trouble> {
        if query.trim().is_empty() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for (known, at) in self.library.matching(query)? {
            let symbol = &known.facts.symbols[at];
            if symbol.kind == SymbolKind::Use || !is_called(&symbol.name, query) {
                continue;
            }
            let presenter = Presenter::of_names(self.library, &known.path, self.encoding);
            let within = symbol.parent.and_then(|parent| known.facts.symbols.get(parent as usize));
            #[expect(deprecated, reason = "the protocol's type has no other way to be made")]
            found.push(lsp::SymbolInformation {
                name: symbol.name.clone(),
                kind: kind(symbol.kind),
                tags: None,
                deprecated: None,
                location: lsp::Location::new(self.uri(&known.path)?, presenter.name(symbol)),
                container_name: symbol.scope.clone().or_else(|| within.map(|parent| parent.name.clone())),
            });
        }
        Ok(found)
    }

    /// `textDocument/documentSymbol`: nested, without imports.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn document_symbols(&self, uri: &lsp::Url) -> Result<Vec<lsp::DocumentSymbol>, Trouble> {
        let path = self.path(uri)?;
        let Some(known) = self.library.file(&path)? else { return Ok(Vec::new()) };
        let presenter = Presenter::new(self.library, &path, self.encoding);
        Ok(nested(&known.facts, &presenter))
    }
}

/// Whether a name holds what was asked for, whatever its case and its separators.
fn is_called(name: &str, query: &str) -> bool {
    let plain = |text: &str| -> String {
        text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let last = query.rsplit([':', '.', '/', '#']).next().unwrap_or(query);
    plain(name).contains(&plain(last))
}

/// The path of a document below a root.
pub(crate) fn below(root: &Path, uri: &lsp::Url) -> Option<String> {
    let path = uri.to_file_path().ok()?;
    let rest = path.strip_prefix(root).ok()?.to_str()?;
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// The symbols of a file with this name, and where each name stands.
fn names<'f>(facts: &'f Facts, word: &'f str) -> impl Iterator<Item = (usize, (u32, u32))> + 'f {
    let is_meant = move |at: &usize| facts.symbols[*at].name == word && facts.symbols[*at].kind != SymbolKind::Use;
    (0..facts.symbols.len())
        .filter(is_meant)
        .map(|at| (at, (facts.symbols[at].name_line, facts.symbols[at].name_column)))
}

fn nested(facts: &Facts, presenter: &Presenter) -> Vec<lsp::DocumentSymbol> {
    let mut children: Vec<Vec<lsp::DocumentSymbol>> = facts.symbols.iter().map(|_| Vec::new()).collect();
    let mut top = Vec::new();
    // From the last to the first: a parent stands before its children, so theirs are whole when it is reached.
    for (at, symbol) in facts.symbols.iter().enumerate().rev() {
        if symbol.kind == SymbolKind::Use {
            continue;
        }
        let mut own = std::mem::take(&mut children[at]);
        own.reverse();
        #[expect(deprecated, reason = "the protocol's type has no other way to be made")]
        let shown = lsp::DocumentSymbol {
            name: symbol.name.clone(),
            detail: Some(symbol.signature.clone()).filter(|signature| !signature.is_empty()),
            kind: kind(symbol.kind),
            tags: None,
            deprecated: None,
            range: presenter.whole(symbol),
            selection_range: presenter.name(symbol),
            children: (!own.is_empty()).then_some(own),
        };
        match symbol.parent.map(|parent| parent as usize).filter(|parent| *parent < at) {
            Some(parent) => children[parent].push(shown),
            None => top.push(shown),
        }
    }
    top.reverse();
    top
}

#[cfg(test)]
#[path = "answers/tests.rs"]
mod tests;
