//! Every name that a row has finds that row again, in every language.

use super::*;
use crate::Language;
use codeyard_model::code::DetailLevel;

/// Names that the samples of the languages don't have: blanks, operators, namespaces, signs of queries.
const MORE: [(&str, &str); 9] = [
    (
        "more/a.php",
        "<?php\nnamespace Org\\Hinges\\Deep;\nclass Hinge { const A = 1; function creak() {} }\nfunction free() {}\n",
    ),
    (
        "more/a.cpp",
        "namespace a::b { struct S { bool operator<(S) const; void operator()(int); S* operator->(); operator bool(); ~S(); }; }\nbool a::b::S::operator<(S) const { return true; }\n",
    ),
    ("more/a.md", "# Class reference\n\n## `run()` and more: a.b/c\n\n### struct Foo\n\n#### What is new?\n"),
    (
        "more/a.rb",
        "class A\n  def ==(o); end\n  def []=(k, v); end\n  def ok?; end\n  def set!; end\n  def name=(v); end\nend\n",
    ),
    ("more/a.json", "{\"a.b\": {\"c d\": {\"e:f\": 1, \"src/x.rs:foo\": 2}}, \"class X\": 1}"),
    (
        "more/a.rs",
        "impl<T> From<T> for Vec<T> { fn from(t: T) -> Self { todo!() } }\nimpl Trait for [u8] { fn go() {} }\nimpl dyn Other { fn gone() {} }\n",
    ),
    (
        "more/a.swift",
        "struct V { static func == (a: V, b: V) -> Bool { true }\n subscript(i: Int) -> Int { 1 }\n init() {} }\n",
    ),
    ("more/a.hs", "module A.B where\n(<+>) :: Int -> Int -> Int\na <+> b = a\nf' x = x\n"),
    ("more/a.toml", "[a.\"b.c\".d]\n\"x y\" = 1\n"),
];

fn place() -> TestRoot {
    let place = TestRoot::new(&MORE);
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("extract/samples");
    for language in Language::with_grammar() {
        let name = language.name();
        let text = fs::read_to_string(samples.join(format!("{name}.txt"))).unwrap();
        let file = format!("sample.{}", language.extensions()[0]);
        assert_eq!(Language::of_file(&file, b""), Some(language), "{file}");
        place.write(&format!("samples/{file}"), &text);
    }
    place
}

#[test]
fn every_name_of_a_row_finds_the_row() {
    let place = place();
    let project = place.project();
    sync(&project, None);
    let mut checked = 0;
    let mut lost = Vec::new();
    for file in project.files().unwrap() {
        let navigator = project.navigate().unwrap();
        let known = navigator.file(&file.path).unwrap().unwrap();
        for (at, symbol) in known.facts.symbols.iter().enumerate() {
            // The row, by its stable place, has the full name.
            let rows = named(&project, &symbol.name);
            let is_own = |row: &&codeyard_model::code::ResultRow| {
                row.path == *file.path && row.name == symbol.name && row.name_line == Some(symbol.name_line)
            };
            let Some(own) = rows.iter().find(is_own) else {
                lost.push(format!("{}: {:?} ({at})", file.path, symbol.name));
                continue;
            };
            let full = own.qualified_name.clone().unwrap();
            if !named(&project, &full).iter().any(|row| is_own(&row)) {
                lost.push(format!("{}: {full:?} ({at})", file.path));
            }
            checked += 1;
        }
    }
    assert!(lost.is_empty(), "{} of {}:\n{}", lost.len(), checked, lost.join("\n"));
    assert!(checked > 500, "{checked}");
}

fn named(project: &Project, name: &str) -> Vec<codeyard_model::code::ResultRow> {
    let shape = RowOptions { limit: 200, detail: DetailLevel::Signature, ..RowOptions::default() };
    project.locate(&LocateQuery { by: LocateBy::Name(name.to_owned()), kind: None, shape }, &|| false).unwrap().rows
}
