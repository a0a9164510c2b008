//! Compiles the parsers of the largest grammars without their tables, which the crate unpacks at first use (`docs/internals/decisions/packed-grammars.md`).
//!
//! The grammars' own crates compile the same sources with the tables, 25 MB; nothing links those. Their folders come from `cargo metadata`,
//! since a build script isn't told where a dependency lies.

use std::collections::{BTreeSet, HashMap};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A packed grammar: its features, its crate, the folder of its parser in it, and the name of its function without `tree_sitter_`.
type Grammar = (&'static [&'static str], &'static str, &'static str, &'static str);

const PACKED: [Grammar; 10] = [
    (&["cpp"], "tree-sitter-cpp", "src", "cpp"),
    (&["csharp"], "tree-sitter-c-sharp", "src", "c_sharp"),
    (&["dart"], "tree-sitter-dart", "src", "dart"),
    (&["haskell"], "tree-sitter-haskell", "src", "haskell"),
    (&["kotlin"], "tree-sitter-kotlin-ng", "src", "kotlin"),
    (&["ruby"], "tree-sitter-ruby", "src", "ruby"),
    (&["scala"], "tree-sitter-scala", "src", "scala"),
    (&["swift"], "tree-sitter-swift", "src", "swift"),
    (&["tsx"], "tree-sitter-typescript", "tsx/src", "tsx"),
    (&["svelte", "typescript", "vue"], "tree-sitter-typescript", "typescript/src", "typescript"),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is_on = |feature: &&str| env::var_os(format!("CARGO_FEATURE_{}", feature.to_uppercase())).is_some();
    let wanted: Vec<&Grammar> = PACKED.iter().filter(|(features, ..)| features.iter().any(is_on)).collect();
    if wanted.is_empty() {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let folders = folders(wanted.iter().map(|(_, package, ..)| *package), &out);
    for (_, package, below, name) in wanted {
        let folder = folders.get(*package).unwrap_or_else(|| panic!("`cargo metadata` doesn't list {package}"));
        compile(&folder.join(below), name, &out);
    }
}

/// The folders of the grammars' crates. The workspace's own metadata would need the crates of its tests too, which may not have been downloaded; so
/// cargo is asked about a package that has nothing but these grammars, in the versions of the workspace's lock file.
fn folders<'a>(packages: impl Iterator<Item = &'a str>, out: &Path) -> HashMap<String, PathBuf> {
    let package = out.join("sources");
    fs::create_dir_all(&package).expect("the build folder can be written");
    let mut manifest =
        "[package]\nname = \"sources\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n[dependencies]\n".to_owned();
    packages.collect::<BTreeSet<&str>>().iter().for_each(|name| manifest += &format!("{name} = \"*\"\n"));
    fs::write(package.join("Cargo.toml"), manifest).expect("the build folder can be written");
    fs::write(package.join("lib.rs"), "").expect("the build folder can be written");
    let lock = "../../Cargo.lock";
    println!("cargo:rerun-if-changed={lock}");
    fs::copy(lock, package.join("Cargo.lock")).expect("the workspace has a lock file");
    let cargo = env::var_os("CARGO").expect("cargo sets it");
    #[expect(clippy::disallowed_methods, reason = "a build script starts cargo as cargo says")]
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--offline", "--filter-platform"]);
    command.arg(env::var_os("TARGET").expect("cargo sets it")).arg("--manifest-path").arg(package.join("Cargo.toml"));
    let output = command.output().expect("cargo starts");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata writes JSON");
    let packages = metadata["packages"].as_array().expect("cargo metadata lists packages").iter();
    let folder = |package: &serde_json::Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        Some((package["name"].as_str()?.to_owned(), manifest.parent()?.to_owned()))
    };
    packages.filter_map(folder).collect()
}

/// Compiles a parser whose tables are empty, and writes what they must hold.
fn compile(source: &Path, name: &str, out: &Path) {
    let parser = source.join("parser.c");
    println!("cargo:rerun-if-changed={}", parser.display());
    let text = fs::read_to_string(&parser).unwrap_or_else(|error| panic!("{}: {error}", parser.display()));
    let symbols = symbols(&text);
    let large = Table::find(&text, "ts_parse_table[LARGE_STATE_COUNT][SYMBOL_COUNT]");
    let small = Table::find(&text, "ts_small_parse_table[]");
    let width = number(&text, "SYMBOL_COUNT");
    let rows = number(&text, "LARGE_STATE_COUNT");
    let large_values = large.rows(&text, &symbols, rows, width);
    let small_values = small.values(&text, &symbols);
    let packed = |values: &[u16]| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        lz4_flex::block::compress_prepend_size(&bytes)
    };
    fs::write(out.join(format!("{name}.large")), packed(&large_values)).expect("the build folder can be written");
    fs::write(out.join(format!("{name}.small")), packed(&small_values)).expect("the build folder can be written");
    let [first, second] = if large.start < small.start { [&large, &small] } else { [&small, &large] };
    let c = [
        &text[..first.start],
        &format!(
            "uint16_t codeyard_{name}_large[{rows}][{width}];\nuint16_t codeyard_{name}_small[{}];\n",
            small_values.len()
        ),
        &text[first.end..second.start],
        &text[second.end..],
    ];
    let renamed = out.join(format!("{name}.c"));
    fs::write(&renamed, c.concat()).expect("the build folder can be written");

    let mut build = cc::Build::new();
    build.std("c11").include(source).warnings(false).file(renamed);
    // The grammar's crate has a function of the original name. Its scanner is linked; its parser isn't, as nothing calls that.
    build.define(&format!("tree_sitter_{name}"), format!("codeyard_{name}").as_str());
    build.define("ts_parse_table", format!("codeyard_{name}_large").as_str());
    build.define("ts_small_parse_table", format!("codeyard_{name}_small").as_str());
    build.compile(&format!("codeyard-{name}"));
}

/// The numbers of a parser's symbols.
fn symbols(text: &str) -> HashMap<&str, u16> {
    let start = text.find("enum ts_symbol_identifiers {").expect("a parser lists its symbols");
    let body = &text[start..start + text[start..].find("};").expect("the list has an end")];
    let rows = body.lines().filter_map(|line| line.trim().trim_end_matches(',').split_once(" = "));
    let numbered = rows.map(|(name, value)| (name, value.parse().expect("the number of a symbol")));
    numbered.chain([("ts_builtin_sym_end", 0)]).collect()
}

fn number(text: &str, name: &str) -> usize {
    let define = format!("#define {name} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&define)).unwrap_or_else(|| panic!("no {name}"));
    line.trim().parse().unwrap_or_else(|_| panic!("{name} is {line}"))
}

/// Where the definition of a table stands, and where its initialiser does.
struct Table {
    start: usize,
    body: usize,
    end: usize,
}

impl Table {
    fn find(text: &str, declared: &str) -> Self {
        let head = format!("static const uint16_t {declared} = {{");
        let start = text.find(&head).unwrap_or_else(|| panic!("no {declared}"));
        let end = start + text[start..].find("\n};").expect("a table has an end");
        Self { start, body: start + head.len(), end: end + 3 }
    }

    /// The entries of a table of one dimension.
    fn values(&self, text: &str, symbols: &HashMap<&str, u16>) -> Vec<u16> {
        let mut values = Vec::new();
        for entry in text[self.body..self.end - 2].split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let Some((at, entry)) = designated(entry) else {
                values.push(value(entry, symbols));
                continue;
            };
            assert_eq!(at.parse(), Ok(values.len()), "entries follow each other");
            values.push(value(entry, symbols));
        }
        values
    }

    /// The entries of a table of `rows` times `width`.
    fn rows(&self, text: &str, symbols: &HashMap<&str, u16>, rows: usize, width: usize) -> Vec<u16> {
        let mut values = vec![0; rows * width];
        let mut row = 0;
        for line in text[self.body..self.end - 2].lines().map(str::trim) {
            let Some((at, entry)) = designated(line.trim_end_matches(',')) else {
                assert!(matches!(line, "" | "}," | "}"), "{line}");
                continue;
            };
            match entry {
                "{" => row = usize::from(value(at, symbols)),
                _ => values[row * width + usize::from(value(at, symbols))] = value(entry, symbols),
            }
        }
        values
    }
}

/// `[at] = entry`.
fn designated(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('[')?.split_once("] = ")
}

/// The value of a number, a symbol, or a macro that gives back its number.
fn value(text: &str, symbols: &HashMap<&str, u16>) -> u16 {
    let inner = text.split_once('(').map_or(text, |(_, inner)| inner.trim_end_matches(')'));
    let known = inner.parse().ok().or_else(|| symbols.get(inner).copied());
    known.unwrap_or_else(|| panic!("an entry of another form: {text}"))
}
