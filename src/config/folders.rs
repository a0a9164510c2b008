//! A configuration without a file: one workspace for each folder.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::{Config, WorkspaceConfig};
use codeyard_base::ids::{TenantId, WorkspaceName};

/// Longest name of a workspace, in bytes.
const NAME_BYTES: usize = 64;

impl Config {
    /// One workspace for each root, named after its folder. Later folders of the same name get the suffix `-2`, `-3` and so on. The first
    /// workspace is the default. Equal roots give one workspace. Roots should be absolute, because `.` has no name.
    pub fn from_roots(roots: &[PathBuf]) -> Self {
        let mut names = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let distinct =
            roots.iter().map(|root| root.components().collect::<PathBuf>()).filter(|root| seen.insert(root.clone()));
        let workspaces: Vec<WorkspaceConfig> = distinct
            .map(|root| {
                let folder = root.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
                let name = free_name(WorkspaceName::from_folder(&TenantId::default_tenant(), &folder), &names);
                names.insert(name.clone());
                WorkspaceConfig::new(name, vec![root])
            })
            .collect();
        let default_workspace = workspaces.first().map(|workspace| workspace.name.clone());
        Self { default_workspace, workspaces, ..Self::default() }
    }
}

/// `own`. If it is taken, the first free name with a number appended.
pub(crate) fn free_name(own: WorkspaceName, taken: &BTreeSet<WorkspaceName>) -> WorkspaceName {
    if !taken.contains(&own) {
        return own;
    }
    let numbered = (2..=taken.len() + 2).filter_map(|number| {
        let tail = format!("-{number}");
        let kept = own.short().len().min(NAME_BYTES - tail.len());
        WorkspaceName::in_tenant(&own.tenant(), &format!("{}{tail}", &own.short()[..kept]))
    });
    // More numbers are tried than names are taken, so one of them is free.
    numbered.into_iter().find(|name| !taken.contains(name)).unwrap_or(own)
}
