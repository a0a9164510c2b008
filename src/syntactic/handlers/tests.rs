//! Handlers on handwritten facts.

use super::*;
use crate::testing::{InMemoryFacts, file, reference, symbol};

const ROOT: &str = "/w";

fn source() -> InMemoryFacts {
    let shape = symbol(SymbolKind::Interface, "Shape", None, [1, 3], [1, 10]);
    let mut area = symbol(SymbolKind::Method, "area", Some(0), [2, 2], [2, 2]);
    area.is_definition = false;
    area.signature = "area(): number".into();
    area.doc = "How large.".into();
    let box_ = symbol(SymbolKind::Class, "Box", None, [5, 7], [5, 6]);
    let own = symbol(SymbolKind::Method, "area", Some(2), [6, 6], [6, 2]);
    let main = symbol(SymbolKind::Fn, "main", None, [9, 11], [9, 9]);
    let text = "interface Shape {\n  area(): number;\n}\n\nclass Box implements Shape {\n  area() { return 1; }\n}\n\nfunction main(s: Shape) {\n  s.area(); s.area();\n}\n";
    let references = vec![
        reference("Shape", ReferenceRole::Base, [5, 21], Some(2)),
        reference("Shape", ReferenceRole::Type, [9, 17], Some(4)),
        reference("area", ReferenceRole::Call, [10, 4], Some(4)),
        reference("area", ReferenceRole::Call, [10, 14], Some(4)),
    ];
    InMemoryFacts::new(vec![(file("a.ts", vec![shape, area, box_, own, main], references), text)])
}

fn at(line: u32, character: u32) -> lsp::TextDocumentPositionParams {
    let uri = lsp::Url::from_file_path("/w/a.ts").unwrap();
    lsp::TextDocumentPositionParams::new(lsp::TextDocumentIdentifier::new(uri), lsp::Position::new(line, character))
}

fn places(list: &[lsp::Location]) -> Vec<(u32, u32)> {
    list.iter().map(|one| (one.range.start.line, one.range.start.character)).collect()
}

#[test]
fn every_request_is_answered() {
    let source = source();
    let request = HandlerContext { source: &source, root: Path::new(ROOT), encoding: PositionEncoding::Utf16 };
    assert_eq!(places(&request.definition(&at(9, 4)).unwrap()), [(5, 2)], "the definition, not the declaration");
    assert_eq!(places(&request.declaration(&at(9, 4)).unwrap()), [(1, 2)]);
    assert_eq!(places(&request.references(&at(5, 2), false).unwrap()), [(9, 4), (9, 14)]);
    assert_eq!(places(&request.references(&at(5, 2), true).unwrap()), [(1, 2), (5, 2), (9, 4), (9, 14)]);
    assert_eq!(places(&request.implementation(&at(0, 12)).unwrap()), [(4, 6)]);
    let implemented = request.implementation(&at(8, 18)).unwrap();
    assert_eq!(places(&implemented), [(4, 6)], "from a reference");
    let hover = request.hover(&at(1, 3)).unwrap().unwrap();
    let lsp::HoverContents::Markup(markup) = hover.contents else { panic!("no markup") };
    assert_eq!(markup.value, "```typescript\narea(): number\n```\n\nHow large.", "the symbol at the cursor");
    assert_eq!(hover.range.unwrap().start, lsp::Position::new(1, 2));
    assert!(request.hover(&at(3, 0)).unwrap().is_none());
    let outside = lsp::Url::from_file_path("/elsewhere/a.ts").unwrap();
    assert!(matches!(request.document_symbols(&outside), Err(SyntacticError::InvalidParams(_))));
}

#[test]
fn document_symbols_are_nested_and_workspace_symbols_have_containers() {
    let source = source();
    let request = HandlerContext { source: &source, root: Path::new(ROOT), encoding: PositionEncoding::Utf16 };
    let outline = request.document_symbols(&lsp::Url::from_file_path("/w/a.ts").unwrap()).unwrap();
    let names: Vec<(String, usize)> =
        outline.iter().map(|one| (one.name.clone(), one.children.as_ref().map_or(0, Vec::len))).collect();
    assert_eq!(names, [("Shape".into(), 1), ("Box".into(), 1), ("main".into(), 0)]);
    assert_eq!((outline[1].range.start, outline[1].range.end), (lsp::Position::new(4, 0), lsp::Position::new(6, 1)));
    let found = request.symbols("area").unwrap();
    let containers: Vec<Option<String>> = found.into_iter().map(|one| one.container_name).collect();
    assert_eq!(containers, [Some("Shape".into()), Some("Box".into())]);
    assert!(request.symbols(" ").unwrap().is_empty());
}

#[test]
fn incoming_and_outgoing_calls_are_found() {
    let source = source();
    let request = HandlerContext { source: &source, root: Path::new(ROOT), encoding: PositionEncoding::Utf16 };
    let items = request.prepare_calls(&at(9, 4)).unwrap();
    assert_eq!((items.len(), items[0].name.as_str(), items[0].selection_range.start.line), (1, "area", 5));
    let incoming = request.incoming(&items[0]).unwrap();
    assert_eq!((incoming.len(), incoming[0].from.name.as_str(), incoming[0].from_ranges.len()), (1, "main", 2));
    let outgoing = request.outgoing(&incoming[0].from).unwrap();
    assert_eq!((outgoing.len(), outgoing[0].to.name.as_str()), (1, "area"));
    assert_eq!(outgoing[0].from_ranges.len(), 2);
    assert!(request.outgoing(&items[0]).unwrap().is_empty());
    let foreign = lsp::CallHierarchyItem { data: None, ..items[0].clone() };
    assert!(matches!(request.incoming(&foreign), Err(SyntacticError::InvalidParams(_))));
}

#[test]
fn a_file_without_a_grammar_is_an_error_that_says_so() {
    let source = InMemoryFacts::new(vec![(file("a.jl", vec![], vec![]), "a")]);
    let request = HandlerContext { source: &source, root: Path::new(ROOT), encoding: PositionEncoding::Utf16 };
    let answer = request.document_symbols(&lsp::Url::from_file_path("/w/a.jl").unwrap());
    // The feature `all-languages` may be on.
    let Err(error) = answer else { return assert!(codeyard_index::Language::JULIA.has_grammar()) };
    let SyntacticError::Failed(why) = error else { panic!("{error:?}") };
    assert!(why.starts_with("a.jl isn't parsed: this build has no grammar for julia"), "{why}");
}

#[test]
fn a_file_that_is_too_complex_is_an_error_that_says_so() {
    let mut complex = file("a.ts", vec![], vec![]);
    complex.facts = std::sync::Arc::new(Facts::too_complex());
    let source = InMemoryFacts::new(vec![(complex, "a")]);
    let request = HandlerContext { source: &source, root: Path::new(ROOT), encoding: PositionEncoding::Utf16 };
    let uri = lsp::Url::from_file_path("/w/a.ts").unwrap();
    for error in [request.document_symbols(&uri).unwrap_err(), request.definition(&at(0, 0)).unwrap_err()] {
        let SyntacticError::Failed(why) = error else { panic!("{error:?}") };
        assert!(why.starts_with("a.ts is too complex to parse"), "{why}");
    }
}

/// A module of Python with a function, a constant and a local name, and a template of another language.
fn plain_uses() -> InMemoryFacts {
    let text = "LIMIT = 3\n\ndef area(side):\n    total = side * LIMIT\n    return total\n\nrun(area)\n";
    let limit = symbol(SymbolKind::Const, "LIMIT", None, [1, 1], [1, 0]);
    let area = symbol(SymbolKind::Fn, "area", None, [3, 5], [3, 4]);
    let shadow = symbol(SymbolKind::Fn, "shadow", None, [1, 3], [1, 4]);
    let other = "def shadow(area):\n    return area\n\nx = m.area\n";
    InMemoryFacts::new(vec![
        (file("a.py", vec![limit, area], vec![]), text),
        (file("b.py", vec![shadow], vec![]), other),
        (file("page.jinja", vec![], vec![]), "area {{ area }}\n"),
        (file("c.rb", vec![], vec![]), "area\n"),
    ])
}

fn in_file(path: &str, line: u32, character: u32) -> lsp::TextDocumentPositionParams {
    let uri = lsp::Url::from_file_path(format!("/w/{path}")).unwrap();
    lsp::TextDocumentPositionParams::new(lsp::TextDocumentIdentifier::new(uri), lsp::Position::new(line, character))
}

#[test]
fn plain_uses_and_uses_in_templates_are_references_and_local_names_are_not() {
    let source = plain_uses();
    let request = HandlerContext { source: &source, root: Path::new(ROOT), encoding: PositionEncoding::Utf16 };
    let shown = |list: Vec<lsp::Location>| -> Vec<String> {
        let one = |one: &lsp::Location| {
            format!("{}:{}:{}", &one.uri.path()[3..], one.range.start.line, one.range.start.character)
        };
        list.iter().map(one).collect()
    };
    assert_eq!(
        shown(request.references(&in_file("a.py", 2, 5), true).unwrap()),
        ["a.py:2:4", "a.py:6:4", "b.py:3:6", "page.jinja:0:8"]
    );
    assert_eq!(shown(request.references(&in_file("a.py", 0, 1), false).unwrap()), ["a.py:3:19"]);
    // Names of one function.
    assert_eq!(shown(request.references(&in_file("a.py", 4, 12), true).unwrap()), ["a.py:3:4", "a.py:4:11"]);
    assert_eq!(shown(request.references(&in_file("a.py", 4, 12), false).unwrap()), ["a.py:4:11"]);
    assert_eq!(shown(request.definition(&in_file("a.py", 3, 12)).unwrap()), ["a.py:2:9"]);
    assert_eq!(shown(request.declaration(&in_file("b.py", 1, 11)).unwrap()), ["b.py:0:11"]);
    let hover = request.hover(&in_file("a.py", 4, 12)).unwrap().unwrap();
    let lsp::HoverContents::Markup(markup) = hover.contents else { panic!("no markup") };
    assert_eq!(markup.value, "```python\ntotal = side * LIMIT\n```");
}
