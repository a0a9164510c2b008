//! Cargo workspaces, found as Cargo finds them: from the nearest `Cargo.toml` upwards, the first one with
//! `[workspace]` that doesn't exclude the package. `package.workspace` names the workspace directly, also one that
//! isn't above.

use std::path::Path;
use std::rc::Rc;

use codeyard_ecosystems::cargo::{MANIFEST, PackageRole};

use super::context::{ManifestContext, Membership};

pub(super) fn membership(context: &ManifestContext<'_>) -> Membership {
    let Some(own) = context.nearest(MANIFEST) else { return Membership::default() };
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
                return Membership::of(folder, MANIFEST);
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
        Some(root) if matches!(*role(context, &root), PackageRole::Root { .. }) => Membership::of(&root, MANIFEST),
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
    let manifest = folder.join(MANIFEST);
    context.parsed(&manifest, || context.text(&manifest).map_or(PackageRole::Plain, |text| PackageRole::of(&text)))
}
