//! The next answer of the tool `lsp` after an edit on disk reflects the edit, for each operation: two states of the sources
//! alternate, and each answer equals that of a bare server started on that state.

use std::collections::BTreeSet;
use std::fs;

use crate::question::Ask;
use crate::running_server::Yard;
use crate::servers::agent::{client, whole};
use crate::servers::corpus::{C, Corpus, Language, PYTHON, TYPESCRIPT};
use crate::servers::operations::{nth, place};
use crate::servers::outcome::{Op, expected};

use serde_json::{Value, json};

/// Two files and their edits.
struct Edit {
    language: Language,
    /// File that declares `words`; the edit inserts a line before it.
    declared: &'static str,
    comment: &'static str,
    words: [&'static str; 3],
    /// File that uses them; queries start here too.
    used: &'static str,
    word: &'static str,
    /// A file that is never queried, and the text appended to it.
    other: &'static str,
    addition: &'static str,
    /// A name in the appended text.
    fresh: &'static str,
}

const IN_PYTHON: Edit = Edit {
    language: PYTHON,
    declared: "harbour/ships.py",
    comment: "# a line\n",
    words: ["Ship", "weight", "describe"],
    used: "harbour/books.py",
    word: "heavy",
    other: "harbour/berths.py",
    addition: "\n\nclass Barge(Ship):\n    def weight(self) -> float:\n        return float(len(describe(self)))\n",
    fresh: "Barge",
};

const IN_TYPESCRIPT: Edit = Edit {
    language: TYPESCRIPT,
    declared: "src/ships.ts",
    comment: "// a line\n",
    words: ["Ship", "weight", "describe"],
    used: "src/books.ts",
    word: "heavy",
    other: "src/berths.ts",
    addition: "\nexport class Barge implements Ship {\n  readonly name = \"barge\";\n  weight(): number {\n    return describe(this).length;\n  }\n  fee(): number {\n    return 0;\n  }\n}\n",
    fresh: "Barge",
};

const IN_CPP: Edit = Edit {
    language: C,
    declared: "src/ships.cpp",
    comment: "// a line\n",
    words: ["fee", "weight", "describe"],
    used: "src/main.cpp",
    word: "heavy",
    other: "src/books.cpp",
    addition: "\nclass Barge : public harbour::Ship {\npublic:\n\tdouble weight() const override { return harbour::describe(*this) + harbour::heavy(1); }\n\tconst char *name() const override { return \"barge\"; }\n};\n",
    fresh: "Barge",
};

impl Edit {
    fn write(&self, corpus: &Corpus, is_edited: bool, original: &[String; 2]) {
        let [mut declared, mut other] = original.clone();
        if is_edited {
            declared.insert_str(0, self.comment);
            other.push_str(self.addition);
        }
        fs::write(corpus.root.join(self.declared), declared).expect("a file");
        fs::write(corpus.root.join(self.other), other).expect("a file");
    }

    /// Queries of the current state: the same ones in the same order for both states.
    fn ops(&self, corpus: &Corpus) -> Vec<Op> {
        let mut ops = vec![Op::File(corpus.root.join(self.declared))];
        ops.extend([self.words[0], self.words[2], self.fresh].map(|word| Op::Name(word.into())));
        for word in self.words {
            ops.extend(Op::all_at(&place(corpus, self.declared, word, 0)));
        }
        // The last one is a use.
        let last = (0..).map_while(|number| nth(corpus, self.used, self.word, number)).last();
        ops.extend(Op::all_at(&last.expect("it is used")));
        ops
    }

    /// Queries with the answers of bare servers started on the current state.
    fn state(&self, corpus: &Corpus) -> Vec<(Op, Value)> {
        let ops = self.ops(corpus);
        let asks: Vec<Ask> = ops.iter().filter_map(Op::path).map(|path| Ask::DocumentSymbols(path.into())).collect();
        let mut servers = corpus.bare(&asks).into_servers();
        ops.into_iter().map(|op| (op.clone(), expected(&mut servers, &op))).collect()
    }

    fn assert_answers_follow_changes(&self) {
        let corpus = Corpus::harbour(self.language);
        let original =
            [self.declared, self.other].map(|file| fs::read_to_string(corpus.root.join(file)).expect("UTF-8"));
        self.write(&corpus, true, &original);
        let after = self.state(&corpus);
        self.write(&corpus, false, &original);
        let before = self.state(&corpus);
        let yard = Yard::serve(&corpus.workspace("fresh"));
        let client = &mut client(&yard, "fresh");
        for (op, right) in &before {
            let ours = whole(client, &op.arguments()).map(|(result, _)| result);
            assert_eq!(ours.as_ref(), Ok(right), "before anything is changed: {op:?}");
        }
        let mut report = BTreeSet::new();
        let mut turns = 0;
        for ((old, was), (new, is)) in before.iter().zip(&after) {
            let is_empty = is.is_null() || *is == json!([]);
            if was == is || is_empty || !report.insert((old.name(), old.path().map(|path| path.ends_with(self.used)))) {
                continue;
            }
            for (is_edited, op, right) in [(true, new, is), (false, old, was)] {
                self.write(&corpus, is_edited, &original);
                let mut ours = whole(client, &op.arguments()).map(|(result, _)| result);
                // Which row is the declaration may not be known at the end of a call; such an answer isn't kept for the next one.
                if ours.as_ref().is_ok_and(|ours| ours != right && rows(ours) == rows(right)) {
                    ours = whole(client, &op.arguments()).map(|(result, _)| result);
                }
                assert_eq!(ours.as_ref(), Ok(right), "edited: {is_edited}, after {turns} turns: {op:?}");
                turns += 1;
            }
        }
        let operations: BTreeSet<&str> = report.iter().map(|(name, _)| *name).collect();
        assert_eq!(operations.len(), 9, "each operation's answer changes: {operations:?}");
        println!("{}: {turns} turns, {report:?}", self.language.kind);
        yard.stop();
    }
}

/// The rows of an answer in any order.
fn rows(answer: &Value) -> BTreeSet<String> {
    answer.as_array().into_iter().flatten().map(Value::to_string).collect()
}

#[test]
fn ty() {
    IN_PYTHON.assert_answers_follow_changes();
}

#[test]
fn typescript() {
    IN_TYPESCRIPT.assert_answers_follow_changes();
}

#[test]
fn clangd() {
    IN_CPP.assert_answers_follow_changes();
}
