//! Cargo workspaces, found as Cargo finds them: from the nearest `Cargo.toml` upwards, the first one with
//! `[workspace]` that doesn't exclude the package. `package.workspace` names the workspace directly, also one that
//! isn't above.

use std::path::Path;
use std::rc::Rc;

use toml::{Table, Value};

use super::context::{ManifestContext, Membership};

const NAME: &str = "Cargo.toml";

/// The role of a `Cargo.toml`.
enum PackageRole {
    /// The root of a workspace.
    Root { members: Vec<String>, exclude: Vec<String> },
    /// A member of the workspace at this path.
    Member(String),
    /// Neither.
    Plain,
}

pub(super) fn membership(context: &ManifestContext<'_>) -> Membership {
    let Some(own) = context.nearest(NAME) else { return Membership::default() };
    // A nearer marker of another kind (rust-project.json) means that Cargo isn't used.
    if context.marked.is_some_and(|marked| marked != own && marked.starts_with(own)) {
        return Membership::default();
    }
    for folder in context.from(own) {
        // A package that Cargo unpacks to verify it belongs to no workspace.
        if folder.ends_with("target/package") {
            break;
        }
        match &*role(context, folder) {
            PackageRole::Root { members, exclude } if folder == own || !excludes(folder, own, members, exclude) => {
                return Membership::of(folder, NAME);
            }
            PackageRole::Member(workspace_path) => return named_workspace(context, folder, workspace_path),
            PackageRole::Root { .. } | PackageRole::Plain => {}
        }
    }
    Membership::default()
}

/// The workspace that the `package.workspace` in `folder` names, if it exists.
fn named_workspace(context: &ManifestContext<'_>, folder: &Path, workspace_path: &str) -> Membership {
    match context.within(folder, workspace_path) {
        Some(root) if matches!(*role(context, &root), PackageRole::Root { .. }) => Membership::of(&root, NAME),
        _ => Membership::default(),
    }
}

/// Whether the workspace excludes a package, by Cargo's rule: whole path components relative to the workspace's
/// folder, without globs. A package that `members` names without a glob is a member anyway.
fn excludes(folder: &Path, own: &Path, members: &[String], exclude: &[String]) -> bool {
    let names = |list: &[String]| list.iter().any(|path| own.starts_with(folder.join(path)));
    names(exclude) && !names(members)
}

fn role(context: &ManifestContext<'_>, folder: &Path) -> Rc<PackageRole> {
    let manifest = folder.join(NAME);
    context.parsed(&manifest, || context.text(&manifest).map_or(PackageRole::Plain, |text| role_of(&text)))
}

fn role_of(text: &str) -> PackageRole {
    let Ok(manifest) = text.parse::<Table>() else { return role_by_lines(text) };
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
        Some(workspace_path) => PackageRole::Member(workspace_path.to_owned()),
        None => PackageRole::Plain,
    }
}

/// A manifest that is being edited must not split its workspace.
fn role_by_lines(text: &str) -> PackageRole {
    let heads = |line: &str| line.starts_with("[workspace]") || line.starts_with("[workspace.");
    match text.lines().any(|line| heads(line.trim())) {
        true => PackageRole::Root { members: Vec::new(), exclude: Vec::new() },
        false => PackageRole::Plain,
    }
}
