//! Renders the registry as the page `docs/internals/reference/language-servers.md`, which a test compares.
//!
//! The text is in `docs_page.md`; only its lists and tables are generated.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::install_source::InstallSource;
use super::schema::{ManifestKind, MultiRoot, Registry, RootPick, RootRule, ServerRole, ServerSpec};

const TEMPLATE: &str = include_str!("docs_page.md");

/// What the breadth test has shown of a kind (`tests/product/breadth/cases/KIND/record.toml`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BreadthRecord {
    /// The version of the server.
    pub version: String,
    pub operations: Vec<String>,
    /// Answers that were judged: the first ones after the start and after each change on disk.
    pub asked: usize,
    /// Those that were right.
    pub right: usize,
    /// Those that were not, and said so.
    pub marked: usize,
    /// The time to the first right answer, its start included, in milliseconds.
    pub first_answer_ms: u64,
    /// The memory of its processes, in MiB.
    pub memory_mib: u64,
    /// Answers that were compared with those of the bare server.
    pub compared: usize,
    /// Those that were the same.
    pub same: usize,
    /// Why the others differ, each after its operation.
    #[serde(default)]
    pub differs: Vec<String>,
}

/// The whole page, in Markdown. `records` are by kind.
pub fn document(registry: &Registry, records: &BTreeMap<String, BreadthRecord>) -> String {
    let proven = records.keys().filter(|kind| registry.servers.contains_key(*kind)).count().to_string();
    let parts = [
        ("{proven}", proven),
        ("{records}\n", record_rows(registry, records)),
        ("{differences}\n", differences(records)),
        ("{servers}\n", server_rows(registry)),
        ("{descriptions}\n", descriptions(registry)),
        ("{without_configuration}\n", without_configuration(registry)),
        ("{project_roots}\n", root_rows(registry)),
        ("{multi_root}\n", multi_root_rows(registry)),
        ("{languages}\n", language_rows(registry)),
    ];
    parts.iter().fold(TEMPLATE.to_owned(), |page, (placeholder, rows)| page.replacen(placeholder, rows, 1))
}

fn row(cells: &[&str]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn code(words: &[String]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ")
}

/// The rows of the servers, in the order of roles, groups and priorities. An empty line follows.
fn server_rows(registry: &Registry) -> String {
    let mut kinds: Vec<(&String, &ServerSpec)> = registry.servers.iter().collect();
    kinds.sort_by_key(|(kind, server)| (server.role as u8, &server.group, server.priority, *kind));
    let rows = kinds.into_iter().map(|(kind, server)| {
        let tested = if server.tested { "yes" } else { "no" };
        row(&[kind, &server.languages.join(", "), &group_and_priority(server), &origin(server), tested])
    });
    rows.chain(["\n".to_owned()]).collect()
}

/// The rows of what the breadth test has shown. An empty line follows.
fn record_rows(registry: &Registry, records: &BTreeMap<String, BreadthRecord>) -> String {
    let rows = registry.servers.keys().filter_map(|kind| Some((kind, records.get(kind)?))).map(|(kind, record)| {
        let operations: Vec<String> = record.operations.iter().map(|name| name.replace('_', " ")).collect();
        let marked = if record.marked > 0 { format!(", {} marked", record.marked) } else { String::new() };
        let seconds = format!("{:.1} s", record.first_answer_ms as f64 / 1_000.0);
        let right = format!("{} of {}{marked}", record.right, record.asked);
        let memory = format!("{} MiB", record.memory_mib);
        let same = format!("{} of {}", record.same, record.compared);
        row(&[kind, &record.version, &operations.join(", "), &right, &same, &seconds, &memory])
    });
    rows.chain(["\n".to_owned()]).collect()
}

/// The list of differences from the bare servers. An empty line follows.
fn differences(records: &BTreeMap<String, BreadthRecord>) -> String {
    let differing = records.iter().flat_map(|(kind, record)| record.differs.iter().map(move |why| (kind, why)));
    let lines = differing.map(|(kind, why)| format!("- {kind}, {why}\n"));
    lines.chain(["\n".to_owned()]).collect()
}

/// The list of descriptions. An empty line follows.
fn descriptions(registry: &Registry) -> String {
    let lines = registry.servers.iter().map(|(kind, server)| format!("- **{kind}**: {}\n", server.description));
    lines.chain(["\n".to_owned()]).collect()
}

/// The rows of what servers know without a configuration. An empty line follows.
fn without_configuration(registry: &Registry) -> String {
    let rows = registry.servers.iter().map(|(kind, server)| row(&[kind, &server.without_configuration]));
    rows.chain(["\n".to_owned()]).collect()
}

/// The rows of the project root rules, except those of kinds that always run at the workspace's root. An empty line follows.
fn root_rows(registry: &Registry) -> String {
    let with_rule = registry.servers.iter().filter(|(_, server)| server.root.pick != RootPick::Workspace);
    let rows = with_rule.map(|(kind, server)| format!("| {kind} | {} |\n", root_cells(&server.root).join(" | ")));
    rows.chain(["\n".to_owned()]).collect()
}

/// The rows of the kinds whose processes handle several project roots. An empty line follows.
fn multi_root_rows(registry: &Registry) -> String {
    let rows = registry.servers.iter().filter_map(|(kind, server)| {
        let how = match server.multi_root {
            MultiRoot::No => return None,
            MultiRoot::WorkspaceFolders => "as workspace folders",
            MultiRoot::ByFile => "by file",
        };
        Some(row(&[kind, how]))
    });
    rows.chain(["\n".to_owned()]).collect()
}

fn language_rows(registry: &Registry) -> String {
    let rows = registry.languages.iter();
    rows.map(|(id, language)| {
        row(&[id, &code(&language.extensions), &code(&language.file_names), &code(&language.interpreters)])
    })
    .collect()
}

fn group_and_priority(server: &ServerSpec) -> String {
    let place = match server.role {
        ServerRole::Linter => "linter".to_string(),
        ServerRole::Fallback => "fallback".to_string(),
        ServerRole::Primary => format!("{}, {}", server.group, server.priority),
    };
    let only = if server.root.required { ", only with its configuration" } else { "" };
    let off = if server.disabled { ", off by default" } else { "" };
    format!("{place}{only}{off}")
}

/// A rule as cells: workspace markers, project markers, fallback, excluded by.
fn root_cells(rule: &RootRule) -> [String; 4] {
    let lists = rule.manifests.iter().map(|manifest| match manifest {
        ManifestKind::Cargo => "the list in `Cargo.toml`",
        ManifestKind::Go => "the list in `go.work`",
        ManifestKind::Node => "the list in `package.json` or `pnpm-workspace.yaml`",
        ManifestKind::TypeScript => "`references` of a `tsconfig.json`",
        ManifestKind::Python => "the list in `pyproject.toml`, a lock file or a virtual environment",
    });
    let workspace_markers = (!rule.workspace_markers.is_empty()).then(|| code(&rule.workspace_markers));
    let workspace_markers: Vec<String> = lists.map(str::to_owned).chain(workspace_markers).collect();
    let outermost = if rule.pick == RootPick::Outermost { "the outermost of " } else { "" };
    let fallback = if rule.required { "it doesn't run" } else { "the workspace's root" };
    let project_markers = format!("{outermost}{}", code(&rule.markers));
    [workspace_markers.join("; "), project_markers, fallback.to_owned(), code(&rule.excluded_by)]
}

fn origin(server: &ServerSpec) -> String {
    if let Some(packages) = server.install.as_ref().and_then(InstallSource::packages) {
        return format!("{} `{}`", packages.registry, packages.names.join(" "));
    }
    match &server.install {
        Some(InstallSource::Manual { hint }) => format!("by hand: {}", hint.replace('|', "\\|")),
        Some(InstallSource::Builtin {}) => "built into codeyard".to_owned(),
        _ => format!("`{}` on the PATH", server.command.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_page_says_of_each_kind_what_it_knows_without_a_configuration() {
        let registry = Registry::builtin();
        let silent = registry.servers.iter().filter(|(_, server)| server.without_configuration.is_empty());
        assert_eq!(silent.map(|(kind, _)| kind).collect::<Vec<_>>(), Vec::<&String>::new());
    }

    /// The records of the breadth test.
    fn records() -> BTreeMap<String, BreadthRecord> {
        let cases =
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/product/breadth/cases")).unwrap();
        let read = |folder: std::path::PathBuf| {
            let text = std::fs::read_to_string(folder.join("record.toml")).ok()?;
            Some((folder.file_name()?.to_str()?.to_owned(), toml::from_str(&text).unwrap()))
        };
        cases.flatten().filter_map(|case| read(case.path())).collect()
    }

    #[test]
    fn a_kind_is_tested_if_the_breadth_test_has_proven_it() {
        let registry = Registry::builtin();
        let untested = |kind: &&String| registry.servers.get(*kind).is_none_or(|server| !server.tested);
        let records = records();
        assert_eq!(records.keys().filter(untested).collect::<Vec<_>>(), Vec::<&String>::new());
        let wrong = records.iter().filter(|(_, record)| record.right + record.marked != record.asked);
        assert_eq!(wrong.map(|(kind, _)| kind).collect::<Vec<_>>(), Vec::<&String>::new());
        let differing = records.iter().filter(|(_, record)| record.compared == 0 || record.same < record.compared);
        let unexplained = differing.filter(|(_, record)| record.differs.is_empty());
        assert_eq!(unexplained.map(|(kind, _)| kind).collect::<Vec<_>>(), Vec::<&String>::new());
    }

    /// The languages that codeyard installs a main server or a linter of, and those whose servers are installed by hand, by name.
    fn languages_by_source(registry: &Registry) -> [String; 2] {
        let name = |id: &String| registry.language_name(id);
        let mut installed = BTreeSet::new();
        let mut by_hand = BTreeSet::new();
        for server in registry.servers.values().filter(|server| server.role != ServerRole::Fallback) {
            match &server.install {
                None | Some(InstallSource::Manual { .. }) => by_hand.extend(server.languages.iter().map(name)),
                Some(_) => installed.extend(server.languages.iter().map(name)),
            }
        }
        let listed = |names: Vec<&String>| {
            let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
            format!("\n\n{} languages: {}.\n\n", names.len(), names.join(", "))
        };
        [listed(installed.iter().collect()), listed(by_hand.difference(&installed).collect())]
    }

    #[test]
    fn the_page_of_languages_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/use/languages.md");
        let there = std::fs::read_to_string(path).unwrap();
        let mut wanted = there.clone();
        let heads = ["## Installed by `codeyard servers install`", "`codeyard doctor` names the command."];
        let [installed, by_hand] = languages_by_source(&Registry::builtin());
        for (head, list) in heads.iter().zip([installed, by_hand]) {
            let start = wanted.find(head).map(|at| at + head.len()).unwrap();
            let end = start + wanted[start..].find("## ").unwrap();
            wanted.replace_range(start..end, &list);
        }
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &wanted).unwrap();
        }
        assert!(there == wanted, "docs/use/languages.md is out of date; run this test with UPDATE_DOCS=1");
    }

    #[test]
    fn the_page_in_docs_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/internals/reference/language-servers.md");
        let wanted = document(&Registry::builtin(), &records());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &wanted).unwrap();
        }
        let there = std::fs::read_to_string(path).unwrap();
        assert!(
            there == wanted,
            "docs/internals/reference/language-servers.md is out of date; run this test with UPDATE_DOCS=1"
        );
    }
}
