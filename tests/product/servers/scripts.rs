//! Scripts without an extension: their language is the interpreter of their first line. Questions in them are answered, questions elsewhere find
//! their uses of a name, and both follow the files as they change on disk. Expected answers are written by hand.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::bare::uri_of;
use crate::mcp::{Mcp, until};
use crate::running_server::Yard;
use crate::servers::agent::{self, Refusal};
use crate::servers::folder::{folder_of, write};
use codeyard_lsp::install::Installer;
use codeyard_lsp::registry::Registry;
use codeyard_test_support::real_servers::build_folder;

/// Longest wait for the effect of a change on disk, in milliseconds.
const SEEN_MS: u64 = 30_000;
/// Scripts that one server has open.
const MOST_OPEN: usize = codeyard_projects::limits::MAX_OPENED_SCRIPTS;

/// A folder with servers for shell, Python and JavaScript.
fn servers() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| {
        let folder = build_folder().join("codeyard-breadth-servers");
        let kinds = ["bash", "ty", "typescript"].map(String::from);
        let installed = Installer::with_servers_dir(&folder).install(&Registry::builtin(), &kinds, &|_| ());
        installed.unwrap_or_else(|error| panic!("the language servers can't be installed: {error}"));
        folder
    })
}

/// A served folder.
struct Served {
    root: PathBuf,
    yard: Yard,
    client: Mcp,
    _folder: tempfile::TempDir,
}

impl Served {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, "", servers())
    }

    /// Same with more configuration, and the servers in this folder.
    fn with(files: &[(&str, &str)], more: &str, servers: &Path) -> Self {
        let (folder, root) = folder_of(files);
        let workspace = format!("{more}[[workspace]]\nname = \"w\"\nroots = [{root:?}]\n");
        let servers = servers.to_str().expect("UTF-8");
        let yard = Yard::serve_in(&workspace, &[], &[("CODEYARD_SERVERS_DIR", servers)]);
        let client = agent::client(&yard, "w");
        Self { root, yard, client, _folder: folder }
    }

    fn write(&self, file: &str, text: &str) {
        write(&self.root.join(file), text);
    }

    /// The answer of an operation at the last `word` of `file`.
    fn ask(&mut self, operation: &str, file: &str, word: &str) -> Result<agent::Answer, Refusal> {
        let text = fs::read_to_string(self.root.join(file)).expect("a text");
        let (line, text) = text.lines().enumerate().filter(|(_, text)| text.contains(word)).last().expect("the word");
        let character = text.rfind(word).expect("the word") + 1;
        let arguments = json!({"operation": operation, "filePath": file, "line": line + 1, "character": character});
        agent::ask(&mut self.client, &arguments)
    }

    /// The files with a place of the answer, without a mark.
    fn files(&mut self, operation: &str, file: &str, word: &str) -> Vec<String> {
        let answer =
            self.ask(operation, file, word).unwrap_or_else(|refusal| panic!("{operation} {file}: {refusal:?}"));
        assert!(answer.metadata.get("partial").is_none(), "{operation} {file}: {answer:?}");
        let root = uri_of(&self.root) + "/";
        let file = |place: &Value| {
            let uri = place["uri"].as_str().or(place["location"]["uri"].as_str()).expect("a URI");
            uri.strip_prefix(&root).expect("inside the root").to_owned()
        };
        let files: BTreeSet<String> = answer.result().as_array().expect("places").iter().map(file).collect();
        files.into_iter().collect()
    }

    /// Asserts that the references of `word`, which `file` declares, are in exactly these files, at once or when the change on disk is seen.
    fn assert_used_in(&mut self, file: &str, word: &str, wanted: &[&str]) {
        let mut found = vec![];
        let is_seen = until(SEEN_MS, || {
            found = self.files("findReferences", file, word);
            found == wanted
        });
        assert!(is_seen, "{word}: {found:?} in place of {wanted:?}");
    }

    /// Asserts that questions in a script that uses `word` of `library` are answered.
    fn assert_answers_in(&mut self, script: &str, word: &str, library: &str) {
        assert_eq!(self.files("goToDefinition", script, word), [library], "{script}");
        let uses = self.files("findReferences", script, word);
        assert!(
            uses.iter().any(|file| file == script) && uses.iter().any(|file| file == library),
            "{script}: {uses:?}"
        );
        let hover = self.ask("hover", script, word).expect("a hover");
        assert!(hover.output.contains(word), "{hover:?}");
        let symbols = self.ask("documentSymbol", script, word).expect("symbols");
        assert!(symbols.output.contains("own_part"), "{symbols:?}");
    }

    /// Why a question in `file` isn't answered.
    fn refusal(&mut self, file: &str, word: &str) -> Option<String> {
        let refusal = self.ask("goToDefinition", file, word).err()?;
        Some(refusal.error["reason"].as_str().unwrap_or_default().to_owned())
    }
}

const SHELL_TOOL: &str = "#!/usr/bin/env bash\nsource ../lib.sh\nown_part() { shared_fn; }\nshared_fn\n";
const SHELL_LIBRARY: &str = "shared_fn() { echo 1; }\n";

#[test]
fn shell_scripts_are_found_and_followed() {
    let mut served = Served::new(&[
        ("lib.sh", SHELL_LIBRARY),
        ("run.sh", "source ./lib.sh\nshared_fn\n"),
        ("more.bats", "source ./lib.sh\nshared_fn\n"),
        ("bin/tool", SHELL_TOOL),
        ("hooks/notes", "shared_fn is a function of lib.sh\n"),
        (".bashrc", "source ./lib.sh\nshared_fn\n"),
    ]);
    served.assert_used_in("lib.sh", "shared_fn", &[".bashrc", "bin/tool", "lib.sh", "more.bats", "run.sh"]);
    served.assert_answers_in("bin/tool", "shared_fn", "lib.sh");
    assert_eq!(served.refusal("hooks/notes", "shared_fn").as_deref(), Some("no_server"));
    served.write("bin/new", "#!/bin/sh\n. ../lib.sh\nshared_fn\n");
    served.assert_used_in("lib.sh", "shared_fn", &[".bashrc", "bin/new", "bin/tool", "lib.sh", "more.bats", "run.sh"]);
    fs::remove_file(served.root.join("bin/new")).expect("a file");
    served.assert_used_in("lib.sh", "shared_fn", &[".bashrc", "bin/tool", "lib.sh", "more.bats", "run.sh"]);
    // The first line alone makes it a script.
    served.write("bin/tool", &SHELL_TOOL.replace("#!/usr/bin/env bash", "# none"));
    served.assert_used_in("lib.sh", "shared_fn", &[".bashrc", "lib.sh", "more.bats", "run.sh"]);
    assert_eq!(served.refusal("bin/tool", "shared_fn").as_deref(), Some("no_server"));
    served.write("hooks/notes", "#!/bin/dash\n. ../lib.sh\nshared_fn\n");
    served.assert_used_in("lib.sh", "shared_fn", &[".bashrc", "hooks/notes", "lib.sh", "more.bats", "run.sh"]);
    assert_eq!(served.files("goToDefinition", "hooks/notes", "shared_fn"), ["lib.sh"]);
    served.yard.stop();
}

#[test]
fn python_scripts_are_found_and_import_the_file_beside_them() {
    let tool =
        "#!/usr/bin/env python3\nfrom helper import shared_fn\n\n\ndef own_part():\n    shared_fn()\n\n\nshared_fn()\n";
    let mut served = Served::new(&[
        ("bin/helper.py", "def shared_fn():\n    return 1\n"),
        ("bin/tool", tool),
        ("app.wsgi", "import sys\nsys.path.append(\"bin\")\nfrom helper import shared_fn\nshared_fn()\n"),
        ("bin/data", "shared_fn\n"),
    ]);
    served.assert_used_in("bin/helper.py", "shared_fn", &["app.wsgi", "bin/helper.py", "bin/tool"]);
    served.assert_answers_in("bin/tool", "shared_fn", "bin/helper.py");
    served.write("bin/later", tool);
    served.assert_used_in("bin/helper.py", "shared_fn", &["app.wsgi", "bin/helper.py", "bin/later", "bin/tool"]);
    served.yard.stop();
}

#[test]
fn scripts_of_node_import_by_both_kinds_of_modules() {
    let mut served = Served::new(&[
        ("lib/es.mjs", "export function sharedFn() { return 1; }\n"),
        ("lib/common.js", "function commonFn() { return 1; }\nmodule.exports = { commonFn };\n"),
        (
            "bin/es",
            "#!/usr/bin/env node\nimport { sharedFn } from \"../lib/es.mjs\";\nfunction own_part() { sharedFn(); }\nsharedFn();\n",
        ),
        (
            "bin/common",
            "#!/usr/bin/env node\nconst { commonFn } = require(\"../lib/common\");\nfunction own_part() { commonFn(); }\ncommonFn();\n",
        ),
    ]);
    served.assert_used_in("lib/es.mjs", "sharedFn", &["bin/es", "lib/es.mjs"]);
    served.assert_used_in("lib/common.js", "commonFn", &["bin/common", "lib/common.js"]);
    served.assert_answers_in("bin/es", "sharedFn", "lib/es.mjs");
    assert_eq!(served.files("goToDefinition", "bin/common", "commonFn"), ["lib/common.js"]);
    served.yard.stop();
}

#[test]
fn a_script_that_changes_its_language_changes_its_server() {
    let mut served = Served::new(&[
        ("lib.sh", SHELL_LIBRARY),
        ("bin/lib.py", "def shared_fn():\n    return 1\n"),
        ("bin/tool", SHELL_TOOL),
    ]);
    served.assert_used_in("lib.sh", "shared_fn", &["bin/tool", "lib.sh"]);
    served.assert_used_in("bin/lib.py", "shared_fn", &["bin/lib.py"]);
    served.write("bin/tool", "#!/usr/bin/env python3\nfrom lib import shared_fn\nshared_fn()\n");
    served.assert_used_in("bin/lib.py", "shared_fn", &["bin/lib.py", "bin/tool"]);
    served.assert_used_in("lib.sh", "shared_fn", &["lib.sh"]);
    assert_eq!(served.files("goToDefinition", "bin/tool", "shared_fn"), ["bin/lib.py"]);
    served.yard.stop();
}

#[test]
fn an_ignored_script_is_answered_when_it_is_asked_about() {
    let mut served = Served::new(&[(".gitignore", "out\n"), ("lib.sh", SHELL_LIBRARY), ("out/tool", SHELL_TOOL)]);
    assert_eq!(served.files("goToDefinition", "out/tool", "shared_fn"), ["lib.sh"]);
    served.yard.stop();
}

#[test]
fn more_scripts_than_a_server_may_have_open_are_marked() {
    let tool = "#!/usr/bin/env python3\nfrom helper import shared_fn\nshared_fn()\n";
    let names: Vec<String> = (0..=MOST_OPEN).map(|at| format!("bin/tool-{at:03}")).collect();
    let mut files = vec![("bin/helper.py", "def shared_fn():\n    return 1\n")];
    files.extend(names.iter().map(|name| (name.as_str(), tool)));
    let mut served = Served::new(&files);
    let answer = served.ask("findReferences", "bin/helper.py", "shared_fn").expect("references");
    let known = MOST_OPEN + 1;
    let mark = format!("{known} of {} Python files are known to ty", known + 1);
    assert!(answer.output.contains(&mark), "{answer:?}");
    assert!(answer.output.contains(&format!("only {MOST_OPEN} of {known} scripts")), "{answer:?}");
    served.yard.stop();
}

#[test]
fn scripts_are_answered_by_name_without_a_server() {
    let none = tempfile::tempdir().expect("a folder");
    let files = [("lib.sh", SHELL_LIBRARY), ("bin/tool", SHELL_TOOL)];
    let mut served = Served::with(&files, "[syntactic]\nmode = \"fallback\"\n", none.path());
    assert_eq!(served.files("goToDefinition", "bin/tool", "shared_fn"), ["lib.sh"]);
    assert_eq!(served.files("findReferences", "lib.sh", "shared_fn"), ["bin/tool", "lib.sh"]);
    let symbols = served.ask("documentSymbol", "bin/tool", "shared_fn").expect("symbols");
    assert_eq!(symbols.metadata["byName"], json!(["shellscript"]), "{symbols:?}");
    served.yard.stop();
}

#[test]
fn a_variable_that_the_server_does_not_find_is_named_by_the_index() {
    let mut served =
        Served::new(&[("main.sh", "#!/bin/sh\nVERSION=3\n"), ("hooks/one", "#!/bin/sh\necho \"$VERSION\"\n")]);
    let mark = "By its name, `VERSION` is defined at main.sh:2.";
    let mut last = None;
    let is_marked = until(SEEN_MS, || {
        let answer = served.ask("goToDefinition", "hooks/one", "$VERSION").expect("an answer");
        let is_marked = answer.output.ends_with(mark);
        last = Some(answer);
        is_marked
    });
    assert!(is_marked, "{last:?}");
    served.yard.stop();
}
