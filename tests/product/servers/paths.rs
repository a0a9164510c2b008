//! Paths as people write them: names with characters that URIs escape, relative, absolute, through links, and invalid ones.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::bare::uri_of;
use crate::running_server::Yard;
use crate::servers::agent::{ask, client, whole};
use crate::servers::corpus::{C, Corpus, Language, PYTHON, TYPESCRIPT};
use crate::servers::operations::{compare, place};
use crate::servers::outcome::Op;

/// Text before the file extension.
const NAME: &str = "[slug] a#b%3Ac+é&𝒳";

fn odd_names(language: Language, folder: &str, file: &str, word: &str) {
    let corpus = Corpus::harbour(language);
    let ending = file.rsplit_once('.').expect("an ending").1;
    let odd = format!("{folder}/{NAME}.{ending}");
    fs::rename(corpus.root.join(file), corpus.root.join(&odd)).expect("a file");
    let database = corpus.root.join("compile_commands.json");
    if let Ok(text) = fs::read_to_string(&database) {
        fs::write(&database, text.replace(file, &odd)).expect("a file");
    }
    symlink(NAME.to_owned() + "." + ending, corpus.root.join(folder).join(format!("link.{ending}"))).expect("a link");
    let yard = Yard::serve(&corpus.workspace("odd"));
    let client = &mut client(&yard, "odd");
    let at = place(&corpus, &odd, word, 0);
    let mut ops: Vec<Op> = Op::all_at(&at).collect();
    ops.push(Op::File(at.path.clone()));
    compare(client, &corpus, &ops);
    let mut tellings = 0;
    for op in &ops {
        let absolute = ask(client, &op.arguments()).expect("it was answered already");
        assert_eq!(absolute.title, op.title(&corpus.root));
        tellings += usize::from(absolute.result().to_string().contains(&uri_of(&at.path)));
        for written in
            [odd.clone(), format!("./{odd}"), format!("{folder}/link.{ending}"), format!("{folder}/../{odd}")]
        {
            let mut arguments = op.arguments();
            arguments["filePath"] = json!(written);
            let ours = ask(client, &arguments).unwrap_or_else(|refusal| panic!("{arguments}: {refusal:?}"));
            assert_eq!(ours.result(), absolute.result(), "{arguments}");
        }
    }
    assert!(tellings >= 3, "answers name the file: {tellings}");
    nowhere(client, &corpus, &odd);
    yard.stop();
}

/// A missing file is reported as missing only inside the roots.
fn nowhere(client: &mut crate::mcp::Mcp, corpus: &Corpus, odd: &str) {
    let outside = corpus.root.parent().expect("a folder");
    fs::write(outside.join("there.py"), "x = 1\n").expect("a file");
    symlink(outside.join("there.py"), corpus.root.join("way_out.py")).expect("a link");
    let mut said = |path: String| {
        let arguments = json!({"operation": "documentSymbol", "filePath": path});
        let refusal = whole(client, &arguments).expect_err("it leads nowhere");
        (refusal.error["code"].as_str().expect("a code").to_owned(), refusal.output)
    };
    for missing in [format!("{odd}x"), format!("no/{odd}"), corpus.root.join(format!("no/{odd}")).display().to_string()]
    {
        assert_eq!(said(missing.clone()), ("NOT_FOUND".into(), format!("File not found: {missing}")));
    }
    let there = said(outside.join("there.py").display().to_string());
    assert_eq!(there.0, "WORKSPACE_DENIED");
    for denied in ["../there.py", "../missing.py", "way_out.py", "/etc/passwd", "/no/such/file"] {
        assert_eq!(said(denied.into()), there, "{denied}: the error doesn't reveal whether it exists");
    }
    assert!(!there.1.contains("there.py"), "{there:?}");
}

#[test]
fn ty() {
    odd_names(PYTHON, "harbour", "harbour/letters_windows.py", "straße");
}

#[test]
fn typescript() {
    odd_names(TYPESCRIPT, "src", "src/letters_windows.ts", "straße");
}

#[test]
fn clangd() {
    odd_names(C, "src", "src/letters_windows.cpp", "straße");
}
