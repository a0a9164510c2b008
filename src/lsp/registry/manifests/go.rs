//! Go workspaces: the nearest `go.work` upwards, if it uses the file's module. A module that it doesn't use stands
//! alone.

use codeyard_ecosystems::go::{MANIFEST, WORKSPACE, used_folders};

use super::context::{ManifestContext, Membership};

pub(super) fn membership(context: &ManifestContext<'_>) -> Membership {
    let Some(folder) = context.nearest(WORKSPACE) else { return Membership::default() };
    let Some(module) = context.nearest(MANIFEST) else { return Membership::of(folder, WORKSPACE) };
    let text = context.text(&folder.join(WORKSPACE)).unwrap_or_default();
    let is_used = used_folders(&text).iter().filter_map(|path| context.within(folder, path)).any(|used| used == module);
    if is_used { Membership::of(folder, WORKSPACE) } else { Membership::default() }
}
