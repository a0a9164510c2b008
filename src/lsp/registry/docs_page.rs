//! The registry as a document: the table of `docs/language-servers.md`, which a test keeps true.

use std::fmt::Write;

use super::schema::{InstallSource, Manifest, Registry, RootPick, RootRule, ServerRole, ServerSpec};

/// The whole document, in Markdown.
pub fn document(registry: &Registry) -> String {
    let mut text = String::from(INTRODUCTION);
    text.push_str(
        "\n## Servers\n\n| kind | languages | group and place | comes from | tested |\n|---|---|---|---|---|\n",
    );
    let mut kinds: Vec<(&String, &ServerSpec)> = registry.servers.iter().collect();
    kinds.sort_by_key(|(kind, server)| (server.role as u8, &server.group, server.priority, *kind));
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
    text.push_str(ROOTS);
    for (kind, server) in registry.servers.iter().filter(|(_, server)| server.root.pick != RootPick::Workspace) {
        let _ = writeln!(text, "| {kind} | {} |", root_cells(&server.root).join(" | "));
    }
    text.push_str("\n## Languages\n\n| language id | endings | file names |\n|---|---|---|\n");
    for (id, language) in &registry.languages {
        let listed = |words: &[String]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "| {id} | {} | {} |", listed(&language.extensions), listed(&language.file_names));
    }
    text
}

fn place(server: &ServerSpec) -> String {
    let place = match server.role {
        ServerRole::Linter => "linter".to_string(),
        ServerRole::Fallback => "fallback".to_string(),
        ServerRole::Primary => format!("{}, {}", server.group, server.priority),
    };
    let only = if server.root.required { ", only with its configuration" } else { "" };
    let off = if server.disabled { ", off by default" } else { "" };
    format!("{place}{only}{off}")
}

/// A rule as cells: wholes, projects, which of several, what there is without any, and what excludes.
fn root_cells(rule: &RootRule) -> [String; 4] {
    let code = |words: &[String]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ");
    let lists = rule.manifests.iter().map(|manifest| match manifest {
        Manifest::Cargo => "the list in `Cargo.toml`",
        Manifest::Go => "the list in `go.work`",
        Manifest::Node => "the list in `package.json` or `pnpm-workspace.yaml`",
        Manifest::TypeScript => "`references` of a `tsconfig.json`",
    });
    let wholes: Vec<String> = lists
        .map(str::to_owned)
        .chain((!rule.workspace_markers.is_empty()).then(|| code(&rule.workspace_markers)))
        .collect();
    let outermost = if rule.pick == RootPick::Outermost { "the outermost of " } else { "" };
    let without = if rule.required { "it doesn't run" } else { "the workspace's root" };
    [wholes.join("; "), format!("{outermost}{}", code(&rule.markers)), without.to_owned(), code(&rule.excluded_by)]
}

fn origin(server: &ServerSpec) -> String {
    let listed = |from: &str, packages: &[String]| format!("{from} `{}`", packages.join(" "));
    match &server.install {
        Some(InstallSource::Pypi { packages }) => listed("PyPI", packages),
        Some(InstallSource::Npm { packages }) => listed("npm", packages),
        Some(InstallSource::Cargo { packages }) => listed("crates.io", packages),
        Some(InstallSource::Manual { hint }) => format!("by hand: {}", hint.replace('|', "\\|")),
        Some(InstallSource::Builtin {}) => "a part of codeyard".to_owned(),
        None => format!("`{}` on the PATH", server.command.join(" ")),
    }
}

const ROOTS: &str = "
## Project roots

A workspace may hold many projects. Each file belongs to one project root per kind of server, and each project root has its
own process of that kind: two projects are two children, asked about their own files, and both asked about the whole workspace.
The root is found anew when files come or go, and when a manifest is edited.

The search goes upwards from the file's folder and ends at the innermost of the workspace's `roots` that holds the file. What
lies above that root is never looked at, and no manifest is read where a link leads out of that root. Files count by their real
paths: one in a linked folder belongs to the project that the link leads to. What lies in `node_modules` or `site-packages`
belongs to the project that it was installed for. A file in one of the `extra_roots` belongs to the first root.

1. **Excludes.** A marker of the last column, anywhere on the way, says that another server is meant.
2. **Wholes.** Where a manifest names the file's project among its own, the manifest's folder is the root, so that one server
   sees all of them. Markers of a whole, such as a lock file, count for all below, save for projects that are missing
   in a list beside them. Of several wholes the outermost is taken; of several markers the nearest.
3. **Projects.** Otherwise the nearest marker of a project.
4. Otherwise the workspace's root; a server that needs its marker doesn't run.

How the lists are read, each as its own tool reads it:

- **Rust**: the nearest `Cargo.toml` upwards with `[workspace]`, with a package of its own or without (a virtual one). A package that
  `exclude` names, and `members` doesn't, is looked for further up, and is on its own if nothing has it. A workspace inside
  another is on its own. `package.workspace` points at a workspace that isn't above. A `rust-project.json` that is nearer wins.
- **Go**: the nearest `go.work` upwards, if it uses the file's module; a module that it doesn't use is on its own.
- **TypeScript and JavaScript**: the outermost `tsconfig.json` whose `references` lead to the file's own, also by way of others (at
  most 1,000 are followed); the nearest `package.json` whose `workspaces` name the file's package, or the `packages` of a
  `pnpm-workspace.yaml`. A package that they leave out is on its own. With neither, a lock file; without one, the nearest
  `tsconfig.json`, `jsconfig.json` or `package.json`.
- **Python**: a configuration of the checker itself (`ty.toml`, `[tool.ty]`) above wins over a nearer `pyproject.toml`, as
  for ty itself; otherwise the nearest project. Members of a uv workspace are projects of their own, unless its lock file is
  made a marker of a whole, as below.
- **C and C++**: the nearest compile database, in the folder or in its `build`, or a `compile_flags.txt`. A `.clangd` marks a root
  only where there is none of them.

Any rule can be replaced, field by field, in the configuration; `pick = \"workspace\"` means one server for each root:

```toml
[servers.typescript.root]
pick = \"workspace\"
[servers.ty.root]
workspace_markers = [\"uv.lock\", \"ty.toml\"]
```

`codeyard doctor FILE` tells for one file what comes of this: all kinds that know its language, in the order of choice, each with its
verdict, the project root, what made it that, and how it is if it runs. The workspaces are those of the running server, or of
`--config FILE`. The configuration's own entries of servers and languages are known with `--config` only, and a `--server` that
`serve` was given must be given here too. With neither it shows what `serve --root` would do. `--json` has the same for scripts. It exits with 0 when it could look, and with 3 when there is no such file.

```text
$ codeyard doctor all/app/app.ts
/home/me/code/all/app/app.ts
  language typescript
  workspace many of the running server, root /home/me/code
    deno: not meant; its project has none of deno.json, deno.jsonc
    typescript 7.0.2: serves; installed by codeyard
      project root all: all/tsconfig.json names its project
      ready for 12 s, process 4711, id typescript-0a1b2c3d
    typescript-language-server: not needed; typescript comes first in the group typescript, and serves
    syntactic: not needed; it stands in only where no other one is there; typescript serves
    eslint: not meant; its project has none of eslint.config.*, .eslintrc, .eslintrc.*
    biome: not meant; its project has none of biome.json, biome.jsonc, .biome.json, .biome.jsonc
    oxlint: not meant; its project has none of .oxlintrc.json, .oxlintrc.jsonc, oxlint.config.ts

the server that runs is process 4242, listening http://127.0.0.1:3939/mcp; `codeyard doctor` tells how it is
```

| verdict | why |
|---|---|
| serves | it answers for this file, from the project root shown |
| not needed | an alternative of its group comes first |
| not installed, broken | its program isn't there or doesn't work; `next:` is the command that helps |
| not meant | a marker says that another server is meant, or the marker that it needs is missing |
| off | the configuration disables it, it is off by default, or another one was chosen |

The rules by kind. `name ~ text` is a file with a line that begins with the text. Kinds that aren't in this table always run at
the workspace's root.

| kind | wholes | projects | without any | excluded by |
|---|---|---|---|---|
";

const INTRODUCTION: &str = "\
# LanguageSpec servers

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
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/language-servers.md");
        let wanted = document(&Registry::builtin());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &wanted).unwrap();
        }
        let there = std::fs::read_to_string(path).unwrap();
        assert!(there == wanted, "docs/language-servers.md is out of date; run this test with UPDATE_DOCS=1");
    }
}
