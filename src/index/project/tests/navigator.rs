//! Queries of the embedded language server: definitions, the files that mention a word, and its references.

use super::*;
use crate::facts::ReferenceRole;
use crate::project::navigator::{FileFacts, Navigator, SymbolRef};

const SHIP: &str = "pub struct Ship;\n\nimpl Ship {\n    pub fn sail(&self) {\n        self.turn();\n    }\n\n    fn turn(&self) {}\n}\n";
const PORT: &str =
    "use crate::ship::Ship;\n\npub fn depart(ship: &Ship) {\n    ship.sail();\n    sail();\n}\n\nfn sail() {}\n";
const PYTHON: &str = "class Boat:\n    def sail(self):\n        pass\n\ndef all_sail(boats):\n    for boat in boats:\n        boat.sail()\n";

fn place() -> TestRoot {
    TestRoot::new(&[
        ("src/ship.rs", SHIP),
        ("src/port.rs", PORT),
        ("tools/boat.py", PYTHON),
        ("src/Sail.rs", "pub struct Sail;\n\npub fn sailing() {\n    resail();\n}\n"),
        ("notes.txt", "sail away\n"),
        ("src/comment.rs", "// sail\npub fn nothing() -> &'static str {\n    \"sail\"\n}\n"),
    ])
}

fn shown(found: &[SymbolRef]) -> Vec<String> {
    let one = |(known, at): &SymbolRef| format!("{}:{}", known.path, known.facts.symbols[*at].line_start);
    found.iter().map(one).collect()
}

fn paths(known: &[FileFacts]) -> Vec<&str> {
    known.iter().map(|known| &*known.path).collect()
}

/// The references to `word` with this role: the file, the line, and the enclosing symbol.
fn named_in(navigator: &Navigator<'_>, word: &str, role: ReferenceRole) -> Vec<String> {
    let mut all = Vec::new();
    for known in navigator.files_mentioning(word, &|| false).unwrap() {
        let symbols = &known.facts.symbols;
        let within = |at: Option<u32>| at.map_or("", |at| symbols[at as usize].name.as_str());
        let references =
            known.facts.references.iter().filter(|reference| reference.name == word && reference.role == role);
        all.extend(references.map(|found| format!("{}:{} in {}", known.path, found.line, within(found.within))));
    }
    all
}

#[test]
fn definitions_have_exactly_the_name() {
    let place = place();
    let project = place.project();
    assert_eq!(shown(&project.navigate().unwrap().definitions("sail", 10).unwrap()), Vec::<String>::new());
    project.watch();
    sync(&project, None);
    let navigator = project.navigate().unwrap();
    let mut found = shown(&navigator.definitions("sail", 10).unwrap());
    found.sort();
    assert_eq!(found, ["src/port.rs:8", "src/ship.rs:4", "tools/boat.py:2"], "not Sail, sailing or all_sail");
    assert_eq!(shown(&navigator.definitions("Sail", 10).unwrap()), ["src/Sail.rs:1"]);
    assert_eq!(navigator.definitions("sail", 2).unwrap().len(), 2);
    assert!(navigator.definitions("sai", 10).unwrap().is_empty() && navigator.definitions("", 10).unwrap().is_empty());
    // The enclosing symbol distinguishes definitions of the same name.
    let scopes: Vec<_> = navigator.definitions("sail", 10).unwrap();
    let scope = |(known, at): &SymbolRef| {
        let symbol = &known.facts.symbols[*at];
        let parent = symbol.parent.map(|parent| known.facts.symbols[parent as usize].name.clone());
        (known.path.to_string(), parent)
    };
    let mut scopes: Vec<_> = scopes.iter().map(scope).collect();
    scopes.sort();
    let expected = [("src/port.rs", None), ("src/ship.rs", Some("Ship")), ("tools/boat.py", Some("Boat"))];
    assert_eq!(scopes, expected.map(|(path, parent)| (path.to_owned(), parent.map(str::to_owned))));
    // Words find more than exact names.
    let matches = shown(&navigator.search("all sail", None, 10).unwrap());
    assert_eq!(matches[0], "tools/boat.py:5");
}

#[test]
fn exactly_the_files_that_mention_a_word_are_returned() {
    let place = place();
    let project = place.project();
    project.watch();
    sync(&project, None);
    let navigator = project.navigate().unwrap();
    let naming = |word: &str| navigator.files_mentioning(word, &|| false).unwrap();
    // No text, no comments, no names that only contain it.
    assert_eq!(paths(&naming("sail")), ["src/port.rs", "src/ship.rs", "tools/boat.py"]);
    assert_eq!(paths(&naming("Ship")), ["src/port.rs", "src/ship.rs"]);
    assert!(naming("nowhere").is_empty() && naming("away").is_empty());
    // The result equals that of looking into each file.
    let all: Vec<FileFacts> =
        project.files().unwrap().iter().filter_map(|file| navigator.file(&file.path).unwrap()).collect();
    let words = all.iter().flat_map(|known| {
        let symbols = known.facts.symbols.iter().map(|symbol| symbol.name.clone());
        symbols.chain(known.facts.references.iter().map(|reference| reference.name.clone()))
    });
    let words: std::collections::BTreeSet<String> = words.collect();
    assert!(words.len() > 10, "{words:?}");
    for word in words {
        let expected: Vec<&str> = all
            .iter()
            .filter(|known| known.language.is_some() && known.mentions(&word))
            .map(|known| &*known.path)
            .collect();
        assert_eq!(paths(&naming(&word)), expected, "{word}");
    }
    assert!(navigator.files_mentioning("sail", &|| true).unwrap().is_empty(), "cancelled");
}

#[test]
fn references_have_their_enclosing_symbol() {
    let place = place();
    let project = place.project();
    project.watch();
    sync(&project, None);
    let navigator = project.navigate().unwrap();
    assert_eq!(
        named_in(&navigator, "sail", ReferenceRole::Call),
        ["src/port.rs:4 in depart", "src/port.rs:5 in depart", "tools/boat.py:7 in all_sail"]
    );
    assert_eq!(named_in(&navigator, "turn", ReferenceRole::Call), ["src/ship.rs:5 in sail"]);
    assert_eq!(named_in(&navigator, "Ship", ReferenceRole::Import), ["src/port.rs:1 in "]);
    let types = named_in(&navigator, "Ship", ReferenceRole::Type);
    assert!(types.contains(&"src/port.rs:3 in depart".to_owned()), "{types:?}");
}

#[test]
fn a_navigator_sees_what_was_published_when_it_was_created() {
    let place = place();
    let project = place.project();
    project.watch();
    sync(&project, None);
    let before = project.navigate().unwrap();
    place.write("src/ship.rs", "pub fn anchor() {}\n");
    fs::remove_file(place.root.join("tools/boat.py")).unwrap();
    project.mark_changed(["src/ship.rs".to_owned(), "tools/boat.py".to_owned()]);
    sync(&project, None);
    let after = project.navigate().unwrap();
    assert_eq!(
        paths(&before.files_mentioning("sail", &|| false).unwrap()),
        ["src/port.rs", "src/ship.rs", "tools/boat.py"]
    );
    assert_eq!(paths(&after.files_mentioning("sail", &|| false).unwrap()), ["src/port.rs"]);
    assert!(before.definitions("anchor", 5).unwrap().is_empty());
    assert_eq!(shown(&after.definitions("anchor", 5).unwrap()), ["src/ship.rs:1"]);
    assert!(before.is_folder("tools") && !after.is_folder("tools"));
    assert!(after.is_folder("src") && !after.is_folder("src/ship.rs") && !after.is_folder("sr"));
    assert!(before.file("tools/boat.py").unwrap().is_some() && after.file("tools/boat.py").unwrap().is_none());
    // The text is the present one on disk, and of indexed files only.
    assert_eq!(after.text("src/ship.rs").as_deref(), Some("pub fn anchor() {}\n"));
    assert_eq!(after.text("tools/boat.py"), None);
    assert_eq!(after.text("../state/warmset"), None);
}
