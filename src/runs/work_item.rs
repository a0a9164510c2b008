//! Work items: the parts of a stage that are checkpointed one by one.
//!
//! Invariants: an identifier names the run, the worker, the attempt and the scope; an item that has finished never leaves that state.

use std::fmt;

use crate::run_id::RunId;

/// `{run_id}:{worker}:{attempt}:{scope}` (`docs/internals/reference/contract-launch.md#work-items`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkItemId(String);

/// Which part of a stage an item is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkItemSpec {
    /// Who does it, `SectionWriter`.
    pub worker: &'static str,
    /// What it covers, `docs/en/getting-started`; `all` for the only item of a worker.
    pub scope: String,
}

/// The state of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkItemState {
    /// It waits for its turn.
    Queued,
    Running,
    Finished,
    Failed,
    /// It was not needed, because the run ended or another item failed.
    Skipped,
}

impl WorkItemId {
    /// The identifier of an item of a run.
    pub fn new(run: &RunId, attempt: u32, spec: &WorkItemSpec) -> Self {
        Self(format!("{run}:{}:{attempt}:{}", spec.worker, spec.scope))
    }

    /// An identifier as a log has it.
    pub(crate) fn from_log(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl WorkItemState {
    /// Whether the item needs no more work.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Finished | Self::Failed | Self::Skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_name_all_parts() {
        let spec = WorkItemSpec { worker: "SectionWriter", scope: "docs/en/start".into() };
        let id = WorkItemId::new(&RunId::new(0, 7), 2, &spec);
        assert_eq!(id.as_str(), "r_1970-01-01T00-00-00Z_00000007:SectionWriter:2:docs/en/start");
        assert_eq!(WorkItemId::from_log(id.as_str()), id);
    }
}
