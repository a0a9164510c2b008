//! The query's captures in one tree, unsorted.
//!
//! No node is kept: later steps need only byte offsets and rows.

use tree_sitter::{Node, QueryMatch};

use super::grammar::{CaptureKind, CompiledGrammar, DeclaratorNode};
use crate::facts::ReferenceRole;
use crate::limits::MAX_FILE_SYMBOLS;
use codeyard_model::code::SymbolKind;

/// References kept of one source.
const MAX_FILE_REFERENCES: usize = 400_000;

/// A range of the source in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ByteSpan {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl ByteSpan {
    /// Its length in bytes.
    pub(super) fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }
}

/// A symbol that the query matched.
#[derive(Debug, Clone, Copy)]
pub(super) struct SymbolCapture {
    pub(super) kind: SymbolKind,
    pub(super) is_definition: bool,
    /// It has no children.
    pub(super) is_flat: bool,
    /// It contains the rest of the file (`#set! rest`).
    pub(super) is_rest: bool,
    pub(super) span: ByteSpan,
    /// Where its body begins and its signature ends, if the grammar has a body.
    pub(super) body: Option<u32>,
    pub(super) name: ByteSpan,
    /// The row of its name and the column in bytes, from 0.
    pub(super) position: (u32, u32),
    /// Its first and its last row, from 0.
    pub(super) rows: (u32, u32),
    pub(super) scope: Option<ByteSpan>,
    /// The number of its parameters, in languages where functions with other numbers of parameters are other functions; otherwise 0.
    pub(super) arity: usize,
    /// The pattern's position in the query. Of two patterns for one name the first one wins.
    pub(super) pattern: u32,
}

/// A reference that the query matched.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReferenceCapture {
    pub(super) span: ByteSpan,
    pub(super) role: ReferenceRole,
    pub(super) form: NameForm,
    /// The row and the column in bytes, from 0.
    pub(super) position: (u32, u32),
    pub(super) pattern: u32,
}

/// What a captured name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameForm {
    Use,
    /// A call without arguments, unless the name is local.
    Bare,
    /// A local name. It isn't a reference.
    Bound,
}

#[derive(Debug, Default)]
pub(super) struct Captures {
    pub(super) symbols: Vec<SymbolCapture>,
    pub(super) references: Vec<ReferenceCapture>,
    pub(super) locals: Vec<ByteSpan>,
    pub(super) wrappers: Vec<ByteSpan>,
    /// Comments, and attributes where the flag is `true`.
    pub(super) comments: Vec<(ByteSpan, bool)>,
    pub(super) docs: Vec<ByteSpan>,
    pub(super) access: Vec<ByteSpan>,
    pub(super) exported: Vec<ByteSpan>,
    /// A limit on symbols or references was reached.
    pub(super) is_cut: bool,
    /// The last symbol's node, by its id, and where its body begins. `int a, b, c;` is one node for many symbols.
    last_body: Option<(usize, Option<u32>)>,
}

/// The node's byte range. Sources are smaller than 4 GiB: [`super::extract`] checks the size.
pub(super) fn span(node: Node<'_>) -> ByteSpan {
    let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    ByteSpan { start: small(node.start_byte()), end: small(node.end_byte()) }
}

/// The row and the column in bytes where a node begins.
pub(super) fn position(node: Node<'_>) -> (u32, u32) {
    let at = node.start_position();
    (u32::try_from(at.row).unwrap_or(u32::MAX), u32::try_from(at.column).unwrap_or(u32::MAX))
}

/// The number of parameters in a list of them.
fn parameters(list: Node<'_>) -> usize {
    let mut cursor = list.walk();
    list.named_children(&mut cursor).filter(|child| !child.is_extra()).count()
}

impl Captures {
    pub(super) fn add_match(&mut self, found: &QueryMatch<'_, '_>, compiled: &CompiledGrammar) {
        let pattern = u32::try_from(found.pattern_index).unwrap_or(u32::MAX);
        let mut symbol = None;
        let mut name = None;
        let mut body = None;
        let mut scope = None;
        let mut declarator = None;
        let mut arity = 0;
        for capture in found.captures() {
            let node = capture.node;
            match compiled.capture_kinds[capture.index as usize] {
                CaptureKind::Symbol(kind, is_definition) => symbol = Some((node, kind, is_definition)),
                CaptureKind::Name => name = Some(node),
                CaptureKind::Declarator => declarator = Some(node),
                CaptureKind::Body => body = Some(node),
                CaptureKind::Parameters => arity = parameters(node),
                CaptureKind::Scope => scope = Some(span(node)),
                CaptureKind::Local => self.locals.push(span(node)),
                CaptureKind::Whole => self.wrappers.push(span(node)),
                CaptureKind::Comment => self.comments.push((span(node), false)),
                CaptureKind::Attribute => self.comments.push((span(node), true)),
                CaptureKind::Doc => self.docs.push(span(node)),
                CaptureKind::Access => self.access.push(span(node)),
                CaptureKind::Exported => self.exported.push(span(node)),
                CaptureKind::Reference(role) => self.add_reference(node, role, NameForm::Use, pattern),
                CaptureKind::BareCall => self.add_reference(node, ReferenceRole::Call, NameForm::Bare, pattern),
                CaptureKind::Bound => self.add_reference(node, ReferenceRole::Other, NameForm::Bound, pattern),
                CaptureKind::Ignored => {}
            }
        }
        let Some((node, mut kind, mut is_definition)) = symbol else { return };
        if let Some(outer) = declarator {
            let Some((inner, is_function)) = declared_name(outer, compiled) else { return };
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
        let body = match body {
            Some(body) => compiled.initializer_start(node).or(Some(span(body).start)),
            None => self.body_of(node, compiled),
        };
        let first = node.start_position();
        let last = node.end_position();
        // A node that ends with a line break ends on the row before.
        let last = if last.column == 0 && last.row > first.row { last.row - 1 } else { last.row };
        let row = |row: usize| u32::try_from(row).unwrap_or(u32::MAX);
        self.symbols.push(SymbolCapture {
            kind,
            is_definition,
            is_flat: compiled.flat.get(found.pattern_index).copied().unwrap_or(false),
            is_rest: compiled.rest.get(found.pattern_index).copied().unwrap_or(false),
            span: whole,
            body: body.filter(|body| *body > whole.start),
            name: span(name),
            position: position(name),
            rows: (row(first.row), row(last)),
            scope,
            arity,
            pattern,
        });
    }

    /// Where the body of a symbol begins that the query doesn't capture.
    fn body_of(&mut self, node: Node<'_>, compiled: &CompiledGrammar) -> Option<u32> {
        if let Some((id, body)) = self.last_body
            && id == node.id()
        {
            return body;
        }
        let field = || node.child_by_field_id(compiled.body?.get()).map(|body| span(body).start);
        let body = compiled.initializer_start(node).or_else(field);
        self.last_body = Some((node.id(), body));
        body
    }

    fn add_reference(&mut self, node: Node<'_>, role: ReferenceRole, form: NameForm, pattern: u32) {
        if self.references.len() >= MAX_FILE_REFERENCES {
            self.is_cut = true;
            return;
        }
        let span = span(node);
        if span.start < span.end {
            self.references.push(ReferenceCapture { span, role, form, position: position(node), pattern });
        }
    }
}

/// The name inside a C declarator, and whether the declarator declares a function.
fn declared_name<'t>(outer: Node<'t>, compiled: &CompiledGrammar) -> Option<(Node<'t>, bool)> {
    const MAX_DEPTH: usize = 64;
    let mut node = outer;
    let mut is_function = false;
    for _ in 0..MAX_DEPTH {
        match compiled.declarator_node(node) {
            DeclaratorNode::Name => return Some((node, is_function)),
            DeclaratorNode::Cast => return Some((node, true)),
            DeclaratorNode::Function => is_function = true,
            // A pointer to a function isn't a function.
            DeclaratorNode::Pointer => is_function = false,
            DeclaratorNode::Modifier | DeclaratorNode::Other => {}
        }
        let inner = compiled.declarator.and_then(|field| node.child_by_field_id(field.get()));
        node = inner.or_else(|| {
            let mut cursor = node.walk();
            let is_modifier = |child: &Node<'_>| compiled.declarator_node(*child) == DeclaratorNode::Modifier;
            node.named_children(&mut cursor).filter(|child| !is_modifier(child)).last()
        })?;
    }
    None
}
