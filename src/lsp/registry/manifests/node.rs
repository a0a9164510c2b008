//! Workspaces of npm, yarn and bun (`workspaces` in a `package.json`) and of pnpm (`pnpm-workspace.yaml`, which wins
//! where both exist). The lists are globs of folders.
//!
//! The folder with the list belongs to its own workspace. Everything inside a member belongs to the workspace, also a
//! nested `package.json`. A package that no glob matches stands alone, also beside the workspace's lock file.

use std::path::Path;

use codeyard_ecosystems::folder_globs::FolderGlobs;
use codeyard_ecosystems::npm::{MANIFEST, PNPM_WORKSPACE, PackageJson, pnpm_members};

use super::context::{ManifestContext, Membership};

pub(super) fn membership(context: &ManifestContext<'_>) -> Membership {
    let Some(own) = context.nearest(MANIFEST) else { return Membership::default() };
    let mut not_listed_in = Vec::new();
    for folder in context.from(own) {
        let listed = context.parsed(&folder.join(MANIFEST), || list(context, folder));
        let Some(listed) = &*listed else { continue };
        if folder == own || listed.globs.hold(folder, own) {
            return Membership { not_listed_in, ..Membership::of(folder, listed.file) };
        }
        not_listed_in.push(folder.to_path_buf());
    }
    Membership { build_workspace: None, not_listed_in }
}

struct PackageList {
    /// The name of the file that it is in.
    file: &'static str,
    globs: FolderGlobs,
}

fn list(context: &ManifestContext<'_>, folder: &Path) -> Option<PackageList> {
    if let Some(text) = context.text(&folder.join(PNPM_WORKSPACE)) {
        return Some(PackageList { file: PNPM_WORKSPACE, globs: pnpm_members(&text) });
    }
    let manifest = PackageJson::parse(&context.text(&folder.join(MANIFEST))?)?;
    Some(PackageList { file: MANIFEST, globs: manifest.own_members()? })
}
