//! Builds the symbol tree from captures: nests symbols, drops local ones, and attributes references to the symbols around them.
//!
//! One pass over the captures in source order with a stack of open ranges, then one pass over the references. No step is
//! quadratic: each range on the stack carries everything that is needed from the ranges around it.

mod bound_names;
mod continued;
mod exported;
mod rows;

use std::cmp::Reverse;
use std::collections::HashSet;

use super::captures::{ByteSpan, Captures, ReferenceCapture, SymbolCapture};
use super::doc_comments::DocComments;
use super::names::{MAX_NAME, SymbolName, referenced_name, slice, symbol_name};
use super::signatures;
use super::source_text::{self, Utf16Columns};
use super::visibility::{self, EnclosingSymbol};
use crate::facts::{Facts, Reference, Symbol};
use crate::language::Language;
use crate::limits::{MAX_FILE_FACT_BYTES, MAX_FILE_KEYS, MAX_KEY_DEPTH, MAX_SYMBOL_DEPTH};
use codeyard_model::code::{SymbolKind, Visibility};

/// A kind of captured range. Where several begin at the same offset, they are handled in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RangeKind {
    Wrapper,
    Local,
    Symbol(u32),
    Access,
    Doc,
}

/// A range that contains the current offset.
#[derive(Debug, Clone, Copy)]
struct OpenRange {
    end: u32,
    /// Where its node begins.
    start: u32,
    /// The parent of symbols that begin in this range.
    parent: Option<u32>,
    /// Its contents are local to a function or block.
    is_local: bool,
    depth: usize,
    /// Bytes of the names of the symbols around symbols that begin in this range.
    scope_bytes: usize,
}

struct TreeBuilder<'a> {
    language: Language,
    source: &'a str,
    /// The text that was parsed: the source with some bytes blanked, of the same length. Signatures are taken from it.
    parsed_text: &'a str,
    captures: &'a Captures,
    columns: Utf16Columns<'a>,
    open_ranges: Vec<OpenRange>,
    facts: Facts,
    /// Bytes of the facts so far. Beyond [`MAX_FILE_FACT_BYTES`], nothing is added.
    bytes: usize,
    doc_comments: DocComments<'a>,
    /// One for each symbol in `facts`.
    spans: Vec<ByteSpan>,
    access: Vec<Option<Visibility>>,
    /// The numbers of parameters, one for each symbol in `facts`.
    arities: Vec<usize>,
    /// The wrapper (`export`, decorators) that no symbol has used yet.
    wrapper: Option<ByteSpan>,
    /// The symbol that used the last wrapper, and where that wrapper ends.
    wrapper_owner: Option<(u32, u32)>,
    /// The end of the last symbol whose last row was looked for, and that row.
    last_row: Option<(u32, u32)>,
    /// The package or namespace of the file.
    package: Option<String>,
    /// The parents and names of variables that the file already assigned to.
    assigned: HashSet<(Option<u32>, String)>,
}

/// Builds the facts of `source`. Sorts `captures`. `None`: the facts take too many bytes.
pub(super) fn build(language: Language, source: &str, parsed_text: &str, captures: &mut Captures) -> Option<Facts> {
    // If several patterns match one name, the first pattern in the query wins.
    captures.symbols.sort_unstable_by_key(|found| (found.name.start, found.pattern, found.span));
    captures.symbols.dedup_by_key(|found| found.name.start);
    // The name of an import is a reference too, and so is the type of an `impl`. A header isn't a name.
    let is_include = |kind| kind == SymbolKind::Use && matches!(language, Language::C | Language::CPP);
    let is_reference = |kind| matches!(kind, SymbolKind::Impl | SymbolKind::Use) && !is_include(kind);
    let declared = captures.symbols.iter().filter(|found| !is_reference(found.kind));
    let names: Vec<u32> = declared.map(|found| found.name.start).collect();
    captures.symbols.sort_unstable_by_key(|found| (found.span.start, Reverse(found.span.end), found.name.start));
    captures.comments.sort_unstable();
    captures.comments.dedup();
    let mut references = std::mem::take(&mut captures.references);
    references.sort_unstable_by_key(|named| (named.span.start, named.pattern));
    references.dedup_by_key(|named| named.span.start);
    references.retain(|named| names.binary_search(&named.span.start).is_err());
    let mut builder = TreeBuilder {
        language,
        source,
        parsed_text,
        captures,
        columns: Utf16Columns::new(source),
        open_ranges: Vec::new(),
        facts: Facts::default(),
        bytes: 0,
        doc_comments: DocComments::new(source, parsed_text, &captures.comments),
        spans: Vec::new(),
        access: Vec::new(),
        arities: Vec::new(),
        wrapper: None,
        wrapper_owner: None,
        last_row: None,
        package: None,
        assigned: HashSet::new(),
    };
    builder.add_symbols();
    builder.publish_exported();
    builder.add_references(&references);
    (!builder.is_full()).then_some(builder.facts)
}

/// Removes ranges from a stack.
trait PopEnded {
    /// Removes the ranges that end at or before `at`.
    fn pop_ended(&mut self, at: u32);
}

impl PopEnded for Vec<(u32, u32)> {
    fn pop_ended(&mut self, at: u32) {
        while self.last().is_some_and(|(end, _)| *end <= at) {
            self.pop();
        }
    }
}

fn holds_members(kind: SymbolKind) -> bool {
    use SymbolKind::{Class, Enum, Impl, Interface, Struct, Trait};
    matches!(kind, Class | Enum | Impl | Interface | Struct | Trait)
}

impl TreeBuilder<'_> {
    fn is_full(&self) -> bool {
        self.bytes > MAX_FILE_FACT_BYTES
    }

    /// Adds the references, each with the innermost symbol around it. `references` are sorted by position.
    fn add_references(&mut self, references: &[ReferenceCapture]) {
        let around = self.symbols_around(references);
        let bound = bound_names::collect(self.source, references, &around);
        for (reference, within) in references.iter().zip(around) {
            if self.is_full() {
                return;
            }
            if bound_names::is_dropped(self.source, reference, within, &bound) {
                continue;
            }
            let start = reference.span.start;
            let span = referenced_name(self.language, self.source, reference);
            let column = self.columns.of(span.start, reference.position.1 + span.start - start);
            self.bytes += size_of::<Reference>() + span.len();
            self.facts.references.push(Reference {
                name: source_text::one_line(slice(self.source, span), MAX_NAME),
                role: reference.role,
                line: reference.position.0 + 1,
                column,
                within,
            });
        }
    }

    /// Adds the symbols in source order.
    fn add_symbols(&mut self) {
        let captures = self.captures;
        let mut ranges: Vec<(u32, Reverse<u32>, RangeKind)> =
            Vec::with_capacity(captures.symbols.len() + captures.locals.len());
        ranges.extend(
            (0_u32..)
                .zip(&captures.symbols)
                .map(|(at, found)| (found.span.start, Reverse(found.span.end), RangeKind::Symbol(at))),
        );
        for (spans, kind) in [
            (&captures.locals, RangeKind::Local),
            (&captures.wrappers, RangeKind::Wrapper),
            (&captures.access, RangeKind::Access),
            (&captures.docs, RangeKind::Doc),
        ] {
            ranges.extend(spans.iter().map(|span| (span.start, Reverse(span.end), kind)));
        }
        ranges.sort_unstable();
        for (start, Reverse(end), range_kind) in ranges {
            while self.open_ranges.last().is_some_and(|range| range.end <= start) {
                self.open_ranges.pop();
            }
            let span = ByteSpan { start, end };
            let top = self.open_ranges.last().copied();
            match range_kind {
                RangeKind::Wrapper if self.wrapper.is_none_or(|wrapper| wrapper.end <= start) => {
                    self.wrapper = Some(span)
                }
                RangeKind::Wrapper => {}
                RangeKind::Symbol(at) => self.add_symbol(captures.symbols[at as usize], top),
                // The body of a namespace is no local scope.
                RangeKind::Local if top.is_some_and(|top| top.end == end && self.is_module(top.parent)) => {}
                RangeKind::Local => self.open_ranges.push(OpenRange {
                    end,
                    start,
                    parent: top.and_then(|top| top.parent),
                    is_local: true,
                    depth: top.map_or(0, |top| top.depth),
                    scope_bytes: top.map_or(0, |top| top.scope_bytes),
                }),
                RangeKind::Access => {
                    let parent = top.and_then(|top| top.parent);
                    if let (Some(parent), Some(access)) = (parent, visibility::access(slice(self.source, span))) {
                        self.access[parent as usize] = Some(access);
                    }
                }
                RangeKind::Doc => {
                    if let Some(parent) = top.and_then(|top| top.parent) {
                        self.facts.symbols[parent as usize].doc = source_text::docstring(slice(self.source, span));
                    }
                }
            }
        }
    }

    /// Adds a symbol, unless it is a dropped local one. `top` is the innermost open range.
    fn add_symbol(&mut self, found: SymbolCapture, mut top: Option<OpenRange>) {
        // `int one, two;` declares two symbols with the same range: they are siblings.
        if let Some(parent) = top.and_then(|top| top.parent)
            && top.is_some_and(|top| (top.start, top.end) == (found.span.start, found.span.end))
            && (is_dropped_if_local(self.facts.symbols[parent as usize].kind, true)
                || matches!(self.language, Language::HASKELL | Language::MAKE))
        {
            self.open_ranges.pop();
            top = self.open_ranges.last().copied();
        }
        let (is_local, depth) = top.map_or((false, 0), |top| (top.is_local, top.depth));
        let parent = top.and_then(|top| top.parent);
        let is_data = matches!(self.language, Language::JSON | Language::YAML | Language::TOML);
        let is_too_much = is_data && (depth >= MAX_KEY_DEPTH || self.facts.symbols.len() >= MAX_FILE_KEYS);
        let container = parent.map(|parent| self.facts.symbols[parent as usize].kind);
        let kind = member_kind(found, container);
        let is_elsewhere = found.scope.is_some() && self.language != Language::GO;
        if is_too_much || is_local && (is_elsewhere || is_dropped_if_local(kind, found.is_definition)) {
            return;
        }
        let named = symbol_name(self.language, self.source, found);
        // Such as a Markdown heading without text.
        if named.text.trim().is_empty() {
            return;
        }
        // In scripts, a second assignment to a variable doesn't declare another one.
        if continued::redeclares_by_assignment(self.language)
            && is_value(kind)
            && !self.assigned.insert((parent, named.text.clone()))
        {
            return;
        }
        if let Some(first) = self.first_clause(kind, parent, &named.text, &found) {
            self.add_clause(first, found, is_local, depth);
            return;
        }
        let Ok(at) = u32::try_from(self.facts.symbols.len()) else { return };
        // The whole name is read, also where only a part of it is kept.
        let scope_bytes = top.map_or(0, |top| top.scope_bytes);
        self.bytes += found.name.len() + found.scope.map_or(0, ByteSpan::len) + scope_bytes;
        if self.is_full() {
            return;
        }
        self.push_symbol(found, kind, parent, at, named);
        if !found.is_flat {
            let is_local = is_local && !holds_members(kind);
            self.open_ranges.push(OpenRange {
                end: found.span.end,
                start: found.span.start,
                parent: if depth < MAX_SYMBOL_DEPTH { Some(at) } else { parent },
                is_local,
                depth: depth + 1,
                scope_bytes: scope_bytes + self.facts.symbols[at as usize].name.len(),
            });
        }
    }

    /// Appends a symbol to the facts.
    fn push_symbol(&mut self, found: SymbolCapture, kind: SymbolKind, parent: Option<u32>, at: u32, named: SymbolName) {
        let SymbolName { text: name, mut scope, start: name_start } = named;
        let wrapper = self.wrapper.filter(|wrapper| found.span.start < wrapper.end);
        let start = wrapper.map_or(found.span.start, |wrapper| wrapper.start);
        let first_row = match wrapper {
            Some(wrapper) => {
                let between = &self.source.as_bytes()[wrapper.start as usize..found.span.start as usize];
                let breaks = between.iter().filter(|byte| **byte == b'\n').count();
                found.rows.0.saturating_sub(u32::try_from(breaks).unwrap_or(0))
            }
            None => found.rows.0,
        };
        let source = self.parsed_text.get(start as usize..found.span.end as usize).unwrap_or_default();
        let head = self.parsed_text.get(start as usize..found.name.start.max(start) as usize).unwrap_or_default();
        let mut marker = source_text::marker(head, visibility::markers(self.language));
        if wrapper.is_some() {
            self.wrapper = None;
            self.wrapper_owner = Some((at, wrapper.map_or(0, |wrapper| wrapper.end)));
        } else if let Some((owner, end)) = self.wrapper_owner
            && found.span.start < end
            && self.spans[owner as usize].end <= found.span.start
        {
            // `export const one = 1, two = 2`
            marker.clone_from(&self.facts.symbols[owner as usize].marker);
        }
        let kind = match kind {
            SymbolKind::Fn if scope.is_some() => SymbolKind::Method,
            SymbolKind::Variable if marker.contains("constexpr") => SymbolKind::Const,
            kind => kind,
        };
        let visibility = visibility::visibility_of(self.language, kind, &name, &marker, self.enclosing(parent));
        let skipped = name_start - found.name.start;
        let column = self.columns.of(name_start, found.position.1 + skipped);
        let signature = signatures::of_symbol(source, &found, start, kind, &self.captures.comments);
        if found.is_rest {
            // Only Scala allows several package clauses; each is nested in the one before it.
            self.package = Some(match &self.package {
                Some(outer) if self.language == Language::SCALA => format!("{outer}.{name}"),
                _ => name.clone(),
            });
        } else if parent.is_none() && scope.is_none() && kind != SymbolKind::Use {
            scope.clone_from(&self.package);
        }
        let is_extern = matches!(self.language, Language::C | Language::CPP) && marker.contains("extern");
        let doc = self.doc_comments.before(start);
        let last_row = self.last_row(&found);
        self.facts.symbols.push(Symbol {
            kind,
            name,
            parent,
            scope,
            marker,
            visibility,
            signature,
            doc,
            line_start: first_row + 1,
            line_end: last_row.max(found.position.0) + 1,
            name_line: found.position.0 + 1,
            name_column: column,
            is_definition: found.is_definition && !(is_extern && kind == SymbolKind::Variable),
        });
        self.bytes += size_of::<Symbol>() + self.facts.symbols[at as usize].text_bytes();
        self.spans.push(ByteSpan { start, end: found.span.end });
        self.access.push(None);
        self.arities.push(found.arity);
    }

    fn is_module(&self, symbol: Option<u32>) -> bool {
        symbol.is_some_and(|at| self.facts.symbols[at as usize].kind == SymbolKind::Module)
    }

    fn enclosing(&self, parent: Option<u32>) -> Option<EnclosingSymbol> {
        let parent = parent? as usize;
        let symbol = &self.facts.symbols[parent];
        let implements = symbol.kind == SymbolKind::Impl && symbol.signature.contains(" for ");
        let visibility = symbol.visibility;
        Some(EnclosingSymbol { kind: symbol.kind, visibility, access: self.access[parent], implements })
    }
}

/// The kind of a symbol in a container: a function in a class is a method, a variable in it is a field.
fn member_kind(found: SymbolCapture, container: Option<SymbolKind>) -> SymbolKind {
    match (found.kind, container) {
        (SymbolKind::Fn, Some(container)) if holds_members(container) => SymbolKind::Method,
        (SymbolKind::Variable, Some(container)) if holds_members(container) => SymbolKind::Field,
        (kind, _) => kind,
    }
}

fn is_value(kind: SymbolKind) -> bool {
    use SymbolKind::{Const, Field, Static, Variable};
    matches!(kind, Const | Field | Static | Variable)
}

/// Whether a local symbol of this kind is dropped.
fn is_dropped_if_local(kind: SymbolKind, is_definition: bool) -> bool {
    !is_definition || is_value(kind) || kind == SymbolKind::Use
}
