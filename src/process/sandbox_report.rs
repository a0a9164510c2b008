//! What the mechanisms of this machine do for a confined process, for reports.

use serde::Serialize;

/// What helps where no mechanism holds.
pub const HINT: &str = "install bubblewrap (`apt install bubblewrap` or `dnf install bubblewrap`), or run a kernel from 6.12 on with \
                        Landlock; `codeyard doctor` shows what was tried";

/// One mechanism; the JSON output of reports has these keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MechanismReport {
    pub mechanism: &'static str,
    /// Why it doesn't hold; `null`: a child process was confined by it.
    pub problem: Option<String>,
}

/// Tries all mechanisms with real child processes. Blocks for a fraction of a second.
pub fn try_all() -> Vec<MechanismReport> {
    #[cfg(target_os = "linux")]
    {
        let own = super::sibling::own().unwrap_or_default();
        let support = super::sandbox::probe::SandboxSupport::probe(&own, &std::env::temp_dir());
        let report = |(mechanism, result): (super::sandbox::Mechanism, Result<(), String>)| MechanismReport {
            mechanism: mechanism.name(),
            problem: result.err(),
        };
        support.results.into_iter().map(report).collect()
    }
    #[cfg(not(target_os = "linux"))]
    Vec::new()
}
