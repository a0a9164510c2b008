//! Projects of Python that share an environment: references between them are complete, and an environment is found under any name.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::bare::uri_of;
use crate::mcp::Mcp;
use crate::running_server::Yard;
use crate::servers::folder::folder_of;

/// The member that is imported, the member that imports it, and its test.
const MEMBERS: [(&str, &str); 5] = [
    ("packages/core/pyproject.toml", "[project]\nname = \"core\"\nversion = \"1\"\n"),
    ("packages/core/src/core/__init__.py", "def greet(name: str) -> str:\n    return name\n"),
    ("packages/web/pyproject.toml", "[project]\nname = \"web\"\nversion = \"1\"\ndependencies = [\"core\"]\n"),
    (
        "packages/web/src/web/__init__.py",
        "from core import greet\nfrom outside import tool\n\nprint(greet(\"a\"), tool())\n",
    ),
    ("packages/web/tests/test_web.py", "from core import greet\n\nassert greet(\"b\")\n"),
];
const UV: &str = "[project]\nname = \"top\"\nversion = \"1\"\n[tool.uv.workspace]\nmembers = [\"packages/*\"]\n";

struct Repository {
    root: PathBuf,
    client: Mcp,
    yard: Yard,
    _folder: tempfile::TempDir,
}

impl Repository {
    fn serve(more: &[(&str, &str)]) -> Self {
        let (folder, root) = folder_of(MEMBERS.iter().chain(more));
        let yard = Yard::serve(&format!("[[workspace]]\nname = \"w\"\nroots = [{root:?}]\n"));
        let client = yard.client("w");
        Self { root, client, yard, _folder: folder }
    }

    /// Number of references of `greet`, with its declaration, and the summary.
    fn references(&mut self) -> (usize, String) {
        let uri = uri_of(&self.root.join("packages/core/src/core/__init__.py"));
        let asked = json!({"uri": uri, "position": {"line": 0, "character": 5}, "includeDeclaration": true});
        let answer = self.client.ask("vscode.lsp.references", &asked).expect("an answer");
        (answer["items"].as_array().expect("a list").len(), answer["summary"].as_str().expect("a summary").to_owned())
    }

    /// Where `tool`, a module of the environment, is defined.
    fn tool(&mut self) -> Vec<Value> {
        let uri = uri_of(&self.root.join("packages/web/src/web/__init__.py"));
        let asked = json!({"uri": uri, "position": {"line": 3, "character": 19}});
        let answer = self.client.ask("vscode.lsp.definition", &asked).expect("an answer");
        answer["locations"].as_array().expect("locations").clone()
    }

    /// Makes an environment with the module `outside`. `false`: Python can't.
    #[expect(clippy::disallowed_methods, reason = "tests make their environments with Python itself")]
    fn install(&self, name: &str) -> bool {
        let place = self.root.join(name);
        let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&place).status();
        if !made.is_ok_and(|status| status.success()) {
            codeyard_test_support::parts::skip("venv", "`python3 -m venv` fails");
            return false;
        }
        let versions = fs::read_dir(place.join("lib")).expect("a folder").flatten();
        for packages in versions.map(|version| version.path().join("site-packages")).filter(|path| path.is_dir()) {
            fs::write(packages.join("outside.py"), "def tool() -> int:\n    return 1\n").expect("a file");
        }
        true
    }
}

#[test]
fn members_of_a_workspace_are_one_project() {
    for mark in [("pyproject.toml", UV), ("uv.lock", ""), ("poetry.lock", "")] {
        let mut repository = Repository::serve(&[mark]);
        let (count, summary) = repository.references();
        assert_eq!((count, summary.as_str()), (5, "Returned 5 references."), "{mark:?}");
        repository.yard.stop();
    }
}

#[test]
fn an_environment_of_any_name_connects_projects_and_is_used() {
    for name in [".venv", "venv", "env", "py3"] {
        let mut repository = Repository::serve(&[]);
        let (count, summary) = repository.references();
        assert_eq!(count, 1, "{name}: {summary}");
        let said = "packages/web imports them without an environment that they share; run `python -m venv .venv && \
                    .venv/bin/pip install -e packages/core -e packages/web`.";
        assert!(summary.ends_with(said), "{name}: {summary}");
        if !repository.install(name) {
            return;
        }
        let (count, summary) = repository.references();
        assert_eq!((count, summary.as_str()), (5, "Returned 5 references."), "{name}");
        let found = repository.tool();
        let uri = found[0]["uri"].as_str().expect("a URI");
        assert!(uri.contains(&format!("/{name}/lib/")) && uri.ends_with("/outside.py"), "{name}: {found:?}");
        fs::remove_dir_all(repository.root.join(name)).expect("removed");
        assert_eq!(repository.references().0, 1, "{name}: it is gone");
        repository.yard.stop();
    }
}
