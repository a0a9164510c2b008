//! Exports that are statements of their own, apart from the symbols that they export.

use super::{TreeBuilder, slice};
use crate::language::Language;
use codeyard_model::code::{SymbolKind, Visibility};

impl TreeBuilder<'_> {
    /// Makes the symbols public that a separate `export { name }` statement exports.
    pub(super) fn publish_exported(&mut self) {
        if self.captures.exported.is_empty() {
            return;
        }
        let exported = self.captures.exported.iter().map(|span| exported(self.language, slice(self.source, *span)));
        let mut names: Vec<(&str, Option<usize>)> = exported.collect();
        names.sort_unstable();
        for (symbol, arity) in self.facts.symbols.iter_mut().zip(&self.arities) {
            // In Erlang, an export names a function with the number of its parameters.
            let arity = (self.language == Language::ERLANG && symbol.kind == SymbolKind::Fn).then_some(*arity);
            if symbol.parent.is_none() && names.binary_search(&(symbol.name.as_str(), arity)).is_ok() {
                symbol.visibility = Visibility::Public;
            }
        }
    }
}

/// The name that an export names, and the number of parameters that it gives: `area/1` in Erlang.
fn exported(language: Language, export: &str) -> (&str, Option<usize>) {
    match export.rsplit_once('/').filter(|_| language == Language::ERLANG) {
        Some((name, arity)) => (name.trim().trim_matches('\''), arity.trim().parse().ok()),
        None => (export, None),
    }
}
