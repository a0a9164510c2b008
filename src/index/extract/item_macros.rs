//! Opens the macro invocations of Rust whose body is itself items, so that the parser sees these items.
//!
//! To the grammar, `cfg_rt! { pub fn spawn() {} }` is an invocation with tokens. If these tokens are items, the invocation is overwritten
//! with blanks around them, and the items stand where the invocation stood: in a module, an `impl`, or another such macro. The same holds
//! for the parts in braces of a body such as `if #[cfg(unix)] { … } else { … }`. Where the tokens only begin like items, as in `bitflags!`,
//! `declared_tokens` finds what they declare. Nothing is known about any macro by name. Invocations inside functions
//! stay as they are, because what they declare is local.
//!
//! Invariants: the text keeps its length and its line breaks, so all offsets stay valid. Each level of nested macros is read once, the
//! levels are limited, and all bodies share the work budget of the source.

mod declared_tokens;

use std::borrow::Cow;
use std::ops::Range;

use tree_sitter::{Node, Parser, Point, Tree};

use super::blanked_text::BlankedText;
use super::captures::{NameForm, ReferenceCapture, SymbolCapture, position, span};
use super::parsing;
use super::work_budget::WorkBudget;
use crate::facts::ReferenceRole;

/// Levels of nested macros of Rust whose items are seen.
const MAX_ITEM_MACRO_LEVELS: usize = 8;

/// The macros of a source.
pub(super) struct OpenedMacros {
    /// The source with blanks in place of the macros that contain items, of the same length. `None` if there are none.
    pub(super) text: Option<String>,
    /// The names of these macros.
    pub(super) names: Vec<ReferenceCapture>,
    /// What the other macros declare.
    pub(super) symbols: Vec<SymbolCapture>,
}

/// The inside of a pair of braces.
#[derive(Debug, Clone)]
struct Braced {
    bytes: Range<usize>,
    points: (Point, Point),
    /// Whether it begins like an item, or has no tokens.
    may_be_items: bool,
}

/// An invocation where an item may stand.
struct Invocation {
    bytes: Range<usize>,
    name: Option<ReferenceCapture>,
    body: Braced,
    /// The parts of the body in braces.
    parts: Vec<Braced>,
    /// What its tokens declare, if they aren't items as a whole.
    declared: Vec<SymbolCapture>,
    level: usize,
}

/// Opens the macros of `source`, whose tree is `tree`.
pub(super) fn open(parser: &mut Parser, tree: &Tree, source: &str, budget: &WorkBudget) -> OpenedMacros {
    let mut pending = invocations(tree.root_node(), source, 0);
    let mut reader = BodyReader { parser, source, budget };
    let mut text = BlankedText::new(source);
    let mut names = Vec::new();
    let mut symbols = Vec::new();
    while let Some(mut found) = pending.pop() {
        let Some((kept, inner)) = reader.items(&found) else {
            symbols.append(&mut found.declared);
            continue;
        };
        pending.extend(inner);
        names.extend(found.name);
        let mut at = found.bytes.start;
        for part in kept {
            text.blank(at..part.start);
            at = part.end;
        }
        text.blank(at..found.bytes.end);
        // An empty item, so that a comment above the macro isn't one of the first item in it.
        text.put(found.bytes.start, ";");
    }
    // Ranges of bytes are those of tokens, so the text stays valid.
    let text = match text.into_text() {
        Cow::Owned(text) => Some(text),
        Cow::Borrowed(_) => None,
    };
    OpenedMacros { text, names, symbols }
}

/// Parses bodies of macros.
struct BodyReader<'p> {
    parser: &'p mut Parser,
    source: &'p str,
    budget: &'p WorkBudget,
}

impl BodyReader<'_> {
    /// The parts of an invocation that are items, and the invocations among these. `None` if it doesn't consist of items.
    fn items(&mut self, of: &Invocation) -> Option<(Vec<Range<usize>>, Vec<Invocation>)> {
        if let Some((_, inner)) = self.read(&of.body, of.level).filter(|(has_items, _)| *has_items) {
            return Some((vec![of.body.bytes.clone()], inner));
        }
        let mut kept = Vec::new();
        let mut all = Vec::new();
        let mut has_any = false;
        for part in &of.parts {
            let (has_items, inner) = self.read(part, of.level)?;
            has_any |= has_items;
            all.extend(inner);
            kept.push(part.bytes.clone());
        }
        has_any.then_some((kept, all))
    }

    /// Whether there are items in braces, and the invocations among them. `None` if there is anything else.
    fn read(&mut self, braced: &Braced, level: usize) -> Option<(bool, Vec<Invocation>)> {
        if !braced.may_be_items || self.budget.is_spent() {
            return None;
        }
        let range = tree_sitter::Range {
            start_byte: braced.bytes.start,
            end_byte: braced.bytes.end,
            start_point: braced.points.0,
            end_point: braced.points.1,
        };
        self.parser.set_included_ranges(&[range]).ok()?;
        let tree = parsing::parse(self.parser, self.source.as_bytes().get(..braced.bytes.end)?, self.budget);
        self.parser.set_included_ranges(&[]).ok()?;
        let tree = tree?;
        let root = tree.root_node();
        if root.kind() != "source_file" {
            return None;
        }
        let mut cursor = root.walk();
        let mut has_items = false;
        for child in root.children(&mut cursor) {
            match child.kind() {
                "line_comment" | "block_comment" | "attribute_item" | "inner_attribute_item" | "empty_statement" => {}
                // Errors inside an item cost what is wrong, not the item.
                kind if is_item(kind) && !child.is_missing() => has_items = true,
                _ if invocation_in(child).is_some() => has_items = true,
                _ => return None,
            }
        }
        let level = level + 1;
        let inner = if level < MAX_ITEM_MACRO_LEVELS { invocations(root, self.source, level) } else { Vec::new() };
        Some((has_items, inner))
    }
}

fn is_item(kind: &str) -> bool {
    matches!(
        kind,
        "function_item"
            | "function_signature_item"
            | "struct_item"
            | "union_item"
            | "enum_item"
            | "trait_item"
            | "impl_item"
            | "mod_item"
            | "foreign_mod_item"
            | "type_item"
            | "associated_type"
            | "const_item"
            | "static_item"
            | "macro_definition"
            | "use_declaration"
            | "extern_crate_declaration"
    )
}

/// The invocation that an item or a statement consists of.
fn invocation_in(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "macro_invocation" => Some(node),
        "expression_statement" => node.named_child(0).filter(|inner| inner.kind() == "macro_invocation"),
        _ => None,
    }
}

/// The invocations where items may stand: in the file, and in bodies of modules, traits, implementations and `extern` blocks.
fn invocations(root: Node<'_>, source: &str, level: usize) -> Vec<Invocation> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(list) = open.pop() {
        let mut cursor = list.walk();
        for child in list.named_children(&mut cursor) {
            match child.kind() {
                "mod_item" | "impl_item" | "trait_item" | "foreign_mod_item" => {
                    open.extend(child.child_by_field_name("body"));
                }
                _ => found.extend(invocation_in(child).and_then(|node| invocation(node, source, level))),
            }
        }
    }
    found
}

fn invocation(node: Node<'_>, source: &str, level: usize) -> Option<Invocation> {
    let mut cursor = node.walk();
    let tokens = node.children(&mut cursor).find(|child| child.kind() == "token_tree")?;
    let (body, parts) = braced(tokens, source)?;
    let path = node.child_by_field_name("macro");
    let name = path.map(|path| path.child_by_field_name("name").unwrap_or(path));
    let name = name.map(|name| ReferenceCapture {
        span: span(name),
        role: ReferenceRole::Call,
        form: NameForm::Use,
        position: position(name),
        pattern: u32::MAX,
    });
    let declared = if body.may_be_items { declared_tokens::symbols(tokens) } else { Vec::new() };
    Some(Invocation { bytes: node.start_byte()..tokens.end_byte(), name, body, parts, declared, level })
}

/// The inside of a tree of tokens, and the parts of it in braces. `None` if it isn't in closed braces or parentheses.
fn braced(tokens: Node<'_>, source: &str) -> Option<(Braced, Vec<Braced>)> {
    let body = inside(tokens, source)?;
    let mut cursor = tokens.walk();
    let parts = tokens
        .named_children(&mut cursor)
        .filter(|child| child.kind() == "token_tree" && source.as_bytes().get(child.start_byte()) == Some(&b'{'));
    let parts: Option<Vec<Braced>> = parts.map(|part| inside(part, source)).collect();
    Some((body, parts.unwrap_or_default()))
}

fn inside(tokens: Node<'_>, source: &str) -> Option<Braced> {
    let last = tokens.child_count().checked_sub(1)?;
    let open = tokens.child(0)?;
    let close = tokens.child(last)?;
    let is_closed = matches!((open.kind(), close.kind()), ("{", "}") | ("(", ")")) && !close.is_missing();
    if !is_closed {
        return None;
    }
    let mut cursor = tokens.walk();
    let mut inner = tokens.children(&mut cursor).skip(1);
    let first = inner.find(|child| !matches!(child.kind(), "line_comment" | "block_comment"));
    let word = first.and_then(|node| source.get(node.byte_range())).unwrap_or_default();
    let second = inner.next().map(|node| node.kind());
    Some(Braced {
        bytes: open.end_byte()..close.start_byte(),
        points: (open.end_position(), close.start_position()),
        may_be_items: first.is_some_and(|first| first == close) || begins_item(word, second),
    })
}

/// Whether an item may begin with this token. `second` is the one that follows.
fn begins_item(word: &str, second: Option<&str>) -> bool {
    matches!(
        word,
        "#" | "pub"
            | "crate"
            | "fn"
            | "struct"
            | "union"
            | "enum"
            | "trait"
            | "impl"
            | "mod"
            | "use"
            | "type"
            | "const"
            | "static"
            | "extern"
            | "async"
            | "unsafe"
            | "default"
            | "macro_rules"
    ) || matches!(second, Some("!" | "::"))
}

#[cfg(test)]
mod tests {
    use super::super::extract;
    use crate::facts::Facts;
    use crate::language::Language;

    fn facts(source: &str) -> Facts {
        extract(Language::RUST, source)
    }

    fn names(source: &str) -> Vec<String> {
        let facts = facts(source);
        (0..facts.symbols.len()).map(|at| facts.qualified_name(at)).collect()
    }

    #[test]
    fn items_in_macros_are_symbols_in_the_scope_of_the_macro() {
        for (source, expected) in [
            ("cfg_rt! {\n    pub fn spawn() {}\n}\nfn after() {}", "spawn after"),
            ("mod m { cfg_a! { cfg_b! { pub struct S { a: u8 } } } fn f() {} }", "m m::S m::S::a m::f"),
            ("impl S { cfg_a! { pub fn one(&self) {} } fn two() {} }", "S S::one S::two"),
            ("trait T { cfg_a! { fn one(&self); } }", "T T::one"),
            (
                "cfg_if! { if #[cfg(unix)] { mod a { fn f() {} } } else if #[cfg(x)] { fn g() {} } else { } }",
                "a a::f g",
            ),
            ("std::cfg_select! { unix => { fn f() {} } _ => { cfg! { fn g() {} } } }", "f g"),
            ("thread_local! { static KEY: Cell<u8> = const { Cell::new(1) }; }", "KEY"),
            ("lazy_static! { pub static ref NAME: Vec<u8> = vec![]; }", "NAME"),
            (
                "pin_project! { /// Waits.\n #[derive(Debug)] pub struct Wait<T> { #[pin] inner: T } }",
                "Wait Wait::inner",
            ),
            ("wrap!(fn inside() {});\nfn after() {}", "inside after"),
            (
                "bitflags! {\n #[derive(Debug)]\n pub struct Flags: u32 {\n const A = 1;\n const B = Self::A.bits();\n }\n}",
                "Flags Flags::A Flags::B",
            ),
            (
                "bitflags::bitflags! { struct One: u8 { const X = 1; } impl Two: u8 { const Y = 2; } }\nfn after() {}",
                "One One::X after",
            ),
            (
                "quick_error! { #[derive(Debug)] pub enum Error { Io(err: u8) { from() } Other { } } }",
                "Error Error::Io Error::Other",
            ),
            ("cfg_rt! { // only a comment\n #![allow(x)] use a::b; macro_rules! m { () => {} } }", "a::b m"),
        ] {
            assert_eq!(names(source).join(" "), expected, "{source}");
            assert!(!facts(source).has_errors, "{source}");
        }
    }

    #[test]
    fn what_is_not_items_stays_closed() {
        for source in [
            "fn f() { cfg_a! { fn local() {} } }",
            "rules! { a => b, fn => c }",
            "html! { <p>{ fn f() {} }</p> }",
            "macro_rules! m { ($x:ident) => { fn $x() {} } }",
            "list! { one, two, { three } }",
            "open! { fn f() {",
            "println!(\"{}\", 1);",
        ] {
            assert!(!names(source).iter().any(|name| name != "f" && name != "m"), "{source}: {:?}", names(source));
        }
    }

    #[test]
    fn places_signatures_comments_and_references_are_those_of_the_source() {
        let source = "/// About the macro.\ncfg_rt! {\n    /// Ä spawns.\n    #[must_use]\n    pub(crate) async fn spawn<T>(ä: T) -> u8 { \
                      helper() }\n}\nfn next() { spawn(1) }";
        let facts = facts(source);
        let spawn = &facts.symbols[0];
        assert_eq!((&*spawn.doc, &*spawn.signature), ("Ä spawns.", "pub(crate) async fn spawn<T>(ä: T) -> u8"));
        assert_eq!((spawn.line_start, spawn.line_end, spawn.name_line, spawn.name_column), (5, 5, 5, 24));
        let named = |name: &str| {
            let of = facts.references.iter().find(|of| of.name == name).unwrap();
            (of.line, of.column, of.within)
        };
        assert_eq!(named("cfg_rt"), (2, 0, None));
        assert_eq!(named("helper"), (5, 47, Some(0)));
        assert_eq!(facts.symbols[1].doc, "");
    }

    #[test]
    fn an_error_inside_an_item_does_not_cost_the_item() {
        assert!(names("proptest! { #[test] fn holds(a in 0..9) { assert!(a < 9) } }").contains(&"holds".to_owned()));
    }

    #[test]
    fn nested_and_broken_macros_take_linear_time() {
        let deep = |count: usize| format!("{}fn f() {{}}{}", "a! { ".repeat(count), " }".repeat(count));
        assert_eq!(names(&deep(super::MAX_ITEM_MACRO_LEVELS - 1)), ["f"]);
        assert!(names(&deep(20_000)).is_empty());
        let many: String = (0..20_000).map(|at| format!("a! {{ fn f{at}() {{}} }}\n")).collect();
        assert_eq!(names(&many).len(), 20_000);
        let parts = format!("a! {{ {} }}", "if x { fn f() {} } else ".repeat(20_000));
        assert_eq!(names(&parts).len(), 20_000);
        let broken = "a! { fn ( { [ ) } ] }\n".repeat(20_000);
        assert!(facts(&broken).symbols.len() <= 20_000);
        let modules = format!("{}a! {{ fn f() {{}} }}{}", "mod m { ".repeat(5_000), " }".repeat(5_000));
        assert_eq!(facts(&modules).symbols.len(), 5_001);
    }
}
