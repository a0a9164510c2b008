//! The registry as a document: the table of `docs/language-servers.md`, which a test keeps true.

use std::fmt::Write;

use super::{Install, Registry, Role, Server};

/// The whole document, in Markdown.
pub fn document(registry: &Registry) -> String {
    let mut text = String::from(INTRODUCTION);
    text.push_str(
        "\n## Servers\n\n| kind | languages | group and place | comes from | tested |\n|---|---|---|---|---|\n",
    );
    let mut kinds: Vec<(&String, &Server)> = registry.servers.iter().collect();
    kinds.sort_by_key(|(kind, server)| (server.role == Role::Linter, &server.group, server.priority, *kind));
    for (kind, server) in kinds {
        let tested = if server.tested { "yes" } else { "written down, not tested" };
        let row = [kind.as_str(), &server.languages.join(", "), &place(server), &origin(server), tested].join(" | ");
        // Writing to a string can't fail.
        let _ = writeln!(text, "| {row} |");
    }
    text.push_str("\n## What each is\n\n");
    for (kind, server) in &registry.servers {
        let _ = writeln!(text, "- **{kind}**: {}", server.description);
    }
    text.push_str("\n## Languages\n\n| language id | endings | file names |\n|---|---|---|\n");
    for (id, language) in &registry.languages {
        let listed = |words: &[String]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "| {id} | {} | {} |", listed(&language.extensions), listed(&language.file_names));
    }
    text
}

fn place(server: &Server) -> String {
    let place = match server.role {
        Role::Linter => "linter".to_string(),
        Role::Primary => format!("{}, {}", server.group, server.priority),
    };
    let only = if server.root.required { ", only with its configuration" } else { "" };
    let off = if server.disabled { ", off by default" } else { "" };
    format!("{place}{only}{off}")
}

fn origin(server: &Server) -> String {
    let listed = |from: &str, packages: &[String]| format!("{from} `{}`", packages.join(" "));
    match &server.install {
        Some(Install::Pypi { packages }) => listed("PyPI", packages),
        Some(Install::Npm { packages }) => listed("npm", packages),
        Some(Install::Cargo { packages }) => listed("crates.io", packages),
        Some(Install::Manual { hint }) => format!("by hand: {}", hint.replace('|', "\\|")),
        None => format!("`{}` on the PATH", server.command.join(" ")),
    }
}

const INTRODUCTION: &str = "\
# Language servers

This page is made from `config/languages.toml`; a test keeps it true (`UPDATE_DOCS=1 cargo test --lib registry::table` rewrites it).

`codeyard servers install KIND` puts a server into the state directory (`servers/KIND/VERSION-HASH/`) and changes nothing else.
Versions are pinned. Python packages come by `pip install --target`, npm packages without running their scripts. A server that is
not installed this way is looked for on the `PATH`, outside the workspace, and counts when it can tell its version.

Servers of one group are alternatives: the first one that is available, and whose project markers fit the file, runs. Linters
run beside it. `--server KIND` chooses among alternatives and turns on what is off by default. Entries of the configuration's
`servers` and `languages` tables are laid over these field by field.

What isn't tested is written down from the servers' own documents: its command, markers and settings may need correction.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_docs_is_true() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/language-servers.md");
        let wanted = document(&Registry::builtin());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &wanted).unwrap();
        }
        let there = std::fs::read_to_string(path).unwrap();
        assert!(there == wanted, "docs/language-servers.md is out of date; run this test with UPDATE_DOCS=1");
    }
}
