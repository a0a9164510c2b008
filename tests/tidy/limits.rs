//! Limits: `docs/internals/limits.md` lists those that a caller or an operator can notice, as the source has them, and each limit has a comment.
//!
//! A limit of one file is a constant of that file; `limits.rs` holds those that several files share. `UPDATE_DOCS=1 cargo test --test tidy
//! limits` writes the page.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::source::{Source, project, sources};

const PAGE: &str = "docs/internals/limits.md";
const HEAD: &str = "# Limits\n\nThe limits that a caller or an operator can notice: what each bounds, and its value. Units are in the names: `_BYTES`,\n`_MS` (milliseconds), `_S` (seconds), `_CHARS` (code points); without a unit it is a count. A test keeps this page as the source is, and\n`UPDATE_DOCS=1 cargo test --test tidy limits` writes it. Every other size, count and time is bounded by a constant beside the code\nthat it bounds. A configuration may tighten the limits of [its section `limits`](reference/configuration.md), never widen them.\n";

/// The limits of the page, by crate.
const LISTED: &[(&str, &str)] = &[
    ("canon", "MAX_HOVER_FRAGMENTS MAX_HOVER_FRAGMENT_CHARS"),
    (
        "catalog",
        "MAX_OUTLINE_LEVELS MAX_CODE_ROWS MAX_CODE_CONTEXT_LINES MAX_CODE_GLOBS MAX_CODE_TEXT_CHARS \
         MAX_LAUNCH_RUNS MAX_LAUNCH_CALL_MS",
    ),
    ("cli", "MAX_UNFORCED_FILES EXIT_LIMIT_MS CLIENT_TIMEOUT_MS"),
    ("complete", "MAX_LINKED_FILES MAX_LINKED_PLACES"),
    ("config", "MAX_WORKSPACES MAX_GROUPS"),
    (
        "engine",
        "MAX_CALL_ITEMS MAX_DIAGNOSTICS_PER_FILE MAX_CALLS_PER_WORKSPACE \
         MAX_CODE_QUERIES MAX_LISTED_WORKSPACES MAX_PREVIEWS LONG_QUESTION_MS MAX_CONFIRMED_ROWS FIRST_INDEX_WAIT_MS",
    ),
    ("files", "MAX_GATE_WORK MAX_WATCHED_FILES MAX_WATCHED_IGNORED_DIRS MAX_PATH_BYTES"),
    ("gateway", "MAX_CALLS_IN_FLIGHT PERMISSION_WAIT_MS MAX_OPEN_PROMPTS"),
    ("git", "MAX_COMMIT_FILES"),
    (
        "index",
        "MAX_PATTERN_BYTES MAX_SHOWN_LINE_BYTES MAX_RANKED_WORDS MAX_INDEXED_FILES MAX_PREVIEW_LINES \
         MAX_RELATED MAX_PARSED_BYTES MAX_FILE_SYMBOLS",
    ),
    (
        "launch",
        "MAX_API_ITEMS MAX_SNIPPETS MAX_INVENTORY_FILES MAX_SITE_PAGES MAX_PAGE_BYTES GATE_LIMIT_S \
         BUILD_LIMIT_S MAX_ASKED_LINKS",
    ),
    ("lsp", "MAX_FRAME_BYTES MAX_DOCUMENT_BYTES"),
    (
        "model",
        "MAX_REQUEST_BYTES MAX_RESPONSE_BYTES REQUEST_TIMEOUT_MS MAX_ITEMS_NONPAGED MAX_PAGE_SIZE \
         DEFAULT_PAGE_SIZE MAX_REFERENCES_ITEMS_TOTAL MAX_PAGE_CHARS DEFAULT_PAGE_CHARS MAX_SNAPSHOT_BYTES \
         SNAPSHOT_TTL_S DEFAULT_CODE_ROWS MAX_CODE_PAYLOAD_BYTES",
    ),
    ("paging", "MAX_CURSOR_BYTES"),
    ("projects", "MAX_INFERRED_FILES MAX_SEARCH_PATHS MAX_GENERATED_HEADERS MAX_FRAGMENTS BUILD_TIME_LIMIT_MS"),
    ("runs", "MAX_ARTIFACT_BYTES KEY_LIFE_S"),
    (
        "server",
        "MAX_SESSIONS_PER_PRINCIPAL MAX_HTTP_CONNECTIONS MAX_SUBSCRIPTIONS_PER_PRINCIPAL HTTP_BODY_TIMEOUT_MS \
         DRAIN_MS",
    ),
    ("state", "MAX_TOKENS MAX_MINTED MAX_PERMISSIONS"),
];

struct Limit {
    name: String,
    value: String,
    comment: String,
}

/// The constants of a file, in their order.
fn constants(source: &Source) -> Vec<Limit> {
    let lines = source.code();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let item =
            ["pub ", "pub(crate) ", "pub(super) "].iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line);
        let Some((name, _)) = item.strip_prefix("const ").and_then(|rest| rest.split_once(':')) else { continue };
        // The end of a text over several lines isn't found; no limit is one.
        let Some(last) = lines[at..].iter().position(|line| line.ends_with(';')) else { continue };
        let statement = lines[at..=at + last].iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        let Some((_, value)) = statement.split_once(" = ") else { continue };
        let value = value.trim_end_matches(';').to_owned();
        let above = lines[..at].iter().rev().take_while(|line| line.starts_with("/// "));
        let mut comment: Vec<&str> = above.map(|line| &line[4..]).collect();
        comment.reverse();
        found.push(Limit { name: name.to_owned(), value, comment: comment.join(" ") });
    }
    found
}

/// Comments link as rustdoc does; the page shows their text only.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace("[`", "`").replace("`]", "`")
}

#[test]
fn the_page_lists_the_limits_that_can_be_noticed() {
    let all = sources();
    let mut page = HEAD.to_owned();
    for (owner, names) in LISTED {
        write!(page, "\n## `{owner}`\n\n| limit | value | bounds |\n|---|---|---|\n").unwrap();
        let of_crate = all.iter().filter(|source| source.crate_name() == *owner);
        let limits: Vec<Limit> = of_crate.flat_map(constants).collect();
        for name in names.split(' ') {
            let mut named = limits.iter().filter(|limit| limit.name == name);
            let limit = named.next().unwrap_or_else(|| panic!("{owner} has no limit {name}"));
            assert!(named.next().is_none(), "{owner} has two limits {name}");
            assert!(!limit.comment.is_empty(), "{name} has no comment");
            let value = limit.value.replace("crate::limits::", "");
            writeln!(page, "| `{name}` | `{value}` | {} |", cell(&limit.comment)).unwrap();
        }
    }
    let path = project().join(PAGE);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "{PAGE} is out of date; run UPDATE_DOCS=1 cargo test --test tidy limits");
}

/// The names of constants in the statements of a file that import nothing.
fn named_in(source: &Source) -> HashSet<&str> {
    let is_of_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let lines = source.statements().filter(|line| !line.starts_with("use "));
    lines.flat_map(|line| line.split(move |c| !is_of_name(c))).collect()
}

#[test]
fn every_limit_has_a_comment_and_bounds_something() {
    let all = sources();
    let mut complaints = Vec::new();
    let mut count = 0;
    let used: Vec<(&Source, HashSet<&str>)> = all.iter().map(|source| (source, named_in(source))).collect();
    for file in all.iter().filter(|source| source.path.ends_with("/limits.rs")) {
        for Limit { name, comment, .. } in constants(file) {
            count += 1;
            if comment.is_empty() {
                complaints.push(format!("{}: {name} has no comment", file.path));
            }
            let is_used = used.iter().any(|(source, names)| source.path != file.path && names.contains(name.as_str()));
            if !is_used && file.text.matches(&name).count() < 2 {
                complaints.push(format!("{}: {name} bounds nothing", file.path));
            }
        }
    }
    assert!(count > 100, "the limits weren't found");
    assert_eq!(complaints, Vec::<String>::new());
}
