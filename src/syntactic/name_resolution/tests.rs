//! Name resolution on handwritten facts.

use super::*;
use crate::cursor_context::cursor_context;
use crate::testing::{InMemoryFacts, file, reference, symbol};
use codeyard_index::{Reference, ReferenceRole};
use codeyard_lsp::text::Document;
use codeyard_model::position::Position;

fn import(name: &str, line: u32) -> Symbol {
    symbol(SymbolKind::Use, name, None, [line, line], [line, 0])
}

/// `path:line` of each symbol that the word at a position resolves to.
fn resolved(source: &InMemoryFacts, path: &str, line: u32, character: u32) -> Vec<String> {
    let file = source.file(path).unwrap().unwrap();
    let document: std::sync::Arc<Document> = source.text(path).unwrap();
    let cursor = cursor_context(&file, &document, Position { line, character }).expect("a word");
    let found = resolve(source, &file, &cursor).unwrap();
    found.iter().map(|(file, at)| format!("{}:{}", file.path, file.facts.symbols[*at].name_line)).collect()
}

fn call(name: &str, at: [u32; 2], within: u32) -> Reference {
    reference(name, ReferenceRole::Call, at, Some(within))
}

#[test]
fn the_innermost_scope_precedes_the_file() {
    let class = symbol(SymbolKind::Class, "A", None, [1, 4], [1, 6]);
    let own = symbol(SymbolKind::Method, "run", Some(0), [2, 2], [2, 6]);
    let caller = symbol(SymbolKind::Method, "go", Some(0), [3, 4], [3, 6]);
    let free = symbol(SymbolKind::Fn, "run", None, [6, 6], [6, 4]);
    let outside = symbol(SymbolKind::Fn, "query", None, [7, 8], [7, 4]);
    let inside = symbol(SymbolKind::Fn, "only", Some(1), [2, 2], [2, 20]);
    let text =
        "class A:\n  def run(): pass\n  def go():\n    run(); only()\n\ndef run(): pass\ndef query():\n    run()\n";
    let calls = vec![call("run", [4, 4], 2), call("only", [4, 11], 2), call("run", [8, 4], 4)];
    let known = file("a.py", vec![class, own, caller, free, outside, inside], calls);
    let source = InMemoryFacts::new(vec![
        (known, text),
        (file("b.py", vec![symbol(SymbolKind::Fn, "run", None, [1, 1], [1, 4])], vec![]), "def run(): pass\n"),
    ]);
    assert_eq!(resolved(&source, "a.py", 3, 4), ["a.py:2"]);
    assert_eq!(resolved(&source, "a.py", 7, 4), ["a.py:6"]);
    assert_eq!(resolved(&source, "a.py", 3, 12), ["a.py:2"], "declared in the file, in no enclosing scope");
    assert_eq!(resolved(&source, "a.py", 0, 6), ["a.py:1"], "a symbol's own name resolves to the symbol");
}

fn shop_files() -> InMemoryFacts {
    let open = |path: &str| file(path, vec![symbol(SymbolKind::Fn, "open", None, [1, 1], [1, 3])], vec![]);
    let caller = vec![import("shop.store.open", 1), symbol(SymbolKind::Fn, "main", None, [2, 4], [2, 3])];
    let calls = vec![call("open", [3, 2], 1), call("open", [4, 8], 1)];
    let foreign = file("x.go", vec![symbol(SymbolKind::Fn, "open", None, [1, 1], [1, 5])], vec![]);
    InMemoryFacts::new(vec![
        (file("a/main.py", caller, calls), "from shop.store import open\ndef main():\n  open()\n  bazaar.open()\n"),
        (open("shop/store.py"), "def open(): pass\n"),
        (open("shop/bazaar.py"), "def open(): pass\n"),
        (open("other/store.py"), "def open(): pass\n"),
        (foreign, "func open() {}\n"),
    ])
}

#[test]
fn imports_and_qualifiers_select_the_file() {
    let source = shop_files();
    assert_eq!(resolved(&source, "a/main.py", 2, 3), ["shop/store.py:1"]);
    assert_eq!(resolved(&source, "a/main.py", 3, 9), ["shop/bazaar.py:1"]);
}

#[test]
fn without_import_or_qualifier_all_files_of_the_language_count() {
    let known = file("m.py", vec![symbol(SymbolKind::Fn, "f", None, [1, 2], [1, 4])], vec![call("open", [2, 2], 0)]);
    let mut files = vec![(known, "def f():\n  open()\n")];
    for path in ["b.py", "a.py", "c.go"] {
        files.push((
            file(path, vec![symbol(SymbolKind::Fn, "open", None, [1, 1], [1, 4])], vec![]),
            "def open(): pass\n",
        ));
    }
    let source = InMemoryFacts::new(files);
    assert_eq!(resolved(&source, "m.py", 1, 3), ["a.py:1", "b.py:1"]);
}

#[test]
fn a_member_access_prefers_members() {
    let class = symbol(SymbolKind::Class, "Box", None, [1, 3], [1, 6]);
    let member = symbol(SymbolKind::Method, "put", Some(0), [2, 2], [2, 6]);
    let free = symbol(SymbolKind::Fn, "put", None, [5, 5], [5, 4]);
    let caller = symbol(SymbolKind::Fn, "f", None, [6, 8], [6, 4]);
    let calls = vec![call("put", [7, 4], 3), call("put", [8, 6], 3)];
    let text = "class Box:\n  def put(): pass\n\n\ndef put(): pass\ndef f():\n  b.put()\n  Box.put()\n";
    let source = InMemoryFacts::new(vec![(file("a.py", vec![class, member, free, caller], calls), text)]);
    assert_eq!(resolved(&source, "a.py", 6, 5), ["a.py:2"]);
    assert_eq!(resolved(&source, "a.py", 7, 7), ["a.py:2"]);
}

#[test]
fn a_declaration_resolves_to_its_definition() {
    let mut declaration = symbol(SymbolKind::Fn, "area", None, [1, 1], [1, 4]);
    declaration.is_definition = false;
    let definition = symbol(SymbolKind::Fn, "area", None, [1, 1], [1, 4]);
    let source = InMemoryFacts::new(vec![
        (file("shape.h", vec![declaration], vec![]), "int area(void);\n"),
        (file("shape.c", vec![definition], vec![]), "int area(void) { return 1; }\n"),
    ]);
    assert_eq!(resolved(&source, "shape.h", 0, 5), ["shape.c:1"]);
    assert_eq!(resolved(&source, "shape.c", 0, 5), ["shape.c:1"]);
}

#[test]
fn the_number_of_definitions_is_bounded() {
    let known = file("m.py", vec![symbol(SymbolKind::Fn, "f", None, [1, 2], [1, 4])], vec![call("g", [2, 2], 0)]);
    let mut files = vec![(known, "def f():\n  g()\n")];
    let paths: Vec<String> = (0..2 * MAX_NAMED_DEFINITIONS).map(|number| format!("d/{number:03}.py")).collect();
    for path in &paths {
        files.push((file(path, vec![symbol(SymbolKind::Fn, "g", None, [1, 1], [1, 4])], vec![]), "def g(): pass\n"));
    }
    let source = InMemoryFacts::new(files);
    assert_eq!(resolved(&source, "m.py", 1, 2).len(), MAX_NAMED_DEFINITIONS);
}
