//! Files inside dependencies that change in place: the next answer is from the new text, whatever the language server watches itself.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::bare::uri_of;
use crate::mcp::Mcp;
use crate::running_server::Yard;
use crate::servers::folder::{folder_of, write};

struct Project {
    root: PathBuf,
    client: Mcp,
    _yard: Yard,
    _folder: tempfile::TempDir,
}

impl Project {
    fn new(kind: &str, files: &[(&str, &str)]) -> Self {
        let (folder, root) = folder_of(files);
        let servers = format!("servers = {{ prefer = [{kind:?}] }}");
        let yard = Yard::serve(&format!("[[workspace]]\nname = \"w\"\nroots = [{root:?}]\n{servers}\n"));
        let client = yard.client("w");
        Self { root, client, _yard: yard, _folder: folder }
    }

    /// Number of errors in a file.
    fn errors(&mut self, file: &str) -> usize {
        let arguments = json!({"uri": uri_of(&self.root.join(file))});
        let answer = self.client.ask("vscode.lsp.diagnostics.document", &arguments).expect("diagnostics");
        answer["diagnostics"].as_array().expect("diagnostics").len()
    }
}

const SCRIPT: [(&str, &str); 5] = [
    (
        "tsconfig.json",
        r#"{"compilerOptions": {"strict": true, "module": "nodenext", "types": []}, "include": ["src"]}"#,
    ),
    ("package.json", r#"{"name": "shop", "type": "module", "dependencies": {"client": "1.0.0", "store": "1.0.0"}}"#),
    ("src/use.ts", "import { user } from 'client';\nimport { item } from 'store';\nuser('a');\nitem('b');\n"),
    ("node_modules/client/package.json", r#"{"name": "client", "version": "1.0.0", "types": "dist/types/index.d.ts"}"#),
    ("node_modules/store/package.json", r#"{"name": "store", "version": "1.0.0", "types": "index.d.ts"}"#),
];

#[test]
fn a_client_that_is_generated_into_a_package_is_seen() {
    let text = |name: &str, of: &str| format!("export declare function {name}(id: {of}): void;\n");
    for kind in ["typescript", "typescript-language-server"] {
        let mut project = Project::new(kind, &SCRIPT);
        let client = project.root.join("node_modules/client/dist/types/index.d.ts");
        let store = project.root.join("node_modules/store/index.d.ts");
        write(&client, text("user", "string"));
        write(&store, text("item", "string"));
        assert_eq!(project.errors("src/use.ts"), 0, "{kind}");
        write(&client, text("user", "number"));
        assert_eq!(project.errors("src/use.ts"), 1, "{kind}: a file was written");
        // Generators write a new file and rename it, or replace the folder.
        write(&store.with_extension("new"), text("item", "number"));
        fs::rename(store.with_extension("new"), &store).unwrap();
        assert_eq!(project.errors("src/use.ts"), 2, "{kind}: a file was replaced");
        let types = client.parent().unwrap();
        write(&types.with_file_name("next").join("index.d.ts"), text("user", "string"));
        fs::remove_dir_all(types).unwrap();
        fs::rename(types.with_file_name("next"), types).unwrap();
        assert_eq!(project.errors("src/use.ts"), 1, "{kind}: a folder was replaced");
        write(&client, text("user", "boolean"));
        assert_eq!(project.errors("src/use.ts"), 2, "{kind}: the new folder is followed");
    }
}

#[test]
fn a_module_that_is_edited_in_an_environment_is_seen() {
    let mut project = Project::new(
        "ty",
        &[
            ("pyproject.toml", "[project]\nname = \"shop\"\nversion = \"1\"\n"),
            ("use.py", "from client.deep import user\n\nuser(\"a\")\n"),
            (".gitignore", ".venv/\n"),
            (".venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n"),
            (".venv/lib/python3.11/site-packages/client/__init__.py", ""),
            (".venv/lib/python3.11/site-packages/client/deep.py", "def user(id: str) -> None: ...\n"),
        ],
    );
    assert_eq!(project.errors("use.py"), 0);
    let module = project.root.join(".venv/lib/python3.11/site-packages/client/deep.py");
    write(&module, "def user(id: int) -> None: ...\n");
    assert_eq!(project.errors("use.py"), 1, "a module was edited");
    write(&module, "def user(id: str) -> None: ...\n");
    assert_eq!(project.errors("use.py"), 0, "and edited again");
}
