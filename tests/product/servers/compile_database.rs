//! C and C++ without a compile database, or with one that lists only a part: clangd knows every source at the first question, with the
//! include directories that it needs, and follows new files and new includes.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::bare::uri_of;
use crate::mcp::Mcp;
use crate::running_server::{Yard, codeyard, listing};

/// A repository without a build that has run.
struct Sources {
    root: PathBuf,
    _folder: tempfile::TempDir,
}

impl Sources {
    /// The folder's name has a blank and is not ASCII.
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("a path").join("pro ject ü");
        let sources = Self { root, _folder: folder };
        files.iter().for_each(|(name, text)| sources.write(name, text));
        sources
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn configuration(&self) -> String {
        format!("[[workspace]]\nname = \"c\"\nroots = [{:?}]\n", self.root)
    }

    /// The places that use the first `word` of `file`: file and line, from 1.
    fn users(&self, client: &mut Mcp, file: &str, word: &str) -> BTreeSet<(String, u64)> {
        let path = self.root.join(file);
        let text = fs::read_to_string(&path).expect("UTF-8");
        let (line, text) = text.lines().enumerate().find(|(_, line)| line.contains(word)).expect("the word");
        let position = json!({"line": line, "character": text.find(word)});
        let arguments = json!({"uri": uri_of(&path), "position": position, "pageSize": 200});
        let answer = client.ask("vscode.lsp.references", &arguments).expect("references");
        let summary = answer["summary"].as_str().expect("a summary");
        assert!(!summary.contains(" known to clangd"), "the view is complete: {summary}");
        answer["items"].as_array().expect("items").iter().map(|item| self.place(item)).collect()
    }

    fn place(&self, item: &Value) -> (String, u64) {
        let uri = item["uri"].as_str().expect("a URI");
        let name = uri.strip_prefix(&(uri_of(&self.root) + "/")).expect("inside the root");
        (name.to_owned(), item["range"]["start"]["line"].as_u64().expect("a line") + 1)
    }

    /// The messages of a document's diagnostics.
    fn diagnostics(&self, client: &mut Mcp, file: &str) -> Vec<String> {
        let arguments = json!({"uri": uri_of(&self.root.join(file))});
        let answer = client.ask("vscode.lsp.diagnostics.document", &arguments).expect("diagnostics");
        let items = answer["diagnostics"].as_array().expect("diagnostics").iter();
        items.map(|item| item["message"].as_str().expect("a message").to_owned()).collect()
    }
}

fn places(expected: &[(&str, u64)]) -> BTreeSet<(String, u64)> {
    expected.iter().map(|(file, line)| ((*file).to_owned(), *line)).collect()
}

#[test]
fn all_callers_are_found_at_the_first_question_and_after_any_other() {
    let sources = Sources::new(&[
        ("src/target.c", "#include \"target.h\"\nint target(int value) { return value; }\n"),
        ("include/target.h", "#pragma once\nint target(int value);\n"),
    ]);
    let mut expected = BTreeSet::new();
    for number in 0..58 {
        let folder = ["src", "src/deep/er", "tools", "."][number % 4];
        let calls = number < 51;
        let body = if calls { format!("return target({number});") } else { "return 0;".to_owned() };
        let name = format!("{folder}/user{number}.c").replace("./", "");
        sources.write(&name, &format!("#include <target.h>\n\nint user{number}(void) {{ {body} }}\n"));
        expected.extend(calls.then_some((name, 3)));
    }
    assert_eq!(expected.len(), 51);
    let before = listing(&sources.root);
    let yard = Yard::serve(&sources.configuration());
    let client = &mut yard.client("c");
    assert_eq!(sources.users(client, "src/target.c", "target(int"), expected);
    assert_eq!(sources.diagnostics(client, "tools/user2.c"), [""; 0]);
    assert_eq!(sources.users(client, "include/target.h", "target(int"), expected);
    assert_eq!(sources.users(client, "src/target.c", "target(int"), expected);
    assert_eq!(listing(&sources.root), before, "nothing is written into the project");

    // A new source in a new folder, and one that is deleted.
    sources.write("new/more.c", "#include <target.h>\nint more(void) { return target(1); }\n");
    fs::remove_file(sources.root.join("user3.c")).expect("a file");
    expected.insert(("new/more.c".into(), 2));
    expected.remove(&("user3.c".to_owned(), 3));
    assert_eq!(sources.users(client, "src/target.c", "target(int"), expected);

    // The next process reads the index of this one.
    let state = Arc::clone(&yard.state);
    let token = yard.token.clone();
    yard.stop();
    let mut yard = Yard::serve_from(state, &sources.configuration(), &[], &[]);
    yard.token = token;
    assert_eq!(sources.users(&mut yard.client("c"), "src/target.c", "target(int"), expected);
    yard.stop();
}

#[test]
fn an_include_of_another_directory_is_followed_when_it_appears() {
    let sources = Sources::new(&[
        ("app/main.c", "int run(void) { return 0; }\n"),
        ("lib/inc/lib.h", "int work(void);\n"),
        ("lib/inc/config.h", "#define LIMIT 7\n"),
        ("other/inc/config.h", "#define WRONG 1\n"),
        ("lib/lib.c", "#include <lib.h>\n#include <config.h>\nint work(void) { return LIMIT; }\n"),
    ]);
    let yard = Yard::serve(&sources.configuration());
    let client = &mut yard.client("c");
    assert_eq!(sources.users(client, "lib/lib.c", "work"), places(&[]));
    assert_eq!(sources.diagnostics(client, "lib/lib.c"), [""; 0], "config.h is the nearest of that name");
    sources.write("app/main.c", "#include <lib.h>\nint run(void) { return work(); }\n");
    assert_eq!(sources.diagnostics(client, "app/main.c"), [""; 0]);
    assert_eq!(sources.users(client, "lib/lib.c", "work"), places(&[("app/main.c", 2)]));
    yard.stop();
}

/// Files that are compiled only inside of another one, such as the definitions of templates below a header.
#[test]
fn a_question_in_a_fragment_is_answered_and_leaves_other_answers_whole() {
    let files = [
        (
            "CMakeLists.txt",
            "project(p CXX)\nadd_executable(t src/t.cpp src/v.cpp)\ntarget_include_directories(t PUBLIC include)\n",
        ),
        (
            "include/vec/vec.h",
            "#pragma once\nnamespace v {\ntemplate <class T> struct Vec {\n  T sum() const;\n  T one;\n};\nint plain(int n);\n}\n#include \"vec/vec.inl\"\n",
        ),
        (
            "include/vec/vec.inl",
            "namespace v {\ntemplate <class T> T Vec<T>::sum() const { return one + plain(1); }\n}\n#include \"vec/more.tcc\"\n",
        ),
        ("include/vec/more.tcc", "namespace v {\ninline int more() { return plain(3); }\n}\n"),
        // The most similar name of a header without a command of its own.
        ("include/vec/more.h", "#pragma once\n#include \"vec/vec.h\"\ninline int again() { return v::more(); }\n"),
        (
            "src/t.cpp",
            "#include \"vec/more.h\"\nint main() {\n  v::Vec<int> x;\n  return x.sum() + v::plain(2) + x.one + again();\n}\n",
        ),
        (
            "src/v.cpp",
            "#include \"vec/vec.h\"\nnamespace v {\nint plain(int n) { return n; }\n}\n#include \"part.txx\"\n",
        ),
        ("src/part.txx", "int part() { return v::plain(4); }\n"),
    ];
    let plain =
        places(&[("include/vec/vec.inl", 2), ("include/vec/more.tcc", 2), ("src/t.cpp", 4), ("src/part.txx", 1)]);
    let sum = places(&[("src/t.cpp", 4)]);
    let one = places(&[("include/vec/vec.inl", 2), ("src/t.cpp", 4)]);
    // Each file comes first once: the first question decides what the server reads before all others.
    let questions = [
        ("include/vec/vec.inl", "plain", &plain),
        ("include/vec/more.tcc", "plain", &plain),
        ("src/part.txx", "plain", &plain),
        ("include/vec/vec.inl", "sum", &sum),
        ("include/vec/vec.inl", "one", &one),
        ("include/vec/vec.h", "plain", &plain),
        ("include/vec/vec.h", "sum", &sum),
    ];
    for (with_database, first) in [(false, 0), (true, 1), (false, 2)] {
        let sources = Sources::new(&files);
        if with_database {
            let command = |file: &str| json!({"directory": sources.root, "file": file, "arguments": ["c++", "-Iinclude", "-c", file]});
            let commands = [command("src/t.cpp"), command("src/v.cpp")];
            sources.write("build/compile_commands.json", &json!(commands).to_string());
        }
        let yard = Yard::serve(&sources.configuration());
        let client = &mut yard.client("c");
        for (file, word, expected) in questions.iter().cycle().skip(first).take(questions.len() + 1) {
            assert_eq!(&sources.users(client, file, word), *expected, "{word} in {file}, first {first}");
        }
        for file in files[1..].iter().map(|(file, _)| *file) {
            assert_eq!(sources.diagnostics(client, file), [""; 0], "{file}");
        }
        assert_eq!(&sources.users(client, "include/vec/vec.h", "plain"), &plain, "after all files were open");
        yard.stop();
    }
}

#[test]
fn flags_come_from_build_files_that_are_not_run() {
    let sources = Sources::new(&[
        ("Makefile", "ran := $(shell touch ran)\nCFLAGS += -Iinc -DDEPTH=3\nall: ; touch ran\n"),
        ("src/a.c", "#include \"a.h\"\nint depth(void) { return DEPTH; }\n"),
        ("src/b.c", "#include \"a.h\"\nint twice(void) { return 2 * depth(); }\n"),
        ("inc/a.h", "int depth(void);\n"),
        (
            "cpp/x.cpp",
            "#include <vector>\n#include <concepts>\nauto size(std::integral auto n) { return std::vector<int>(n).size(); }\n",
        ),
        ("cpp/lonely.h", "#pragma once\nnamespace lonely { inline int alone() { return 1; } }\n"),
    ]);
    let yard = Yard::serve(&sources.configuration());
    let client = &mut yard.client("c");
    for file in ["src/a.c", "src/b.c", "cpp/lonely.h"] {
        assert_eq!(sources.diagnostics(client, file), [""; 0], "{file}");
    }
    assert_eq!(sources.users(client, "inc/a.h", "depth"), places(&[("src/b.c", 2)]));
    let found = client.ask("vscode.lsp.workspaceSymbols", &json!({"query": "alone"})).expect("symbols");
    assert_eq!(found["items"][0]["name"], "alone", "a header that nothing includes is indexed: {found}");
    assert!(!sources.root.join("ran").exists(), "nothing of the make file runs");
    yard.stop();
}

#[test]
fn a_database_that_lists_a_part_is_completed_and_a_broken_one_replaced() {
    let sources = Sources::new(&[
        ("src/a.c", "#include \"a.h\"\nint FUNCTION(void) { return 1; }\n"),
        ("src/b.c", "#include \"a.h\"\nint other(void) { return FUNCTION() + common(); }\n"),
        ("src/c.c", "#include \"a.h\"\nint common(void) { return 0; }\n"),
        ("inc/a.h", "int FUNCTION(void);\nint common(void);\n"),
    ]);
    let database = json!([
        {"directory": "..", "file": "src/a.c", "command": "cc -Iinc -DFUNCTION=real -c src/a.c -o a.o"},
        {"directory": "..", "file": "src/gone.c", "command": "cc -c src/gone.c"},
    ]);
    sources.write("build/compile_commands.json", &database.to_string());
    let yard = Yard::serve(&sources.configuration());
    let client = &mut yard.client("c");
    assert_eq!(sources.users(client, "src/c.c", "common"), places(&[("src/b.c", 2)]));
    assert_eq!(sources.diagnostics(client, "src/b.c"), [""; 0], "it has the flags of its neighbour");
    sources.write("build/compile_commands.json", "{ not json");
    assert_eq!(sources.users(client, "src/c.c", "common"), places(&[("src/b.c", 2)]));
    yard.stop();
}

#[test]
fn the_doctor_reports_whether_a_build_may_run_and_why_it_failed() {
    let sources = Sources::new(&[
        ("Makefile", "all:\n\techo error: no such thing; exit 3\n"),
        ("a.c", "int target(void) { return 1; }\nint user(void) { return target(); }\n"),
    ]);
    let serve = |more: &str| Yard::serve(&format!("{}{more}", sources.configuration()));
    let doctor = |yard: &Yard| {
        let mut command = codeyard("doctor", yard.state.path());
        let output = command.arg(&sources.root).arg("--json").stdin(Stdio::null()).output().expect("it runs");
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        document["projects"]["list"][0]["build"].clone()
    };
    let yard = serve("");
    assert_eq!(doctor(&yard)["run_build"], false);
    yard.stop();
    let yard = serve("run_build = true\n");
    let client = &mut yard.client("c");
    assert_eq!(sources.users(client, "a.c", "target"), places(&[("a.c", 2)]), "the commands are inferred");
    let build = doctor(&yard);
    assert_eq!((&build["run_build"], &build["workspace"]), (&json!(true), &json!("c")), "{build}");
    let failure = build["failure"].as_str().unwrap_or_default();
    assert!(!failure.is_empty() && build["ended"].is_string(), "{build}");
    assert!(build["command"].as_str().is_some_and(|command| command.starts_with("make -C ")), "{build}");
    yard.stop();
}
