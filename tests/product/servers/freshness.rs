//! The next answer after a change on disk reflects the change: edits, new files, renames, deletions, switched branches. The
//! answers are compared with those of a bare server started after the change.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::mcp::{Failure, Mcp};
use crate::question::{Ask, identifiers};
use crate::running_server::Yard;
use crate::servers::corpus::{C, Corpus, Language, PYTHON, TYPESCRIPT, difference, product};
use codeyard_test_support::git::git;

/// Changes of a sample.
struct Story {
    language: Language,
    /// The file that declares `word`.
    declared: &'static str,
    word: &'static str,
    /// A file that was never queried, and text that makes it use `word`.
    edited: &'static str,
    addition: &'static str,
    /// A new file, and a text that uses `word`.
    fresh: &'static str,
    text: &'static str,
    renamed: &'static str,
    /// A comment line.
    comment: &'static str,
}

const IN_PYTHON: Story = Story {
    language: PYTHON,
    declared: "larder/items.py",
    word: "Item",
    edited: "larder/units.py",
    addition: "\nfrom larder.items import Item as Extra\n\n\ndef extra(item: Extra) -> Extra:\n    return item\n",
    fresh: "larder/fresh.py",
    text: "from larder.items import Item\n\n\ndef fresh(item: Item) -> Item:\n    return item.nothing\n",
    renamed: "larder/renamed.py",
    comment: "# a line\n",
};

const IN_TYPESCRIPT: Story = Story {
    language: TYPESCRIPT,
    declared: "src/address.ts",
    word: "Address",
    edited: "src/values.ts",
    addition: "\nimport type { Address as Extra } from \"./address.ts\";\nexport type More = Extra | undefined;\n",
    fresh: "src/fresh.ts",
    text: "import { Address } from \"./address.ts\";\n\nexport const fresh: Address = new Address(1, \"2\");\n",
    renamed: "src/renamed.ts",
    comment: "// a line\n",
};

const IN_C: Story = Story {
    language: C,
    declared: "src/queue.h",
    word: "queue_run",
    edited: "src/yard.c",
    addition: "\nsize_t extra(struct queue *queue);\nsize_t extra(struct queue *queue)\n{\n\treturn queue_run(queue, 1);\n}\n",
    fresh: "src/fresh.c",
    text: "#include \"queue.h\"\n\nsize_t fresh(struct queue *queue);\nsize_t fresh(struct queue *queue)\n{\n\treturn queue_run(queue, nothing);\n}\n",
    renamed: "src/renamed.c",
    comment: "/* a line */\n",
};

impl Story {
    fn asks(&self, corpus: &Corpus) -> Vec<Ask> {
        let path = corpus.root.join(self.declared);
        let at = identifiers(&path).into_iter().find(|at| at.word == self.word).expect("it is declared");
        vec![
            Ask::References(at.clone(), true),
            Ask::Definition(at),
            Ask::WorkspaceSymbols(self.word.into()),
            Ask::DocumentSymbols(path.clone()),
            Ask::Diagnostics(path),
        ]
    }

    /// Queries the product at once, then a bare server started after the change.
    fn check(&self, corpus: &Corpus, client: &mut Mcp, what: &str, further: &[Ask]) {
        // The additional ones first: clangd indexes a file outside the compile database only when it is opened.
        let asks: Vec<Ask> = further.iter().cloned().chain(self.asks(corpus)).collect();
        let ours: Vec<_> = asks.iter().map(|ask| product(client, ask)).collect();
        let mut expected = corpus.bare(&asks);
        for (ask, ours) in asks.iter().zip(ours) {
            let right = expected.answer(ask);
            assert!(ours.as_ref() == Ok(&right), "after {what}: {ask:?}\n{}", difference(&right, &ours));
        }
    }

    fn assert_answers_follow_changes(&self) {
        let corpus = Corpus::sample(self.language);
        let at = |file: &str| corpus.root.join(file);
        let original = fs::read_to_string(at(self.edited)).expect("UTF-8");
        branch(&corpus.root, || {
            append(&at(self.edited), self.addition);
            prepend(&at(self.declared), self.comment);
        });
        let yard = Yard::serve(&corpus.workspace("fresh"));
        let client = &mut yard.client("fresh");
        self.check(&corpus, client, "nothing", &[]);
        prepend(&at(self.declared), self.comment);
        self.check(&corpus, client, "an edit of an open file", &[]);
        append(&at(self.edited), self.addition);
        self.check(&corpus, client, "an edit of another file", &[]);
        fs::write(at(self.edited), &original).expect("a file");
        self.check(&corpus, client, "taking it back", &[]);
        fs::write(at(self.fresh), self.text).expect("a file");
        self.check(
            &corpus,
            client,
            "a new file",
            &[Ask::Diagnostics(at(self.fresh)), Ask::DocumentSymbols(at(self.fresh))],
        );
        fs::rename(at(self.fresh), at(self.renamed)).expect("a file");
        let gone = client.ask("vscode.lsp.documentSymbols", &Ask::DocumentSymbols(at(self.fresh)).to_call().1);
        assert_eq!(gone.expect_err("it is gone").code, "NOT_FOUND");
        self.check(&corpus, client, "a rename", &[Ask::Diagnostics(at(self.renamed))]);
        fs::remove_file(at(self.renamed)).expect("a file");
        self.check(&corpus, client, "a deletion", &[]);
        git(&corpus.root, &["checkout", "--quiet", "."]);
        git(&corpus.root, &["switch", "--quiet", "other"]);
        self.check(&corpus, client, "a switch of branches", &[Ask::DocumentSymbols(at(self.edited))]);
        git(&corpus.root, &["switch", "--quiet", "main"]);
        self.check(&corpus, client, "the switch back", &[Ask::DocumentSymbols(at(self.edited))]);
        yard.stop();
    }
}

#[test]
fn python() {
    IN_PYTHON.assert_answers_follow_changes();
}

#[test]
fn typescript() {
    IN_TYPESCRIPT.assert_answers_follow_changes();
}

#[test]
fn c() {
    IN_C.assert_answers_follow_changes();
}

#[test]
fn an_edit_and_a_rename_make_cursors_stale() {
    let corpus = Corpus::sample(PYTHON);
    let yard = Yard::serve(&corpus.workspace("stale"));
    let client = &mut yard.client("stale");
    let items = corpus.root.join("larder/items.py");
    let at = identifiers(&items).into_iter().find(|at| at.word == "Item").expect("it is declared");
    let (tool, mut arguments) = Ask::References(at, false).to_call();
    arguments["pageSize"] = json!(1);
    let mut turn = |change: &dyn Fn()| -> (Result<Value, Failure>, Result<Value, Failure>) {
        arguments["cursor"] = Value::Null;
        let mut first = client.ask(tool, &arguments).expect("references");
        arguments["cursor"] = first["nextCursor"].take();
        assert!(arguments["cursor"].is_string());
        let unchanged = client.ask(tool, &arguments);
        change();
        (unchanged, client.ask(tool, &arguments))
    };
    let changes: [&dyn Fn(); 3] = [
        &|| append(&corpus.root.join("larder/units.py"), "\n# a line\n"),
        &|| fs::rename(corpus.root.join("larder/broken.py"), corpus.root.join("larder/whole.py")).expect("a file"),
        &|| fs::write(corpus.root.join("larder/new.py"), "x = 1\n").expect("a file"),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let (unchanged, changed) = turn(change);
        assert_eq!(unchanged.expect("the second page")["items"].as_array().expect("items").len(), 1);
        assert_eq!(changed.expect_err("stale").code, "CURSOR_STALE", "change {number}");
    }
    yard.stop();
}

#[test]
fn sixteen_clients_get_the_same_bytes_from_one_server() {
    let corpus = Corpus::sample(PYTHON);
    let mut yard = Yard::serve(&corpus.workspace("shared"));
    let items = corpus.root.join("larder/items.py");
    let at = identifiers(&items).into_iter().find(|at| at.word == "Item").expect("it is declared");
    let (tool, arguments) = Ask::References(at, true).to_call();
    let bodies: Vec<String> = std::thread::scope(|scope| {
        let clients: Vec<Mcp> = (0..16).map(|_| yard.client("shared")).collect();
        let threads: Vec<_> = clients
            .into_iter()
            .map(|mut client| {
                scope.spawn({
                    let arguments = &arguments;
                    move || client.call_text(tool, arguments)
                })
            })
            .collect();
        threads.into_iter().map(|one| one.join().expect("an answer")).collect()
    });
    assert!(bodies[0].contains("\"items\":[{"), "{}", bodies[0]);
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    assert_eq!(yard.running("ty").len(), 1);
    yard.stop();
}

fn append(path: &Path, text: &str) {
    let old = fs::read_to_string(path).expect("UTF-8");
    fs::write(path, old + text).expect("a file");
}

fn prepend(path: &Path, text: &str) {
    let old = fs::read_to_string(path).expect("UTF-8");
    fs::write(path, text.to_owned() + &old).expect("a file");
}

/// Creates a repository with the branches `main` and `other`, which differ by `change`, and checks out `main`.
fn branch(root: &Path, change: impl FnOnce()) {
    git(root, &["init", "--quiet", "--initial-branch", "main"]);
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "--message", "first"]);
    git(root, &["switch", "--quiet", "--create", "other"]);
    change();
    git(root, &["commit", "--quiet", "--all", "--message", "second"]);
    git(root, &["switch", "--quiet", "main"]);
}
