//! Cargo's workspaces, by Cargo's own search: from the nearest `Cargo.toml` upwards to the first with `[workspace]` that doesn't
//! exclude it; `package.workspace` points at one directly, also at one that isn't above.

use std::path::Path;

use toml::{Table, Value};

use super::context::{ManifestContext, Membership};

const NAME: &str = "Cargo.toml";

/// What a `Cargo.toml` says of itself.
enum PackageRole {
    /// It is the root of a workspace.
    Root { members: Vec<String>, exclude: Vec<String> },
    /// Its workspace's root is there.
    PartOf(String),
    /// Neither.
    Plain,
}

pub(super) fn membership(context: &ManifestContext<'_>) -> Membership {
    let Some(own) = context.nearest(NAME) else { return Membership::default() };
    // A nearer marker of another kind (rust-project.json) says that Cargo isn't asked.
    if context.marked.is_some_and(|marked| marked != own && marked.starts_with(own)) {
        return Membership::default();
    }
    for folder in context.from(own) {
        // What Cargo unpacks to verify a package is on its own.
        if folder.ends_with("target/package") {
            break;
        }
        match role(context, folder) {
            PackageRole::Root { members, exclude } if folder == own || !excludes(folder, own, &members, &exclude) => {
                return Membership::whole(folder, NAME);
            }
            PackageRole::PartOf(pointer) => return pointed(context, folder, &pointer),
            PackageRole::Root { .. } | PackageRole::Plain => {}
        }
    }
    Membership::default()
}

/// The workspace that a `package.workspace` in `folder` points at, if one is there.
fn pointed(context: &ManifestContext<'_>, folder: &Path, pointer: &str) -> Membership {
    match context.within(folder, pointer) {
        Some(root) if matches!(role(context, &root), PackageRole::Root { .. }) => Membership::whole(&root, NAME),
        _ => Membership::default(),
    }
}

/// As Cargo has it: by whole names from the workspace's folder, letter by letter; what `members` names without a glob is a member
/// all the same.
fn excludes(folder: &Path, own: &Path, members: &[String], exclude: &[String]) -> bool {
    let names = |list: &[String]| list.iter().any(|path| own.starts_with(folder.join(path)));
    names(exclude) && !names(members)
}

fn role(context: &ManifestContext<'_>, folder: &Path) -> PackageRole {
    let Some(text) = context.text(&folder.join(NAME)) else { return PackageRole::Plain };
    let Ok(manifest) = text.parse::<Table>() else { return by_its_lines(&text) };
    let names = |value: Option<&Value>| {
        let items = value.and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    if let Some(workspace) = manifest.get("workspace").and_then(Value::as_table) {
        return PackageRole::Root {
            members: names(workspace.get("members")),
            exclude: names(workspace.get("exclude")),
        };
    }
    let package = manifest.get("package").or_else(|| manifest.get("project"));
    match package.and_then(|package| package.get("workspace")).and_then(Value::as_str) {
        Some(pointer) => PackageRole::PartOf(pointer.to_owned()),
        None => PackageRole::Plain,
    }
}

/// A manifest that is being edited mustn't tear its workspace apart.
fn by_its_lines(text: &str) -> PackageRole {
    let heads = |line: &str| line.starts_with("[workspace]") || line.starts_with("[workspace.");
    match text.lines().any(|line| heads(line.trim())) {
        true => PackageRole::Root { members: Vec::new(), exclude: Vec::new() },
        false => PackageRole::Plain,
    }
}
