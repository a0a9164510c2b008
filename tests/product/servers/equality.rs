//! The product's answers equal the canonicalized answers of bare servers: at least 100 queries per language, on the samples
//! and on real packages. Queries write nothing to a root.

use crate::question::{Counts, draw};
use crate::running_server::Yard;
use crate::servers::corpus::{C, Corpus, Language, OLD_TYPESCRIPT, PYTHON, TYPESCRIPT, compare, warm_up};

fn equal(language: Language, sample: Counts, package: Counts) {
    let corpora = [("sample", Corpus::sample(language), sample), ("package", Corpus::package(language), package)];
    let configuration: String = corpora.iter().map(|(name, corpus, _)| corpus.workspace(name)).collect();
    let yard = Yard::serve(&configuration);
    let mut asked = 0;
    for (name, corpus, counts) in &corpora {
        let asks = draw(&corpus.root, language.endings, *counts, 20_261_121);
        let mut expected = corpus.bare(&asks);
        let mut client = yard.client(name);
        warm_up(&mut client, &asks);
        let nonempty = compare(&mut client, &mut expected, &asks);
        println!("{} {name}: {} questions, {nonempty} with something to say", language.kind, asks.len());
        assert!(nonempty * 2 > asks.len(), "most questions have an answer");
        corpus.assert_untouched();
        asked += asks.len();
    }
    assert!(asked >= 100, "{asked}");
    yard.stop();
}

const SAMPLE: Counts = Counts { places: 20, references: 10, files: 6, searches: 6 };
const PACKAGE: Counts = Counts { places: 30, references: 10, files: 6, searches: 6 };

#[test]
fn python() {
    equal(PYTHON, SAMPLE, PACKAGE);
}

#[test]
fn typescript() {
    equal(TYPESCRIPT, SAMPLE, PACKAGE);
}

#[test]
fn c() {
    equal(C, SAMPLE, PACKAGE);
}

#[test]
#[ignore = "slow suite: the same with the TypeScript server on node"]
fn typescript_by_the_server_on_node() {
    let corpus = Corpus::sample(OLD_TYPESCRIPT);
    let asks = draw(&corpus.root, OLD_TYPESCRIPT.endings, SAMPLE, 20_261_121);
    let yard = Yard::serve(&corpus.workspace("node"));
    let mut expected = corpus.bare(&asks);
    let mut client = yard.client("node");
    warm_up(&mut client, &asks);
    assert!(compare(&mut client, &mut expected, &asks) * 2 > asks.len());
    corpus.assert_untouched();
    yard.stop();
}
