//! Walks over the syntax tree of a file once, and collects its links.

use std::cell::RefCell;
use std::collections::BTreeSet;

use tree_sitter::{Node, Parser};

use super::{ExportedValue, MemberAccess, ModuleLinks, NamePlace, NamedFunction};
use crate::extract::parse_all;
use crate::language::Language;
use crate::limits::MAX_PARSED_BYTES;
use codeyard_model::position::{Position, Range};

/// LSP `SymbolKind`s.
const METHOD: u32 = 6;
const FUNCTION: u32 = 12;

/// What is collected on the way.
pub(super) struct LinkReader<'a> {
    text: &'a str,
    /// Where each line begins, in bytes.
    lines: Vec<usize>,
    /// For each character outside of ASCII the byte behind it, and how many bytes more than UTF-16 code units the text has up to there.
    surplus: Vec<(usize, usize)>,
    pub(super) links: ModuleLinks,
    /// Variables that are another name of `module.exports`.
    pub(super) aliases: BTreeSet<String>,
    /// Assignments to members of variables outside of functions.
    pub(super) assigned: Vec<(String, NamePlace, ExportedValue)>,
}

pub(super) fn read(file_name: &str, text: &str) -> Option<ModuleLinks> {
    thread_local! {
        static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
    }
    let language = Language::of_file(file_name, text.lines().next().unwrap_or_default().as_bytes())?;
    if !matches!(language.name(), "javascript" | "typescript" | "tsx") || text.len() > MAX_PARSED_BYTES {
        return None;
    }
    let (grammar, _) = codeyard_grammars::grammar(language.name())?;
    let tree = PARSER.with_borrow_mut(|parser| {
        parser.set_language(&grammar).ok()?;
        parse_all(parser, text)
    })?;
    let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut reader = LinkReader {
        text,
        lines,
        surplus: surplus(text),
        links: ModuleLinks::default(),
        aliases: BTreeSet::new(),
        assigned: Vec::new(),
    };
    walk(tree.root_node(), &mut |node, outer| reader.visit(node, outer));
    reader.add_aliased_exports();
    reader.add_imported_exports();
    reader.add_variables(tree.root_node());
    reader.links.end = reader.position(text.len());
    Some(reader.links)
}

impl LinkReader<'_> {
    fn visit(&mut self, node: Node<'_>, outer: &OuterNodes<'_>) {
        match node.kind() {
            "assignment_expression" => self.add_assignment(node, outer),
            "variable_declarator" => self.add_declarator(node),
            "member_expression" => self.add_member(node),
            "import_statement" => self.add_import(node),
            "export_statement" => self.add_es_export(node),
            "shorthand_property_identifier_pattern" => self.add_property(Some(node)),
            "pair_pattern" => self.add_property(node.child_by_field_name("key")),
            "call_expression" => {
                self.add_callee(node.child_by_field_name("function"));
                self.add_require(node, outer);
                self.add_export_call(node);
            }
            "new_expression" => self.add_callee(node.child_by_field_name("constructor")),
            "function_declaration" | "generator_function_declaration" | "method_definition" => {
                self.add_function(node, node.child_by_field_name("name"));
            }
            "function_expression" | "generator_function" | "arrow_function" => {
                self.add_function(node, node.child_by_field_name("name").or_else(|| name_of_value(outer.parent()?)));
            }
            _ => {}
        }
    }

    /// Names that are taken out of a variable by `object.name`.
    fn add_member(&mut self, node: Node<'_>) {
        let (Some(object), Some(property)) = (node.child_by_field_name("object"), self.property(node)) else { return };
        self.links.properties.insert(property.range.start);
        let is_own_exports = self.is_exports(object);
        if is_own_exports || object.kind() == "identifier" {
            let object = self.position(object.start_byte());
            self.links.members.push(MemberAccess { object, is_own_exports, property });
        }
    }

    fn add_property(&mut self, name: Option<Node<'_>>) {
        if let Some(name) = name {
            let at = self.range(name).start;
            self.links.properties.insert(at);
        }
    }

    fn add_callee(&mut self, callee: Option<Node<'_>>) {
        let Some(callee) = callee.map(without_parentheses) else { return };
        let name = match callee.kind() {
            "member_expression" => callee.child_by_field_name("property"),
            "call_expression" => self.specifier(callee).and_then(|text| text.named_child(0)),
            _ => Some(callee),
        };
        if let Some(name) = name {
            let at = self.position(name.start_byte());
            self.links.callees.insert(at);
        }
    }

    fn add_function(&mut self, node: Node<'_>, name: Option<Node<'_>>) {
        let Some(name) = name.map(|name| self.place(name)) else { return };
        let kind = if node.kind() == "method_definition" { METHOD } else { FUNCTION };
        let range = self.range(node);
        self.links.functions.push(NamedFunction { name, kind, range });
    }

    /// The name behind the dot of a member expression.
    pub(super) fn property(&self, member: Node<'_>) -> Option<NamePlace> {
        let property = member.child_by_field_name("property")?;
        (property.kind() == "property_identifier").then(|| self.place(property))
    }

    /// Whether it is `exports` or `module.exports`.
    pub(super) fn is_exports(&self, node: Node<'_>) -> bool {
        match node.kind() {
            "identifier" => self.text_of(node) == "exports",
            "member_expression" => {
                let is = |field: &str, name: &str| {
                    node.child_by_field_name(field).is_some_and(|part| self.text_of(part) == name)
                };
                is("object", "module") && is("property", "exports")
            }
            _ => false,
        }
    }

    /// The place of a name; for a string, of what is between its quotes.
    pub(super) fn place(&self, node: Node<'_>) -> NamePlace {
        let node = if node.kind() == "string" { node.named_child(0).unwrap_or(node) } else { node };
        NamePlace { name: self.text_of(node).to_owned(), range: self.range(node) }
    }

    pub(super) fn text_of(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    pub(super) fn range(&self, node: Node<'_>) -> Range {
        Range { start: self.position(node.start_byte()), end: self.position(node.end_byte()) }
    }

    fn position(&self, byte: usize) -> Position {
        let line = self.lines.partition_point(|start| *start <= byte) - 1;
        let start = self.lines[line];
        let surplus_at = |byte: usize| match self.surplus.partition_point(|(end, _)| *end <= byte) {
            0 => 0,
            before => self.surplus[before - 1].1,
        };
        let character = byte - start - (surplus_at(byte) - surplus_at(start));
        Position { line: line as u32, character: character as u32 }
    }
}

/// The nodes around one, the root first. The tree itself finds the parent of a node only from its root.
#[derive(Default)]
pub(super) struct OuterNodes<'t> {
    nodes: Vec<Node<'t>>,
    functions: usize,
}

impl<'t> OuterNodes<'t> {
    /// The innermost of them.
    pub(super) fn parent(&self) -> Option<Node<'t>> {
        self.nodes.last().copied()
    }

    /// All of them, the root first.
    pub(super) fn all(&self) -> &[Node<'t>] {
        &self.nodes
    }

    pub(super) fn has_function(&self) -> bool {
        self.functions > 0
    }

    fn enter(&mut self, node: Node<'t>) {
        self.functions += usize::from(is_function(node));
        self.nodes.push(node);
    }

    fn leave(&mut self) {
        self.functions -= usize::from(self.nodes.pop().is_some_and(is_function));
    }
}

/// Visits all nodes of a tree in the order of the text, each with those around it, without recursion.
pub(super) fn walk<'t>(root: Node<'t>, visit: &mut dyn FnMut(Node<'t>, &OuterNodes<'t>)) {
    let mut cursor = root.walk();
    let mut outer = OuterNodes::default();
    loop {
        let node = cursor.node();
        visit(node, &outer);
        if cursor.goto_first_child() {
            outer.enter(node);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            outer.leave();
        }
    }
}

/// A minified file is one line, so the columns of its names can't be counted from the start of the line each.
fn surplus(text: &str) -> Vec<(usize, usize)> {
    let mut all = 0;
    let others = text.char_indices().filter(|(_, c)| !c.is_ascii());
    others
        .map(|(at, c)| {
            all += c.len_utf8() - c.len_utf16();
            (at + c.len_utf8(), all)
        })
        .collect()
}

fn is_function(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "function_declaration"
            | "generator_function_declaration"
            | "function_expression"
            | "generator_function"
            | "arrow_function"
            | "method_definition"
    )
}

/// A node with the parentheses around it, and the nodes around these. `outer` are the nodes around the node.
pub(super) fn with_parentheses<'n, 't>(node: Node<'t>, outer: &'n [Node<'t>]) -> (Node<'t>, &'n [Node<'t>]) {
    let mut node = node;
    let mut outer = outer;
    while let Some((parent, rest)) =
        outer.split_last().filter(|(parent, _)| parent.kind() == "parenthesized_expression")
    {
        (node, outer) = (*parent, rest);
    }
    (node, outer)
}

/// `(value)` as `value`.
pub(super) fn without_parentheses(node: Node<'_>) -> Node<'_> {
    let mut inner = node;
    while inner.kind() == "parenthesized_expression" {
        match inner.named_child(0) {
            Some(child) => inner = child,
            None => break,
        }
    }
    inner
}

/// The name that a function without one gets from what it is assigned to.
fn name_of_value(parent: Node<'_>) -> Option<Node<'_>> {
    let named = match parent.kind() {
        "variable_declarator" => parent.child_by_field_name("name")?,
        "pair" => parent.child_by_field_name("key")?,
        "assignment_expression" => {
            let left = parent.child_by_field_name("left")?;
            if left.kind() == "member_expression" { left.child_by_field_name("property")? } else { left }
        }
        _ => return None,
    };
    matches!(named.kind(), "identifier" | "property_identifier" | "private_property_identifier").then_some(named)
}
