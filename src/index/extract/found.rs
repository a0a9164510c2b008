//! What the query finds in a tree, before it is put in order.
//!
//! Nothing here keeps a node: offsets and rows are enough for all that follows.

use tree_sitter::{Node, QueryMatch};

use super::grammar::{Action, Compiled, Heart};
use crate::facts::Role;
use crate::limits::{MAX_FILE_REFERENCES, MAX_FILE_SYMBOLS};
use codeyard_model::code::SymbolKind;

/// A part of the source, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

/// A symbol as the query sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) kind: SymbolKind,
    pub(super) is_definition: bool,
    /// Nothing stands in it.
    pub(super) is_flat: bool,
    /// What follows it belongs to it.
    pub(super) is_rest: bool,
    pub(super) span: Span,
    /// Where its signature ends, if anything says so.
    pub(super) body: Option<u32>,
    pub(super) name: Span,
    /// Row of the name and its column in bytes, from 0.
    pub(super) place: (u32, u32),
    /// Its first and its last row.
    pub(super) rows: (u32, u32),
    pub(super) scope: Option<Span>,
    /// The earlier in the query file, the better it is known.
    pub(super) pattern: u32,
}

/// A name in use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named {
    pub(super) span: Span,
    pub(super) role: Role,
    pub(super) place: (u32, u32),
    pub(super) pattern: u32,
}

/// Everything that was found in one tree.
#[derive(Debug, Default)]
pub(super) struct Finds {
    pub(super) symbols: Vec<Found>,
    pub(super) references: Vec<Named>,
    pub(super) locals: Vec<Span>,
    pub(super) wholes: Vec<Span>,
    /// Comments, and, with `true`, attributes.
    pub(super) leads: Vec<(Span, bool)>,
    pub(super) docs: Vec<Span>,
    pub(super) access: Vec<Span>,
    pub(super) exported: Vec<Span>,
    /// There was more than is kept.
    pub(super) is_cut: bool,
}

/// The node's bytes. Sources are smaller than 4 GiB, see [`super::extract`].
pub(super) fn span(node: Node<'_>) -> Span {
    let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span { start: small(node.start_byte()), end: small(node.end_byte()) }
}

fn place(node: Node<'_>) -> (u32, u32) {
    let at = node.start_position();
    (u32::try_from(at.row).unwrap_or(u32::MAX), u32::try_from(at.column).unwrap_or(u32::MAX))
}

impl Finds {
    /// Takes in one match.
    pub(super) fn take(&mut self, found: &QueryMatch<'_, '_>, compiled: &Compiled) {
        let pattern = u32::try_from(found.pattern_index).unwrap_or(u32::MAX);
        let (mut symbol, mut name, mut body, mut scope, mut declarator) = (None, None, None, None, None);
        for capture in found.captures() {
            let node = capture.node;
            match compiled.actions[capture.index as usize] {
                Action::Symbol(kind, is_definition) => symbol = Some((node, kind, is_definition)),
                Action::Name => name = Some(node),
                Action::Declarator => declarator = Some(node),
                Action::Body => body = Some(node),
                Action::Scope => scope = Some(span(node)),
                Action::Local => self.locals.push(span(node)),
                Action::Whole => self.wholes.push(span(node)),
                Action::Comment => self.leads.push((span(node), false)),
                Action::Attribute => self.leads.push((span(node), true)),
                Action::Doc => self.docs.push(span(node)),
                Action::Access => self.access.push(span(node)),
                Action::Exported => self.exported.push(span(node)),
                Action::Reference(role) => self.name(node, role, pattern),
                Action::Nothing => {}
            }
        }
        let Some((node, mut kind, mut is_definition)) = symbol else { return };
        if let Some(outer) = declarator {
            let Some((inner, is_function)) = heart(outer, compiled) else { return };
            name = Some(inner);
            let is_value = matches!(kind, SymbolKind::Variable | SymbolKind::Field);
            if is_function && is_value {
                kind = if kind == SymbolKind::Field { SymbolKind::Method } else { SymbolKind::Fn };
                is_definition = false;
            }
        }
        let Some(name) = name.filter(|name| !name.is_missing()) else { return };
        if self.symbols.len() >= MAX_FILE_SYMBOLS {
            self.is_cut = true;
            return;
        }
        let whole = span(node);
        let body = body.or_else(|| node.child_by_field_id(compiled.body?.get())).map(|body| span(body).start);
        let (first, last) = (node.start_position(), node.end_position());
        // A block that ends with its last line break ends on that line.
        let last = if last.column == 0 && last.row > first.row { last.row - 1 } else { last.row };
        let row = |row: usize| u32::try_from(row).unwrap_or(u32::MAX);
        self.symbols.push(Found {
            kind,
            is_definition,
            is_flat: compiled.flat.get(found.pattern_index).copied().unwrap_or(false),
            is_rest: compiled.rest.get(found.pattern_index).copied().unwrap_or(false),
            span: whole,
            body: body.filter(|body| *body > whole.start),
            name: span(name),
            place: place(name),
            rows: (row(first.row), row(last)),
            scope,
            pattern,
        });
    }

    fn name(&mut self, node: Node<'_>, role: Role, pattern: u32) {
        if self.references.len() >= MAX_FILE_REFERENCES {
            self.is_cut = true;
            return;
        }
        let span = span(node);
        if span.start < span.end {
            self.references.push(Named { span, role, place: place(node), pattern });
        }
    }
}

/// The name at the heart of a declarator of C, and whether what it declares is a function.
fn heart<'t>(outer: Node<'t>, compiled: &Compiled) -> Option<(Node<'t>, bool)> {
    const DEEPEST: usize = 64;
    let (mut node, mut is_function) = (outer, false);
    for _ in 0..DEEPEST {
        match compiled.heart(node) {
            Heart::Name => return Some((node, is_function)),
            Heart::Cast => return Some((node, true)),
            Heart::Function => is_function = true,
            // What is pointed to may be a function, the pointer isn't one.
            Heart::Pointer => is_function = false,
            Heart::Modifier | Heart::Other => {}
        }
        let inner = compiled.declarator.and_then(|field| node.child_by_field_id(field.get()));
        node = inner.or_else(|| {
            (0..node.named_child_count()).rev().find_map(|at| {
                let child = node.named_child(u32::try_from(at).ok()?)?;
                (compiled.heart(child) != Heart::Modifier).then_some(child)
            })
        })?;
    }
    None
}
