//! What was found is put in order: who stands in whom, what is of interest, who names what.
//!
//! One walk over the symbols by where they begin, with a stack of what is open; one over the references. Nothing here is
//! quadratic: a frame of the stack carries all that is asked of it.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::found::{Finds, Found, Span};
use super::names::{MAX_NAME, name, slice};
use super::text::{self, Columns};
use super::visible::{self, Around};
use crate::facts::{Facts, Reference, Symbol};
use crate::language::Language;
use crate::limits::{MAX_FILE_KEYS, MAX_KEY_DEPTH};
use codeyard_model::code::{SymbolKind, Visibility};

/// Comments in a row that are looked at for one symbol.
const MAX_COMMENTS: usize = 200;

/// Something that begins: in this order where several begin at the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Whole,
    Local,
    Symbol(u32),
    Access,
    Doc,
}

/// Something open.
#[derive(Debug, Clone, Copy)]
struct Frame {
    end: u32,
    /// Where its own node begins.
    start: u32,
    /// The symbol that whatever begins here stands in.
    parent: Option<u32>,
    /// What isn't visible from elsewhere.
    is_local: bool,
    depth: usize,
}

struct Walk<'a> {
    language: Language,
    source: &'a str,
    /// As the parser saw it, byte for byte as long: what signatures are taken from.
    smoothed: &'a str,
    finds: &'a Finds,
    columns: Columns<'a>,
    frames: Vec<Frame>,
    facts: Facts,
    /// By symbol, as in `facts`.
    spans: Vec<Span>,
    access: Vec<Option<Visibility>>,
    /// Where `export` or decorators stand, not yet taken by a symbol.
    whole: Option<Span>,
    /// The symbol that took them, and how far they reach.
    owner: Option<(u32, u32)>,
    /// The package or namespace that the file is in.
    package: Option<String>,
    /// Variables that were assigned to before: who they belong to, and their names.
    assigned: HashSet<(Option<u32>, String)>,
}

/// The facts of `source`. `finds` are put in order.
pub(super) fn nest(language: Language, source: &str, smoothed: &str, finds: &mut Finds) -> Facts {
    // Of several readings of one name the first in the query file holds.
    finds.symbols.sort_unstable_by_key(|found| (found.name.start, found.pattern, found.span));
    finds.symbols.dedup_by_key(|found| found.name.start);
    let not_impl = finds.symbols.iter().filter(|found| found.kind != SymbolKind::Impl);
    let names: Vec<u32> = not_impl.map(|found| found.name.start).collect();
    finds.symbols.sort_unstable_by_key(|found| (found.span.start, Reverse(found.span.end), found.name.start));
    finds.leads.sort_unstable();
    finds.leads.dedup();
    let mut references = std::mem::take(&mut finds.references);
    references.sort_unstable_by_key(|named| (named.span.start, named.pattern));
    references.dedup_by_key(|named| named.span.start);
    references.retain(|named| names.binary_search(&named.span.start).is_err());
    let mut walk = Walk {
        language,
        source,
        smoothed,
        finds,
        columns: Columns::new(source),
        frames: Vec::new(),
        facts: Facts::default(),
        spans: Vec::new(),
        access: Vec::new(),
        whole: None,
        owner: None,
        package: None,
        assigned: HashSet::new(),
    };
    walk.symbols();
    walk.exported();
    let mut open: Vec<(u32, u32)> = Vec::new();
    let mut next = 0;
    for named in references {
        while let Some(span) = walk.spans.get(next).filter(|span| span.start <= named.span.start) {
            open.retain_last(span.start);
            if walk.facts.symbols[next].kind != SymbolKind::Use {
                open.push((span.end, u32::try_from(next).unwrap_or(u32::MAX)));
            }
            next += 1;
        }
        open.retain_last(named.span.start);
        let column = walk.columns.of(named.span.start, named.place);
        walk.facts.references.push(Reference {
            name: text::one_line(slice(source, named.span), MAX_NAME),
            role: named.role,
            line: named.place.0 + 1,
            column,
            within: open.last().map(|(_, at)| *at),
        });
    }
    walk.facts
}

/// Closing what ends before a place.
trait Open {
    fn retain_last(&mut self, at: u32);
}

impl Open for Vec<(u32, u32)> {
    fn retain_last(&mut self, at: u32) {
        while self.last().is_some_and(|(end, _)| *end <= at) {
            self.pop();
        }
    }
}

fn holds_members(kind: SymbolKind) -> bool {
    use SymbolKind::{Class, Enum, Impl, Interface, Struct, Trait};
    matches!(kind, Class | Enum | Impl | Interface | Struct | Trait)
}

impl Walk<'_> {
    fn symbols(&mut self) {
        let finds = self.finds;
        let mut marks: Vec<(u32, Reverse<u32>, Mark)> = Vec::with_capacity(finds.symbols.len() + finds.locals.len());
        marks.extend(
            (0_u32..)
                .zip(&finds.symbols)
                .map(|(at, found)| (found.span.start, Reverse(found.span.end), Mark::Symbol(at))),
        );
        for (spans, mark) in [
            (&finds.locals, Mark::Local),
            (&finds.wholes, Mark::Whole),
            (&finds.access, Mark::Access),
            (&finds.docs, Mark::Doc),
        ] {
            marks.extend(spans.iter().map(|span| (span.start, Reverse(span.end), mark)));
        }
        marks.sort_unstable();
        for (start, Reverse(end), mark) in marks {
            while self.frames.last().is_some_and(|frame| frame.end <= start) {
                self.frames.pop();
            }
            let span = Span { start, end };
            let top = self.frames.last().copied();
            match mark {
                Mark::Whole if self.whole.is_none_or(|whole| whole.end <= start) => self.whole = Some(span),
                Mark::Whole => {}
                Mark::Symbol(at) => self.symbol(finds.symbols[at as usize], top),
                // The body of a namespace looks like any block.
                Mark::Local if top.is_some_and(|top| top.end == end && self.is_module(top.parent)) => {}
                Mark::Local => self.frames.push(Frame {
                    end,
                    start,
                    parent: top.and_then(|top| top.parent),
                    is_local: true,
                    depth: top.map_or(0, |top| top.depth),
                }),
                Mark::Access => {
                    let parent = top.and_then(|top| top.parent);
                    if let (Some(parent), Some(access)) = (parent, visible::access(slice(self.source, span))) {
                        self.access[parent as usize] = Some(access);
                    }
                }
                Mark::Doc => {
                    if let Some(parent) = top.and_then(|top| top.parent) {
                        self.facts.symbols[parent as usize].doc = text::docstring(slice(self.source, span));
                    }
                }
            }
        }
    }

    fn symbol(&mut self, found: Found, mut top: Option<Frame>) {
        // `int one, two;` are two symbols of one span: neither stands in the other.
        if let Some(parent) = top.and_then(|top| top.parent)
            && top.is_some_and(|top| (top.start, top.end) == (found.span.start, found.span.end))
            && is_noise(self.facts.symbols[parent as usize].kind, true)
        {
            self.frames.pop();
            top = self.frames.last().copied();
        }
        let (is_local, depth) = top.map_or((false, 0), |top| (top.is_local, top.depth));
        let parent = top.and_then(|top| top.parent);
        let is_data = matches!(self.language, Language::JSON | Language::YAML | Language::TOML);
        let is_too_much = is_data && (depth >= MAX_KEY_DEPTH || self.facts.symbols.len() >= MAX_FILE_KEYS);
        let container = parent.map(|parent| self.facts.symbols[parent as usize].kind);
        let kind = member_kind(found, container);
        let is_elsewhere = found.scope.is_some() && self.language != Language::GO;
        if is_too_much || is_local && (is_elsewhere || is_noise(kind, found.is_definition)) {
            return;
        }
        let named = name(self.language, self.source, found);
        // A heading of signs only.
        if named.0.trim().is_empty() {
            return;
        }
        // What a script assigns to again isn't another variable.
        let is_script = matches!(self.language, Language::PYTHON | Language::RUBY | Language::BASH | Language::PHP);
        if is_script && is_value(kind) && !self.assigned.insert((parent, named.0.clone())) {
            return;
        }
        let Ok(at) = u32::try_from(self.facts.symbols.len()) else { return };
        self.keep(found, kind, parent, at, named);
        if !found.is_flat {
            let is_local = is_local && !holds_members(kind);
            self.frames.push(Frame {
                end: found.span.end,
                start: found.span.start,
                parent: Some(at),
                is_local,
                depth: depth + 1,
            });
        }
    }

    /// Puts a symbol behind those that are there.
    fn keep(
        &mut self,
        found: Found,
        kind: SymbolKind,
        parent: Option<u32>,
        at: u32,
        (name, mut scope, name_at): (String, Option<String>, u32),
    ) {
        let whole = self.whole.filter(|whole| found.span.start < whole.end);
        let start = whole.map_or(found.span.start, |whole| whole.start);
        let first_row = match whole {
            Some(whole) => {
                let between = &self.source.as_bytes()[whole.start as usize..found.span.start as usize];
                let breaks = between.iter().filter(|byte| **byte == b'\n').count();
                found.rows.0.saturating_sub(u32::try_from(breaks).unwrap_or(0))
            }
            None => found.rows.0,
        };
        let source = self.smoothed.get(start as usize..found.span.end as usize).unwrap_or_default();
        let head = self.smoothed.get(start as usize..found.name.start.max(start) as usize).unwrap_or_default();
        let mut marker = text::marker(head, visible::markers(self.language));
        if whole.is_some() {
            self.whole = None;
            self.owner = Some((at, whole.map_or(0, |whole| whole.end)));
        } else if let Some((owner, end)) = self.owner
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
        let visibility = visible::visibility(self.language, kind, &name, &marker, self.around(parent));
        let skipped = name_at - found.name.start;
        let column = self.columns.of(name_at, (found.place.0, found.place.1 + skipped));
        let signature = text::signature(source, found.body.map(|body| (body - start) as usize), kind);
        if found.is_rest {
            // Only Scala has several, each in the one before it.
            self.package = Some(match &self.package {
                Some(outer) if self.language == Language::SCALA => format!("{outer}.{name}"),
                _ => name.clone(),
            });
        } else if parent.is_none() && scope.is_none() && kind != SymbolKind::Use {
            scope.clone_from(&self.package);
        }
        let is_extern = matches!(self.language, Language::C | Language::CPP) && marker.contains("extern");
        self.facts.symbols.push(Symbol {
            kind,
            name,
            parent,
            scope,
            marker,
            visibility,
            signature,
            doc: self.comments_before(start),
            line_start: first_row + 1,
            line_end: found.rows.1.max(found.place.0) + 1,
            name_line: found.place.0 + 1,
            name_column: column,
            is_definition: found.is_definition && !(is_extern && kind == SymbolKind::Variable),
        });
        self.spans.push(Span { start, end: found.span.end });
        self.access.push(None);
    }

    fn is_module(&self, symbol: Option<u32>) -> bool {
        symbol.is_some_and(|at| self.facts.symbols[at as usize].kind == SymbolKind::Module)
    }

    fn around(&self, parent: Option<u32>) -> Option<Around> {
        let parent = parent? as usize;
        let symbol = &self.facts.symbols[parent];
        let implements = symbol.kind == SymbolKind::Impl && symbol.signature.contains(" for ");
        let (kind, visibility) = (symbol.kind, symbol.visibility);
        Some(Around { kind, visibility, access: self.access[parent], implements })
    }

    /// What the comments right above `start` say.
    fn comments_before(&self, start: u32) -> String {
        let leads = &self.finds.leads;
        let bytes = self.source.as_bytes();
        let mut at = leads.partition_point(|(span, _)| span.start < start);
        let mut edge = start as usize;
        let mut said = Vec::new();
        while at > 0 && said.len() < MAX_COMMENTS {
            at -= 1;
            let (span, is_attribute) = leads[at];
            let text = slice(self.source, span).trim_end();
            let end = span.start as usize + text.len();
            // What was blanked out belongs to the declaration, so it stands between no comment and its declaration.
            let (Some(gap), Some(blanked)) = (self.source.get(end..edge), self.smoothed.get(end..edge)) else { break };
            // The first letter decides: far behind a comment a file may have very many symbols.
            if !blanked.chars().all(char::is_whitespace) {
                break;
            }
            // What stands between the first line break and the last one is whole lines.
            let within = gap.split_once('\n').and_then(|(_, rest)| rest.rsplit_once('\n'));
            let has_empty_line = within.is_some_and(|(lines, _)| lines.split('\n').any(|line| line.trim().is_empty()));
            let line = bytes[..span.start as usize].iter().rev().take_while(|byte| **byte != b'\n');
            // What stands behind code on its line belongs to that code.
            if has_empty_line || !line.clone().all(u8::is_ascii_whitespace) {
                break;
            }
            if !is_attribute && !text.starts_with("//!") && !text.starts_with("#!") {
                said.push(text);
            }
            edge = span.start as usize;
        }
        text::comments(said.into_iter().rev())
    }

    /// `export { name }` at the end of a file is as good as `export` in front.
    fn exported(&mut self) {
        if self.finds.exported.is_empty() {
            return;
        }
        let mut names: Vec<&str> = self.finds.exported.iter().map(|span| slice(self.source, *span)).collect();
        names.sort_unstable();
        for symbol in &mut self.facts.symbols {
            if symbol.parent.is_none() && names.binary_search(&symbol.name.as_str()).is_ok() {
                symbol.visibility = Visibility::Public;
            }
        }
    }
}

/// A function in a class is a method, a variable in it is a field.
fn member_kind(found: Found, container: Option<SymbolKind>) -> SymbolKind {
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

/// What is of no interest outside of the function that it stands in.
fn is_noise(kind: SymbolKind, is_definition: bool) -> bool {
    !is_definition || is_value(kind) || kind == SymbolKind::Use
}
