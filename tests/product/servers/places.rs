//! Places that one operation returns are accepted by the others and mean the same symbol: with byte order marks, with characters that end a line
//! for some servers only, and with decorators. Lines are those of LSP, and a byte order mark is no column.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use codeyard_lsp::text::Document;
use codeyard_model::position::Position;
use serde_json::{Value, json};

use crate::bare::path_of;
use crate::mcp::Mcp;
use crate::running_server::Yard;
use crate::servers::agent::{self, whole};
use crate::servers::folder::folder_of;

const PYTHON: [(&str, &str); 5] = [
    ("pyproject.toml", "[project]\nname = \"p\"\nversion = \"0\"\n"),
    ("marked.py", "\u{feff}def target() -> int: return 1\n\n\ntarget()\n"),
    ("returns.py", "# a stray\r# one\nfrom marked import target\n\nprint(target())\n"),
    (
        "wrapping.py",
        "\u{feff}import functools\n\n\n@functools.cache\ndef wrapped(one: str = \"a\u{2028}b\") -> str:\n    return one\n\n\nprint(wrapped())\n",
    ),
    (
        "several.py",
        "from wrapping import wrapped\n\n\nclass Several:\n    @property\n    def several(self) -> str:\n        return wrapped()\n",
    ),
];
const TYPESCRIPT: [(&str, &str); 5] = [
    (
        "tsconfig.json",
        r#"{"compilerOptions": {"module": "esnext", "moduleResolution": "bundler"}, "include": ["*.ts"]}"#,
    ),
    ("marked.ts", "\u{feff}export function target(): number { return 1; }\ntarget();\n"),
    ("returns.ts", "/* a\rb */ import { target } from \"./marked\";\ntarget();\n"),
    (
        "wrapping.ts",
        "export const text = \"a\u{2028}b\";\nexport function wrapped(): string { return text; }\nwrapped();\n",
    ),
    (
        "several.ts",
        "// a\u{2028}import { wrapped } from \"./wrapping\";\nwrapped();\nexport class Several { several(): string { return wrapped(); } }\n",
    ),
];
const C: [(&str, &str); 4] = [
    ("compile_flags.txt", "-xc\n"),
    ("marked.c", "\u{feff}int target(void) { return 1; }\nint again(void) { return target(); }\n"),
    ("returns.c", "/* a\r */\nint target(void);\nint use(void) { return target(); }\n"),
    (
        "wrapping.c",
        "static const char *text = \"a\u{2028}b\"; /* \r */\nstatic int wrapped(void) { return text != 0; }\nint more(void) { return wrapped(); }\n",
    ),
];

/// Where a name is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    file: PathBuf,
    line: u32,
    character: u32,
}

struct Served {
    root: PathBuf,
    client: Mcp,
    yard: Yard,
    _folder: tempfile::TempDir,
}

impl Served {
    fn new(kind: &str, files: &[(&str, &str)]) -> Self {
        let (folder, root) = folder_of(files);
        let workspace = format!("[[workspace]]\nname = \"w\"\nroots = [{root:?}]\n");
        let yard = Yard::serve(&format!("{workspace}servers = {{ prefer = [{kind:?}] }}\n"));
        let client = agent::client(&yard, "w");
        Self { root, client, yard, _folder: folder }
    }

    fn answer(&mut self, arguments: &Value) -> Value {
        whole(&mut self.client, arguments).unwrap_or_else(|refusal| panic!("{arguments}: {refusal:?}")).0
    }

    /// Where a name is, by its file's outline and by search.
    fn listed(&mut self, name: &str) -> BTreeSet<Place> {
        let mut places = BTreeSet::new();
        let found = self.answer(&json!({"operation": "workspaceSymbol", "query": name}));
        places.extend(named(&found, name, None));
        let files: BTreeSet<PathBuf> = places.iter().map(|place| place.file.clone()).collect();
        for file in files {
            let below = file.strip_prefix(&self.root).expect("inside").to_owned();
            let outline = self.answer(&json!({"operation": "documentSymbol", "filePath": below}));
            places.extend(named(&outline, name, Some(&file)));
        }
        places
    }

    fn references(&mut self, place: &Place) -> BTreeSet<Place> {
        let below = place.file.strip_prefix(&self.root).expect("inside");
        let arguments = json!({"operation": "findReferences", "filePath": below, "line": place.line + 1,
            "character": place.character + 1});
        let found = self.answer(&arguments);
        let places = found.as_array().expect("a list").iter();
        places.map(|one| Place::new(file_of(&one["uri"]), &one["range"]["start"])).collect()
    }
}

impl Place {
    fn new(file: PathBuf, start: &Value) -> Self {
        let number = |name: &str| u32::try_from(start[name].as_u64().expect("a number")).expect("small");
        Self { file, line: number("line"), character: number("character") }
    }

    /// Whether the name is there, in lines and columns of LSP.
    fn is_named(&self, name: &str) -> bool {
        let document = Document::new(fs::read_to_string(&self.file).expect("UTF-8"));
        let at = Position { line: self.line, character: self.character };
        document.check(at).is_some() && document.text()[document.offset(at)..].starts_with(name)
    }
}

fn file_of(uri: &Value) -> PathBuf {
    path_of(uri.as_str().expect("a URI")).expect("a path")
}

/// The symbols of this name, of all depths; `file` is that of an outline.
fn named(rows: &Value, name: &str, file: Option<&Path>) -> Vec<Place> {
    let mut found = Vec::new();
    for row in rows.as_array().into_iter().flatten() {
        found.extend(named(&row["children"], name, file));
        let own = row["name"].as_str().expect("a name");
        if own != name && own.trim_end_matches("()") != name {
            continue;
        }
        let range = [&row["selectionRange"], &row["location"]["range"]].into_iter().find(|range| range.is_object());
        let start = &range.expect("a range")["start"];
        let of_row = || file_of(&row["location"]["uri"]);
        found.push(Place::new(file.map_or_else(of_row, Path::to_path_buf), start));
    }
    found
}

fn means_the_same_everywhere(kind: &str, files: &[(&str, &str)], names: &[(&str, usize)]) {
    let mut served = Served::new(kind, files);
    for (name, uses) in names {
        let listed = served.listed(name);
        assert!(!listed.is_empty(), "{kind}: {name} isn't listed");
        let wrong: Vec<&Place> = listed.iter().filter(|place| !place.is_named(name)).collect();
        assert_eq!(wrong, Vec::<&Place>::new(), "{kind}: {name} is listed where it isn't");
        let first = listed.first().expect("a place");
        let all = served.references(first);
        assert_eq!(all.len(), *uses, "{kind}: {name}: {all:?}");
        for place in all.iter().chain(&listed) {
            assert!(place.is_named(name), "{kind}: {name} isn't at {place:?}");
            assert_eq!(served.references(place), all, "{kind}: {name}, asked at {place:?}");
        }
    }
    served.yard.stop();
}

#[test]
fn ty() {
    means_the_same_everywhere("ty", &PYTHON, &[("target", 4), ("wrapped", 4), ("several", 1)]);
}

#[test]
fn typescript() {
    means_the_same_everywhere("typescript", &TYPESCRIPT, &[("target", 4), ("wrapped", 5), ("several", 1)]);
}

#[test]
fn typescript_language_server() {
    let names = [("target", 4), ("wrapped", 5), ("several", 1)];
    means_the_same_everywhere("typescript-language-server", &TYPESCRIPT, &names);
}

#[test]
fn clangd() {
    means_the_same_everywhere("clangd", &C, &[("target", 4), ("wrapped", 2)]);
}
