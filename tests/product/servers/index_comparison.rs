//! Answers of real language servers that lack uses or end too early say so, because the code index has the name; complete ones, names in
//! comments and strings, and names that mean several things carry no mark.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::mcp::{Mcp, until};
use crate::running_server::Yard;
use crate::servers::agent;
use crate::servers::folder::folder_of;

/// Longest wait for the first index, in milliseconds.
const INDEXED_MS: u64 = 30_000;

/// A served repository, and a client of both catalogs.
struct Repository {
    root: PathBuf,
    client: Mcp,
    yard: Yard,
    _folder: tempfile::TempDir,
}

impl Repository {
    fn serve(files: &[(&str, &str)], kind: &str) -> Self {
        let (folder, root) = folder_of(files);
        let configuration =
            format!("[[workspace]]\nname = \"w\"\nroots = [{root:?}]\nservers = {{ prefer = [{kind:?}] }}\n");
        let yard = Yard::serve(&configuration);
        let client = agent::client(&yard, "w");
        Self { root, client, yard, _folder: folder }
    }

    /// The answer of an operation at the first `word` of `path`.
    fn ask(&mut self, operation: &str, path: &str, word: &str) -> agent::Answer {
        let text = fs::read_to_string(self.root.join(path)).expect("a text");
        let (line, text) = text.lines().enumerate().find(|(_, text)| text.contains(word)).expect("the word");
        let character = text.find(word).expect("the word") + 1;
        let arguments =
            json!({"operation": operation, "filePath": path, "line": line + 1, "character": character, "query": word});
        agent::ask(&mut self.client, &arguments).unwrap_or_else(|refusal| panic!("{operation}: {refusal:?}"))
    }

    /// The same, once the answer was compared with the index and has `sentence` below it.
    fn assert_marked(&mut self, operation: &str, path: &str, word: &str, sentence: &str) -> agent::Answer {
        let mut last = None;
        let is_marked = until(INDEXED_MS, || {
            let answer = self.ask(operation, path, word);
            let is_marked = answer.metadata["hint"].as_str().is_some_and(|hint| hint.ends_with(sentence));
            last = Some(answer);
            is_marked
        });
        assert!(is_marked, "{operation} {word}: {last:?}");
        last.expect("an answer")
    }

    /// Asserts that the answer has no mark, although it was compared: other answers were marked before.
    fn assert_unmarked(&mut self, operation: &str, path: &str, word: &str) {
        let answer = self.ask(operation, path, word);
        assert_eq!(answer.metadata["partial"], Value::Null, "{operation} {word}: {answer:?}");
        assert!(!answer.output.contains("By its name"), "{operation} {word}: {answer:?}");
    }

    fn summary(&mut self, tool: &str, arguments: &Value) -> String {
        let answer = self.client.ask(tool, arguments).expect("an answer");
        answer["summary"].as_str().expect("a summary").to_owned()
    }
}

/// `report.py` uses a method of an object whose type nobody knows; the other files have its name elsewhere.
const PYTHON: [(&str, &str); 6] = [
    (
        "shop/order.py",
        "class Order:\n    def compute_total(self):\n        return 1\n\n    def close(self):\n        return 2\n\n\ndef load_order() -> Order:\n    return Order()\n",
    ),
    ("shop/report.py", "def report(order):\n    order.close()\n    return order.compute_total()\n"),
    ("shop/cart.py", "from order import load_order\n\nload_order().compute_total()\n"),
    ("shop/notes.py", "# compute_total, load_order\nTEXT = \"compute_total load_order\"\n"),
    ("shop/README.md", "# compute_total\n\n`load_order()`\n"),
    ("shop/other.ts", "export function f(x: any) { return x.compute_total(x.load_order); }\n"),
];

#[test]
fn uses_of_untyped_objects_in_python() {
    let mut repository = Repository::serve(&PYTHON, "ty");
    let mark =
        "1 file uses the name `compute_total` and isn't in this answer: shop/report.py; search the name as text.";
    let answer = repository.assert_marked("findReferences", "shop/order.py", "compute_total", mark);
    let partial = json!([{"name": "compute_total", "unlistedFiles": 1, "reason": mark}]);
    assert_eq!(answer.metadata["partial"], partial, "{answer:?}");
    assert_eq!(answer.metadata["total"], 2, "the answer itself is as before: {answer:?}");
    repository.assert_marked("findReferences", "shop/cart.py", "compute_total", mark);
    repository.assert_marked("incomingCalls", "shop/order.py", "compute_total", mark);
    let arguments = json!({
        "uri": crate::bare::uri_of(&repository.root.join("shop/order.py")),
        "position": {"line": 1, "character": 8}, "pageSize": 200
    });
    let expected = format!("Returned 1 reference. {mark}");
    assert!(until(INDEXED_MS, || repository.summary("vscode.lsp.references", &arguments) == expected));
    repository.assert_unmarked("findReferences", "shop/order.py", "load_order");
    repository.assert_unmarked("findReferences", "shop/order.py", "close");
    repository.assert_unmarked("goToDefinition", "shop/cart.py", "load_order");
    repository.yard.stop();
}

#[test]
fn uses_without_a_call_count_and_names_of_a_function_do_not() {
    let others = [
        ("shop/handed_on.py", "def handed_on(order, run):\n    run(order.compute_total)\n"),
        (
            "shop/caller.py",
            "from labelled import load_labelled\n\n\ndef caller(rows):\n    return [row.label for row in rows]\n",
        ),
        ("shop/stranger.py", "def stranger(rows):\n    return [row.label for row in rows]\n"),
        ("shop/local.py", "def local(rows):\n    compute_total = sum(rows)\n    return compute_total\n"),
        ("shop/parameter.py", "def parameter(compute_total):\n    return compute_total\n"),
        ("shop/key.py", "def key(call, row):\n    call(compute_total=1)\n    return row[\"compute_total\"]\n"),
    ];
    let label = "class Labelled:\n    label: str = \"\"\n\n\ndef load_labelled() -> Labelled:\n    return Labelled()\n";
    let files = [&PYTHON[..], &others, &[("shop/labelled.py", label)]].concat();
    let mut repository = Repository::serve(&files, "ty");
    let mark = "2 files use the name `compute_total` and aren't in this answer: shop/handed_on.py, shop/report.py; \
                search the name as text.";
    repository.assert_marked("findReferences", "shop/order.py", "compute_total", mark);
    let mark = "1 file uses the name `label` and isn't in this answer: shop/caller.py; search the name as text.";
    repository.assert_marked("findReferences", "shop/labelled.py", "label", mark);
    repository.yard.stop();
}

#[test]
fn scripts_that_a_declaration_file_describes() {
    let declarations = "export class Option {\n  flags: string;\n  constructor(flags: string);\n}\n";
    let script = "class Option {\n  constructor(text) {\n    Object.assign(this, { text });\n  }\n}\nmodule.exports = { Option };\n";
    let use_of = "exports.show = (option) => option.flags;\n";
    let files = [
        ("package.json", r#"{"name": "options", "main": "lib/option.js", "types": "types/index.d.ts"}"#),
        ("types/index.d.ts", declarations),
        ("lib/option.js", script),
        ("lib/show.js", use_of),
        ("other/package.json", r#"{"name": "other", "main": "show.js"}"#),
        ("other/show.js", use_of),
        ("tsconfig.json", r#"{"compilerOptions": {"allowJs": true, "noEmit": true}}"#),
    ];
    let mut repository = Repository::serve(&files, "typescript");
    let mark = "1 file uses the name `flags` and isn't in this answer: lib/show.js; search the name as text.";
    repository.assert_marked("findReferences", "types/index.d.ts", "flags", mark);
    repository.yard.stop();
}

#[test]
fn modules_that_a_stub_describes() {
    let files = [
        ("shop/__init__.pyi", "class Order:\n    label: str\n"),
        ("shop/__init__.py", "def make(cls):\n    return cls()\n"),
        ("shop/show.py", "def show(order):\n    return order.label\n"),
        ("other/show.py", "def show(order):\n    return order.label\n"),
    ];
    let mut repository = Repository::serve(&files, "ty");
    let mark = "1 file uses the name `label` and isn't in this answer: shop/show.py; search the name as text.";
    repository.assert_marked("findReferences", "shop/__init__.pyi", "label", mark);
    repository.yard.stop();
}

#[test]
fn sources_that_other_sources_include() {
    let files = [
        ("local.h", "#define PICK 1\n"),
        ("double.c", "#include \"local.h\"\n#include \"basic.c\"\n"),
        ("basic.c", "static int basic(void)\n{\n#ifdef BASIC\n  return PICK;\n#else\n  return 0;\n#endif\n}\n"),
        ("alone.c", "int alone(int PICK)\n{\n  return PICK;\n}\n"),
        ("compile_commands.json", "[]"),
    ];
    let mut repository = Repository::serve(&files, "clangd");
    let mark = "1 file uses the name `PICK` and isn't in this answer: basic.c; search the name as text.";
    repository.assert_marked("findReferences", "local.h", "PICK", mark);
    repository.yard.stop();
}

#[test]
fn an_edit_changes_what_is_compared() {
    let mut repository = Repository::serve(&PYTHON, "ty");
    let mark = |files: &str| format!("{files}; search the name as text.");
    repository.assert_marked("findReferences", "shop/order.py", "compute_total", &mark("shop/report.py"));
    fs::write(repository.root.join("shop/more.py"), "def more(one):\n    one.compute_total()\n").expect("a file");
    let both = mark("shop/more.py, shop/report.py");
    repository.assert_marked("findReferences", "shop/order.py", "compute_total", &both);
    fs::remove_file(repository.root.join("shop/report.py")).expect("a file");
    repository.assert_marked("findReferences", "shop/order.py", "compute_total", &mark("shop/more.py"));
    repository.yard.stop();
}

#[test]
fn an_empty_answer_names_what_the_index_has() {
    let mut repository = Repository::serve(&PYTHON, "ty");
    let sentence = "By its name, `compute_total` is defined at shop/order.py:2.";
    let answer = repository.assert_marked("goToDefinition", "shop/report.py", "compute_total", sentence);
    assert_eq!(answer.output, format!("No results found for goToDefinition\n{sentence}"));
    let partial = json!([{"name": "compute_total", "unlistedDefinitions": 1, "reason": sentence}]);
    assert_eq!(answer.metadata["partial"], partial, "{answer:?}");
    let sentence = "By its name, `close` is defined at shop/order.py:5.";
    repository.assert_marked("goToDefinition", "shop/report.py", "close", sentence);
    repository.assert_unmarked("goToDefinition", "shop/cart.py", "compute_total");
    repository.yard.stop();
}

#[test]
fn a_definition_that_ends_at_a_declaration() {
    let mut repository = Repository::serve(
        &[
            ("compile_flags.txt", "-Iinclude\n"),
            ("include/shape.h", "int shape_area(int width);\n"),
            ("src/shape.c", "#include \"shape.h\"\nint shape_area(int width) { return width; }\n"),
            ("src/main.c", "#include \"shape.h\"\nint main(void) { return shape_area(2); }\n"),
        ],
        "clangd",
    );
    // Without its own index of all files the server ends at the header; with it, the definition is in the answer.
    let is_complete = until(INDEXED_MS, || {
        let answer = repository.ask("goToDefinition", "src/main.c", "shape_area");
        let hint = answer.metadata["hint"].as_str().unwrap_or_default();
        answer.output.contains("src/shape.c") || hint.contains("`shape_area` is defined at src/shape.c:2")
    });
    assert!(is_complete);
    repository.yard.stop();
}

#[test]
fn macros_are_in_the_answer_or_marked_whatever_was_opened_before() {
    let source = |name: &str| {
        format!("/* tank_lim */\n#define TANK_LIMIT_{name} 7\nint tank_{name}(void) {{ return TANK_LIMIT_{name}; }}\n")
    };
    let names = ["a", "b", "c", "d"];
    let files: Vec<(String, String)> =
        names.iter().map(|name| (format!("src/{name}.c"), source(&name.to_uppercase()))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut repository = Repository::serve(&files, "clangd");
    let count = |repository: &mut Repository| {
        let answer = repository.ask("workspaceSymbol", "src/a.c", "tank_lim");
        let found = answer.result().as_array().expect("symbols").iter();
        let listed =
            found.filter(|one| one["name"].as_str().is_some_and(|name| name.starts_with("TANK_LIMIT_"))).count();
        (listed as u64, answer.metadata["partial"][0]["unlistedDefinitions"].as_u64().unwrap_or_default())
    };
    let mut last = None;
    let is_compared = until(INDEXED_MS, || {
        last = Some(count(&mut repository));
        last.is_some_and(|(listed, unlisted)| listed + unlisted == 4)
    });
    assert!(is_compared && last.is_some_and(|(_, unlisted)| unlisted >= 3), "{last:?}");
    for (path, _) in files {
        repository.ask("goToDefinition", path, "TANK_LIMIT_");
        // On a busy machine an answer doesn't wait long enough for the index; it isn't retained then.
        let is_complete = until(INDEXED_MS, || {
            last = Some(count(&mut repository));
            last.is_some_and(|(listed, unlisted)| listed + unlisted == 4)
        });
        assert!(is_complete, "{path}: {last:?}");
    }
    // The server adds the macros of an opened file when it has read it.
    assert!(until(INDEXED_MS, || count(&mut repository) == (4, 0)));
    repository.yard.stop();
}
