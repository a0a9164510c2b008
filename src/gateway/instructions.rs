//! The `instructions` of `initialize`: what an endpoint serves, and how its tools are used.
//!
//! Invariant: they name the workspace and its roots, and no workspace that the caller may not see.

use super::router::Gateway;
use super::service::Endpoint;
use codeyard_base::ids::GroupName;
use codeyard_catalog::CatalogId;

impl Gateway {
    /// The instructions of an endpoint.
    pub(super) fn instructions_at(&self, endpoint: &Endpoint) -> Option<String> {
        if let Some(group) = &endpoint.group {
            return Some(self.group_instructions(group, endpoint));
        }
        let handle = self.directory.get(endpoint.workspace.as_ref()?)?;
        let roots: Vec<String> =
            handle.gate.root_set().roots().iter().map(|root| codeyard_model::uri::encode_path(root)).collect();
        let served = self.catalog_set_at(endpoint)?;
        let mut guides: Vec<&str> = served.set.ids().iter().map(|id| id.catalog().guide()).collect();
        guides.dedup();
        let what = match served.set.ids() {
            [CatalogId::Launch] => "Launch runs",
            ids if ids.contains(&CatalogId::Launch) => "Code intelligence from real language servers, and launch runs,",
            _ => "Read-only code intelligence from real language servers",
        };
        Some(format!(
            "{what} for workspace '{}'. Its roots: {}. {}",
            handle.name.short(),
            roots.join(", "),
            guides.join(" ")
        ))
    }

    fn group_instructions(&self, group: &GroupName, endpoint: &Endpoint) -> String {
        let guides: Vec<&str> = self
            .catalog_set_at(endpoint)
            .iter()
            .flat_map(|served| served.set.ids())
            .map(|id| id.catalog().guide())
            .collect();
        format!(
            "Code search over all workspaces of the group '{}'. Each row names its `workspace`; `repo:NAME` in a query and the \
             argument `workspace` of the other tools select some of them. health_check lists them. {}",
            group.at(),
            guides.join(" ")
        )
    }
}
