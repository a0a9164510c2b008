//! Real language servers in restricted workspaces: their answers equal those of bare servers, and what a hostile project tries fails.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::bare::uri_of;
use crate::mcp::{Mcp, until};
use crate::question::{Ask, identifiers};
use crate::running_server::Yard;
use crate::servers::corpus::{C, Corpus, Language, PYTHON, TYPESCRIPT, compare, warm_up};

/// The value that only a file outside of the roots has.
const SECRET: &str = "4711";

fn answers_are_those_of_a_bare_server(language: Language) {
    let corpus = Corpus::sample(language);
    let mut asks = Vec::new();
    for path in corpus.files() {
        for at in identifiers(&path).into_iter().step_by(7) {
            asks.push(Ask::Definition(at.clone()));
            asks.push(Ask::Hover(at));
        }
        asks.push(Ask::DocumentSymbols(path));
    }
    let mut expected = corpus.bare(&asks);
    let yard = Yard::serve(&(corpus.workspace("confined") + "isolation = \"restricted\"\n"));
    let mut client = yard.client("confined");
    warm_up(&mut client, &asks);
    let nonempty = compare(&mut client, &mut expected, &asks);
    assert!(nonempty > 10, "{nonempty}");
    corpus.assert_untouched();
    yard.stop();
}

#[test]
fn ty_answers_in_a_sandbox() {
    answers_are_those_of_a_bare_server(PYTHON);
}

#[test]
fn typescript_answers_in_a_sandbox() {
    answers_are_those_of_a_bare_server(TYPESCRIPT);
}

#[test]
fn clangd_answers_in_a_sandbox() {
    answers_are_those_of_a_bare_server(C);
}

/// A C++ project that tries to read and write outside of its root.
struct Hostile {
    base: tempfile::TempDir,
}

impl Hostile {
    fn new() -> Self {
        let base = tempfile::tempdir().expect("a folder");
        let hostile = Self { base };
        let root = hostile.root();
        let outside = hostile.outside();
        fs::create_dir_all(root.join("mod")).expect("a folder");
        fs::create_dir_all(&outside).expect("a folder");
        fs::write(outside.join("secret.h"), format!("static const int launch_code = {SECRET};\n")).expect("a file");
        let secret = outside.join("secret.h").display().to_string();
        let cache = outside.join("cache").display().to_string();
        fs::write(root.join("included.cpp"), format!("#include {secret:?}\nint a = launch_code;\nint plain = 12;\n"))
            .expect("a file");
        fs::write(root.join("forced.cpp"), "int b = launch_code;\n").expect("a file");
        fs::write(root.join("mod/module.modulemap"), "module m { header \"m.h\" }\n").expect("a file");
        fs::write(root.join("mod/m.h"), "int of_module();\n").expect("a file");
        fs::write(root.join("module.cpp"), "#include \"m.h\"\nint c = of_module();\n").expect("a file");
        let entry = |file: &str, arguments: Vec<String>| {
            let all: Vec<String> =
                std::iter::once("c++".to_owned()).chain(arguments).chain([file.to_owned()]).collect();
            json!({"directory": root, "file": file, "arguments": all})
        };
        let database = json!([
            entry("included.cpp", vec![]),
            entry("forced.cpp", vec!["-include".into(), secret.clone()]),
            entry("module.cpp", vec!["-fmodules".into(), format!("-fmodules-cache-path={cache}"), "-Imod".into()]),
        ]);
        fs::write(root.join("compile_commands.json"), database.to_string()).expect("a file");
        hostile
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.base.path()).expect("a path").join(name)
    }

    fn root(&self) -> PathBuf {
        self.path("root")
    }

    fn outside(&self) -> PathBuf {
        self.path("outside")
    }

    fn serve(&self, level: &str) -> Yard {
        Yard::serve(&format!("[[workspace]]\nname = \"c\"\nroots = [{:?}]\nisolation = {level:?}\n", self.root()))
    }

    /// The hover on the first `word` of a file.
    fn hover(&self, client: &mut Mcp, file: &str, word: &str) -> String {
        let path = self.root().join(file);
        let text = fs::read_to_string(&path).expect("UTF-8");
        let (line, text) = text.lines().enumerate().find(|(_, line)| line.contains(word)).expect("the word");
        let position = json!({"line": line, "character": text.rfind(word)});
        let answer: Value =
            client.ask("vscode.lsp.hover", &json!({"uri": uri_of(&path), "position": position})).expect("a hover");
        answer.to_string()
    }
}

fn folders_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let own: Vec<PathBuf> = entries.filter(|path| path.is_dir() && !path.is_symlink()).collect();
    let below = own.iter().flat_map(|folder| folders_below(folder)).collect::<Vec<_>>();
    own.into_iter().chain(below).collect()
}

fn is_empty_or_missing(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

#[test]
fn a_confined_clangd_reads_and_writes_nothing_outside() {
    let hostile = Hostile::new();
    let yard = hostile.serve("restricted");
    let mut client = yard.client("c");
    assert!(hostile.hover(&mut client, "included.cpp", "plain").contains("12"), "it answers at all");
    for (file, word) in [("included.cpp", "launch_code"), ("forced.cpp", "launch_code"), ("module.cpp", "of_module")] {
        let hover = hostile.hover(&mut client, file, word);
        assert!(!hover.contains(SECRET), "{file}: {hover}");
    }
    assert!(is_empty_or_missing(&hostile.outside().join("cache")), "it has written outside");
    yard.stop();
}

#[test]
fn links_that_a_confined_server_leaves_in_its_cache_lead_codeyard_nowhere() {
    let base = tempfile::tempdir().expect("a folder");
    let base = fs::canonicalize(base.path()).expect("a path");
    let root = base.join("root");
    let victim = base.join("victim");
    fs::create_dir_all(&root).expect("a folder");
    fs::create_dir_all(victim.join("include")).expect("a folder");
    for file in ["kept.h", "include/kept.h", "compile_commands.json", "includes"] {
        fs::write(victim.join(file), "kept").expect("a file");
    }
    fs::write(root.join("config.h.in"), "#undef HAVE_ONE\nstatic const int made = 71;\n").expect("a file");
    fs::write(root.join("a.c"), "#include \"config.h\"\nint use(void) { return made; }\n").expect("a file");
    let yard = Yard::serve(&format!("[[workspace]]\nname = \"c\"\nroots = [{root:?}]\nisolation = \"restricted\"\n"));
    let mut client = yard.client("c");
    let made = |client: &mut Mcp| {
        let arguments = json!({"uri": uri_of(&root.join("a.c")), "position": {"line": 1, "character": 24}});
        client.ask("vscode.lsp.hover", &arguments).map(|hover| hover.to_string()).unwrap_or_default()
    };
    assert!(until(60_000, || made(&mut client).contains("71")), "{}", yard.log());
    // As the server itself could, which may write everything in its folder of the cache.
    let cache = yard.state.path().join("cache/c");
    let folders = folders_below(&cache);
    let generated: Vec<_> =
        folders.iter().filter(|path| path.extension().is_some_and(|end| end == "generated")).collect();
    let writable: Vec<PathBuf> = generated.iter().map(|path| path.with_extension("")).collect();
    assert!(!writable.is_empty() && writable.iter().all(|folder| folder.is_dir()), "{folders:?}");
    for folder in &writable {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            fs::rename(&entry, entry.with_extension("before")).expect("a name");
            let target = victim.join(entry.file_name().expect("a name"));
            std::os::unix::fs::symlink(if target.exists() { target } else { victim.clone() }, &entry).expect("a link");
        }
        for name in ["headers", "shims", "home", "includes", "compile_commands.json"] {
            std::os::unix::fs::symlink(&victim, folder.join(name)).ok();
        }
    }
    // Headers and the database are made again, while the server lives and when it starts.
    fs::write(root.join("config.h.in"), "#undef HAVE_TWO\nstatic const int made = 72;\n").expect("a file");
    fs::write(root.join("other.h.in"), "#undef HAVE_OTHER\n").expect("a file");
    fs::write(root.join("b.c"), "#include \"other.h\"\nint other;\n").expect("a file");
    let is_new = until(60_000, || made(&mut client).contains("72"));
    assert!(is_new, "{}", yard.log());
    yard.stop();
    let left = |folder: &Path| {
        let mut names: Vec<_> =
            fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(left(&victim), ["compile_commands.json", "include", "includes", "kept.h"]);
    assert_eq!(left(&victim.join("include")), ["kept.h"]);
    for file in ["kept.h", "include/kept.h", "compile_commands.json", "includes"] {
        assert_eq!(fs::read_to_string(victim.join(file)).expect("a file"), "kept", "{file}");
    }
}

#[test]
fn the_arguments_of_a_trusted_clangd_are_filtered() {
    let hostile = Hostile::new();
    let yard = hostile.serve("trusted");
    let mut client = yard.client("c");
    assert!(hostile.hover(&mut client, "included.cpp", "plain").contains("12"), "it answers at all");
    let forced = hostile.hover(&mut client, "forced.cpp", "launch_code");
    assert!(!forced.contains(SECRET), "{forced}");
    hostile.hover(&mut client, "module.cpp", "of_module");
    assert!(is_empty_or_missing(&hostile.outside().join("cache")), "it has written where the project says");
    yard.stop();
}

#[test]
fn a_server_that_runs_code_of_the_project_is_not_started() {
    let base = tempfile::tempdir().expect("a folder");
    let root = fs::canonicalize(base.path()).expect("a path");
    let proof = root.with_extension("ran");
    fs::write(
        root.join("eslint.config.js"),
        format!("require('fs').writeFileSync({proof:?}, 'x'); module.exports = [];\n"),
    )
    .expect("a file");
    fs::write(root.join("package.json"), "{\"name\": \"x\"}\n").expect("a file");
    fs::write(root.join("a.js"), "export const one = 1;\n").expect("a file");
    let yard = Yard::serve(&format!("[[workspace]]\nname = \"js\"\nroots = [{root:?}]\nisolation = \"restricted\"\n"));
    let mut client = yard.client("js");
    let arguments = json!({"uri": uri_of(&root.join("a.js"))});
    assert!(until(60_000, || client.call("vscode.lsp.diagnostics.document", &arguments).is_ok()), "{}", yard.log());
    assert!(!proof.exists());
    yard.stop();
}
