//! Renders the registry as the page `docs/language-servers.md`, which a test compares.
//!
//! The text is in `docs_page.md`; only its lists and tables are generated.

use super::schema::{InstallSource, ManifestKind, MultiRoot, Registry, RootPick, RootRule, ServerRole, ServerSpec};

const TEMPLATE: &str = include_str!("docs_page.md");

/// The whole page, in Markdown.
pub fn document(registry: &Registry) -> String {
    let parts = [
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
    rows.map(|(id, language)| row(&[id, &code(&language.extensions), &code(&language.file_names)])).collect()
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
    });
    let workspace_markers = (!rule.workspace_markers.is_empty()).then(|| code(&rule.workspace_markers));
    let workspace_markers: Vec<String> = lists.map(str::to_owned).chain(workspace_markers).collect();
    let outermost = if rule.pick == RootPick::Outermost { "the outermost of " } else { "" };
    let fallback = if rule.required { "it doesn't run" } else { "the workspace's root" };
    let project_markers = format!("{outermost}{}", code(&rule.markers));
    [workspace_markers.join("; "), project_markers, fallback.to_owned(), code(&rule.excluded_by)]
}

fn origin(server: &ServerSpec) -> String {
    let listed = |from: &str, packages: &[String]| format!("{from} `{}`", packages.join(" "));
    match &server.install {
        Some(InstallSource::Pypi { packages }) => listed("PyPI", packages),
        Some(InstallSource::Npm { packages }) => listed("npm", packages),
        Some(InstallSource::Cargo { packages }) => listed("crates.io", packages),
        Some(InstallSource::Manual { hint }) => format!("by hand: {}", hint.replace('|', "\\|")),
        Some(InstallSource::Builtin {}) => "built into codeyard".to_owned(),
        None => format!("`{}` on the PATH", server.command.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_says_of_each_kind_what_it_knows_without_a_configuration() {
        let registry = Registry::builtin();
        let silent = registry.servers.iter().filter(|(_, server)| server.without_configuration.is_empty());
        assert_eq!(silent.map(|(kind, _)| kind).collect::<Vec<_>>(), Vec::<&String>::new());
    }

    #[test]
    fn the_page_in_docs_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/language-servers.md");
        let wanted = document(&Registry::builtin());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &wanted).unwrap();
        }
        let there = std::fs::read_to_string(path).unwrap();
        assert!(there == wanted, "docs/language-servers.md is out of date; run this test with UPDATE_DOCS=1");
    }
}
