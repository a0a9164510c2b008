//! What the tokens of a macro declare that aren't items of Rust as a whole: `bitflags! { pub struct Flags: u32 { const A = 1; } }`.
//!
//! A declaration is a keyword of an item and a name, where an item may begin, up to its braces or `;`. What follows in the braces of a type
//! is read in the same way: constants, functions, and the variants of an enumeration. Linear in the tokens.

use tree_sitter::Node;

use super::MAX_ITEM_MACRO_LEVELS;
use crate::extract::captures::{SymbolCapture, position, span};
use codeyard_model::code::SymbolKind;

/// Tokens of one body that are read.
const MAX_TOKENS: usize = 20_000;

/// The declarations in a tree of tokens, each before those in it.
pub(super) fn symbols(tokens: Node<'_>) -> Vec<SymbolCapture> {
    let mut found = Vec::new();
    add(tokens, false, 0, &mut found);
    found
}

/// Adds the declarations among the tokens in braces.
fn add(braces: Node<'_>, is_enum: bool, level: usize, found: &mut Vec<SymbolCapture>) {
    if level > MAX_ITEM_MACRO_LEVELS {
        return;
    }
    let mut cursor = braces.walk();
    let all: Vec<Node<'_>> = braces.children(&mut cursor).take(MAX_TOKENS).collect();
    let tokens = all.get(1..all.len().saturating_sub(1)).unwrap_or_default();
    // Found once, so that variants without a comma behind them don't each look for one.
    let last_comma = tokens.iter().rposition(|token| token.kind() == ",");
    // Where the declaration begins, and whether one may begin here.
    let mut start = None;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let kind = token.kind();
        let first = start.unwrap_or(*token);
        let follows = |kinds: &[&str]| tokens.get(at + 1).is_none_or(|next| kinds.contains(&next.kind()));
        if let Some((declared, name)) = declaration(tokens, at) {
            let end = end_of(tokens, at);
            add_symbol(first, name, declared, tokens.get(end), level, found);
            at = end + 1;
            start = None;
        } else if is_enum && kind == "identifier" && start.is_none() && follows(&["token_tree", ",", "=", "identifier"])
        {
            add_symbol(first, *token, SymbolKind::Const, None, level, found);
            at = after_variant(tokens, at, last_comma);
        } else if is_modifier(kind) {
            start = Some(first);
            at += 1;
        } else if kind == "token_tree" && start.is_some() {
            // `pub(crate)`
            at += 1;
        } else if matches!(kind, "#" | ";" | "," | "line_comment" | "block_comment") {
            start = None;
            // The brackets of an attribute.
            at += if kind == "#" { 2 } else { 1 };
        } else {
            // Something else: the next declaration begins behind its braces or `;`.
            at = end_of(tokens, at) + 1;
            start = None;
        }
    }
}

/// The kind and the name, if a keyword at this place declares something.
fn declaration<'t>(tokens: &[Node<'t>], at: usize) -> Option<(SymbolKind, Node<'t>)> {
    let kind = match tokens[at].kind() {
        "struct" | "union" => SymbolKind::Struct,
        "enum" => SymbolKind::Enum,
        "trait" => SymbolKind::Trait,
        "fn" => SymbolKind::Fn,
        "const" => SymbolKind::Const,
        "static" => SymbolKind::Static,
        "mod" => SymbolKind::Module,
        "type" => SymbolKind::Type,
        _ => return None,
    };
    let name = tokens.get(at + 1).filter(|name| name.kind() == "identifier")?;
    Some((kind, *name))
}

fn is_modifier(kind: &str) -> bool {
    matches!(kind, "pub" | "async" | "unsafe" | "extern" | "default" | "crate" | "string_literal")
}

/// The token that ends the declaration at this place: braces, or `;`.
fn end_of(tokens: &[Node<'_>], at: usize) -> usize {
    let ends = |token: &Node<'_>| token.kind() == ";" || is_in_braces(*token);
    (at..tokens.len()).find(|end| ends(&tokens[*end])).unwrap_or(tokens.len().saturating_sub(1))
}

/// The place behind the variant at this place: behind the next comma, or behind its braces if none follows.
fn after_variant(tokens: &[Node<'_>], at: usize, last_comma: Option<usize>) -> usize {
    let Some(last) = last_comma.filter(|last| at < *last) else { return after_braces(tokens, at) };
    (at..last).find(|comma| tokens[*comma].kind() == ",").unwrap_or(last) + 1
}

/// The place behind the trees of tokens that follow.
fn after_braces(tokens: &[Node<'_>], at: usize) -> usize {
    let rest = tokens.get(at + 1..).unwrap_or_default();
    at + 1 + rest.iter().take_while(|token| token.kind() == "token_tree").count()
}

fn is_in_braces(token: Node<'_>) -> bool {
    token.kind() == "token_tree" && token.child(0).is_some_and(|open| open.kind() == "{")
}

fn add_symbol(
    first: Node<'_>,
    name: Node<'_>,
    kind: SymbolKind,
    end: Option<&Node<'_>>,
    level: usize,
    found: &mut Vec<SymbolCapture>,
) {
    let body = end.filter(|end| is_in_braces(**end));
    let last = end.copied().unwrap_or(name);
    let mut whole = span(first);
    whole.end = span(last).end.max(whole.end);
    let row = |row: usize| u32::try_from(row).unwrap_or(u32::MAX);
    found.push(SymbolCapture {
        kind,
        is_definition: true,
        is_flat: false,
        is_rest: false,
        span: whole,
        body: body.map(|body| span(*body).start),
        name: span(name),
        position: position(name),
        rows: (row(first.start_position().row), row(last.end_position().row)),
        scope: None,
        arity: 0,
        pattern: u32::MAX,
    });
    if let Some(body) = body.filter(|_| kind != SymbolKind::Fn) {
        add(*body, kind == SymbolKind::Enum, level + 1, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::{grammar, parse_all};
    use crate::language::Language;

    /// How many declarations there are in an enumeration with this body, itself included.
    fn declarations(body: &str) -> usize {
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&grammar::compiled(Language::RUST).unwrap().grammar).unwrap();
        let tree = parse_all(&mut parser, &format!("m! {{ enum E {{ {body} }} }}")).unwrap();
        let open = tree.root_node().descendant_for_byte_range(3, 4).unwrap();
        symbols(open.parent().unwrap()).len()
    }

    #[test]
    fn variants_end_at_a_comma_or_without_one() {
        assert_eq!(declarations("A{} B, C{} D{}"), 4);
        assert_eq!(declarations("A = 1, B(u8), C"), 4);
    }

    #[test]
    fn many_variants_without_commas_take_linear_time() {
        // The first and the last token that are read are no variants.
        assert_eq!(declarations(&"A ".repeat(2 * MAX_TOKENS)), 1 + (MAX_TOKENS - 2));
        assert_eq!(declarations(&"A{} ".repeat(2 * MAX_TOKENS)), 1 + (MAX_TOKENS - 2) / 2);
    }
}
