//! Limits: each has a comment and a use, and `docs/internals/limits.md` lists them all as the source has them.
//!
//! `UPDATE_DOCS=1 cargo test --test tidy limits` writes the page.

use std::fmt::Write as _;

use crate::manifest::manifests;
use crate::source::{project, sources};

const PAGE: &str = "docs/internals/limits.md";
const HEAD: &str = "# Limits\n\nEvery hard limit of codeyard: what it bounds, and its value. Units are in the names: `_BYTES`, `_MS` (milliseconds), `_S`\n(seconds), `_CHARS` (code points); without a unit it is a count. The source of this page is `src/*/limits.rs`; a test keeps it true,\nand `UPDATE_DOCS=1 cargo test --test tidy limits` writes it. A configuration may tighten the limits of\n[its section `limits`](reference/configuration.md), never widen them.\n";

struct Limit {
    name: String,
    value: String,
    comment: String,
}

/// The limits of a crate, in the order of its `limits.rs`.
fn limits_of(name: &str) -> Vec<Limit> {
    let Ok(text) = std::fs::read_to_string(project().join(format!("src/{name}/limits.rs"))) else { return Vec::new() };
    let lines: Vec<&str> = text.lines().collect();
    let mut limits = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix("pub const ").or_else(|| line.strip_prefix("pub(crate) const ")) else {
            continue;
        };
        let (name, _) = rest.split_once(':').expect("a typed constant");
        let statement: String = lines[at..]
            .iter()
            .scan(false, |ended, line| {
                let before = *ended;
                *ended = line.ends_with(';');
                (!before).then_some(line.trim())
            })
            .collect::<Vec<_>>()
            .join(" ");
        let value = statement.split_once(" = ").expect("a value").1.trim_end_matches(';').to_owned();
        let above = lines[..at].iter().rev().take_while(|line| line.starts_with("/// "));
        let mut comment: Vec<&str> = above.map(|line| &line[4..]).collect();
        comment.reverse();
        limits.push(Limit { name: name.to_owned(), value, comment: comment.join(" ") });
    }
    limits
}

/// Comments link as rustdoc does; the page shows their text only.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace("[`", "`").replace("`]", "`")
}

#[test]
fn the_page_lists_every_limit() {
    let mut page = HEAD.to_owned();
    for name in manifests().keys() {
        let limits = limits_of(name);
        if !limits.is_empty() {
            write!(page, "\n## `{name}`\n\n| limit | value | bounds |\n|---|---|---|\n").unwrap();
        }
        for limit in limits {
            let value = limit.value.replace("crate::limits::", "");
            writeln!(page, "| `{}` | `{value}` | {} |", limit.name, cell(&limit.comment)).unwrap();
        }
    }
    let path = project().join(PAGE);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "{PAGE} is out of date; run UPDATE_DOCS=1 cargo test --test tidy limits");
}

#[test]
fn every_limit_has_a_comment_and_bounds_something() {
    let all = sources();
    let mut complaints = Vec::new();
    let mut count = 0;
    for owner in manifests().keys() {
        let file = format!("src/{owner}/limits.rs");
        let text = std::fs::read_to_string(project().join(&file)).unwrap_or_default();
        for Limit { name, comment, .. } in limits_of(owner) {
            count += 1;
            if comment.is_empty() {
                complaints.push(format!("{file}: {name} has no comment"));
            }
            let is_use = |line: &&str| line.contains(&name) && !line.starts_with("use ");
            let elsewhere =
                all.iter().any(|source| source.path != file && source.statements().any(|line| is_use(&line)));
            if !elsewhere && text.matches(&name).count() < 2 {
                complaints.push(format!("{file}: {name} bounds nothing"));
            }
        }
    }
    assert!(count > 150, "the limits weren't found");
    assert_eq!(complaints, Vec::<String>::new());
}
