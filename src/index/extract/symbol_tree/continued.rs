//! Declarations that continue a symbol instead of making another one: the clauses of a function, and further assignments to a variable.

use super::{OpenRange, TreeBuilder};
use crate::extract::captures::SymbolCapture;
use crate::language::Language;
use codeyard_model::code::SymbolKind;

impl TreeBuilder<'_> {
    /// The function that a declaration continues: the one directly before it has the same name and number of parameters, and the language
    /// writes a function as a signature and several clauses.
    pub(super) fn first_clause(
        &self,
        kind: SymbolKind,
        parent: Option<u32>,
        name: &str,
        found: &SymbolCapture,
    ) -> Option<u32> {
        let is_function = |kind| matches!(kind, SymbolKind::Fn | SymbolKind::Method);
        if !matches!(self.language, Language::HASKELL | Language::ELIXIR | Language::ERLANG | Language::ELM)
            || !is_function(kind)
        {
            return None;
        }
        let mut last = u32::try_from(self.facts.symbols.len()).ok()?.checked_sub(1)?;
        while self.facts.symbols[last as usize].parent != parent {
            last = self.facts.symbols[last as usize].parent?;
        }
        let before = &self.facts.symbols[last as usize];
        let is_same = is_function(before.kind) && before.name == name && self.arities[last as usize] == found.arity;
        (is_same && self.first_word(self.spans[last as usize].start) == self.first_word(found.span.start))
            .then_some(last)
    }

    /// The word that begins a declaration of Elixir: `def` and `defp` define different functions.
    fn first_word(&self, start: u32) -> Option<&str> {
        let text = self.source.get(start as usize..).filter(|_| self.language == Language::ELIXIR)?;
        Some(&text[..text.bytes().take_while(u8::is_ascii_alphabetic).count()])
    }

    /// Extends the function `first` by one more clause.
    pub(super) fn add_clause(&mut self, first: u32, found: SymbolCapture, is_local: bool, depth: usize) {
        let symbol = &mut self.facts.symbols[first as usize];
        symbol.is_definition |= found.is_definition;
        symbol.line_end = symbol.line_end.max(found.rows.1 + 1);
        let scope_bytes = symbol.name.len() + self.open_ranges.last().map_or(0, |top| top.scope_bytes);
        self.spans[first as usize].end = found.span.end;
        self.open_ranges.push(OpenRange {
            end: found.span.end,
            start: found.span.start,
            parent: Some(first),
            is_local,
            depth: depth + 1,
            scope_bytes,
        });
    }
}

/// Whether a second assignment to a variable of the language doesn't declare another one.
pub(super) fn redeclares_by_assignment(language: Language) -> bool {
    matches!(
        language,
        Language::PYTHON
            | Language::RUBY
            | Language::BASH
            | Language::PHP
            | Language::LUA
            | Language::R
            | Language::JULIA
            | Language::MAKE
            | Language::CMAKE
    )
}
