//! What a word means, on files made by hand.

use super::*;
use crate::spot::spot;
use crate::testing::{Shelf, file, reference, symbol};
use codeyard_index::{Reference, Role};
use codeyard_lsp::text::Document;
use codeyard_model::position::Position;

fn import(name: &str, line: u32) -> Symbol {
    symbol(SymbolKind::Use, name, None, (line, line), (line, 0))
}

/// `path:line` of everything that the word at a position means.
fn meant(library: &Shelf, path: &str, line: u32, character: u32) -> Vec<String> {
    let known = library.file(path).unwrap().unwrap();
    let document: std::sync::Arc<Document> = library.text(path).unwrap();
    let spot = spot(&known, &document, Position { line, character }).expect("a word");
    let found = resolve(library, &known, &spot).unwrap();
    found.iter().map(|(file, at)| format!("{}:{}", file.path, file.facts.symbols[*at].name_line)).collect()
}

fn call(name: &str, at: (u32, u32), within: u32) -> Reference {
    reference(name, Role::Call, at, Some(within))
}

#[test]
fn the_innermost_scope_comes_first_then_the_file() {
    let class = symbol(SymbolKind::Class, "A", None, (1, 4), (1, 6));
    let own = symbol(SymbolKind::Method, "run", Some(0), (2, 2), (2, 6));
    let asking = symbol(SymbolKind::Method, "go", Some(0), (3, 4), (3, 6));
    let free = symbol(SymbolKind::Fn, "run", None, (6, 6), (6, 4));
    let outside = symbol(SymbolKind::Fn, "ask", None, (7, 8), (7, 4));
    let inside = symbol(SymbolKind::Fn, "only", Some(1), (2, 2), (2, 20));
    let text =
        "class A:\n  def run(): pass\n  def go():\n    run(); only()\n\ndef run(): pass\ndef ask():\n    run()\n";
    let calls = vec![call("run", (4, 4), 2), call("only", (4, 11), 2), call("run", (8, 4), 4)];
    let known = file("a.py", vec![class, own, asking, free, outside, inside], calls);
    let library = Shelf::new(vec![
        (known, text),
        (file("b.py", vec![symbol(SymbolKind::Fn, "run", None, (1, 1), (1, 4))], vec![]), "def run(): pass\n"),
    ]);
    assert_eq!(meant(&library, "a.py", 3, 4), ["a.py:2"]);
    assert_eq!(meant(&library, "a.py", 7, 4), ["a.py:6"]);
    assert_eq!(meant(&library, "a.py", 3, 12), ["a.py:2"], "what stands nowhere around, but in the file");
    assert_eq!(meant(&library, "a.py", 0, 6), ["a.py:1"], "a name means itself");
}

fn three() -> Shelf {
    let open = |path: &str| file(path, vec![symbol(SymbolKind::Fn, "open", None, (1, 1), (1, 3))], vec![]);
    let asking = vec![import("shop.store.open", 1), symbol(SymbolKind::Fn, "main", None, (2, 4), (2, 3))];
    let calls = vec![call("open", (3, 2), 1), call("open", (4, 8), 1)];
    let foreign = file("x.go", vec![symbol(SymbolKind::Fn, "open", None, (1, 1), (1, 5))], vec![]);
    Shelf::new(vec![
        (file("a/main.py", asking, calls), "from shop.store import open\ndef main():\n  open()\n  bazaar.open()\n"),
        (open("shop/store.py"), "def open(): pass\n"),
        (open("shop/bazaar.py"), "def open(): pass\n"),
        (open("other/store.py"), "def open(): pass\n"),
        (foreign, "func open() {}\n"),
    ])
}

#[test]
fn imports_name_the_file_and_owners_too() {
    let library = three();
    assert_eq!(meant(&library, "a/main.py", 2, 3), ["shop/store.py:1"]);
    assert_eq!(meant(&library, "a/main.py", 3, 9), ["shop/bazaar.py:1"]);
}

#[test]
fn without_a_hint_all_of_the_language_are_named() {
    let known = file("m.py", vec![symbol(SymbolKind::Fn, "f", None, (1, 2), (1, 4))], vec![call("open", (2, 2), 0)]);
    let mut files = vec![(known, "def f():\n  open()\n")];
    for path in ["b.py", "a.py", "c.go"] {
        files.push((
            file(path, vec![symbol(SymbolKind::Fn, "open", None, (1, 1), (1, 4))], vec![]),
            "def open(): pass\n",
        ));
    }
    let library = Shelf::new(files);
    assert_eq!(meant(&library, "m.py", 1, 3), ["a.py:1", "b.py:1"]);
}

#[test]
fn a_member_of_something_unknown_is_likelier_a_member() {
    let class = symbol(SymbolKind::Class, "Box", None, (1, 3), (1, 6));
    let member = symbol(SymbolKind::Method, "put", Some(0), (2, 2), (2, 6));
    let free = symbol(SymbolKind::Fn, "put", None, (5, 5), (5, 4));
    let asking = symbol(SymbolKind::Fn, "f", None, (6, 8), (6, 4));
    let calls = vec![call("put", (7, 4), 3), call("put", (8, 6), 3)];
    let text = "class Box:\n  def put(): pass\n\n\ndef put(): pass\ndef f():\n  b.put()\n  Box.put()\n";
    let library = Shelf::new(vec![(file("a.py", vec![class, member, free, asking], calls), text)]);
    assert_eq!(meant(&library, "a.py", 6, 5), ["a.py:2"]);
    assert_eq!(meant(&library, "a.py", 7, 7), ["a.py:2"]);
}

#[test]
fn what_is_announced_leads_to_what_is_written() {
    let mut announced = symbol(SymbolKind::Fn, "area", None, (1, 1), (1, 4));
    announced.is_definition = false;
    let written = symbol(SymbolKind::Fn, "area", None, (1, 1), (1, 4));
    let library = Shelf::new(vec![
        (file("shape.h", vec![announced], vec![]), "int area(void);\n"),
        (file("shape.c", vec![written], vec![]), "int area(void) { return 1; }\n"),
    ]);
    assert_eq!(meant(&library, "shape.h", 0, 5), ["shape.c:1"]);
    assert_eq!(meant(&library, "shape.c", 0, 5), ["shape.c:1"]);
}

#[test]
fn so_many_of_one_name_are_bounded() {
    let known = file("m.py", vec![symbol(SymbolKind::Fn, "f", None, (1, 2), (1, 4))], vec![call("g", (2, 2), 0)]);
    let mut files = vec![(known, "def f():\n  g()\n")];
    let paths: Vec<String> = (0..2 * MAX_NAMED_DEFINITIONS).map(|number| format!("d/{number:03}.py")).collect();
    for path in &paths {
        files.push((file(path, vec![symbol(SymbolKind::Fn, "g", None, (1, 1), (1, 4))], vec![]), "def g(): pass\n"));
    }
    let library = Shelf::new(files);
    assert_eq!(meant(&library, "m.py", 1, 2).len(), MAX_NAMED_DEFINITIONS);
}
