//! `[audit]`: the audit log.

use serde::{Deserialize, Serialize};

use crate::error::ConfigError;
use codeyard_base::words;

words! {
    /// What an audit line has of a call's arguments.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum AuditArguments {
        /// The paths, names and words that were asked, without secrets of known shapes.
        #[default]
        Names => "names",
        /// Their SHA-256.
        Digests => "digests",
    }
    /// The word in configurations.
    fn as_str;
}

words! {
    /// What becomes of calls whose lines can't be written.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum AuditFailure {
        /// They are refused.
        #[default]
        Refuse => "refuse",
        /// They are answered. The next line that can be written says how many are missing.
        Continue => "continue",
    }
    /// The word in configurations.
    fn as_str;
}

/// `[audit]`: who did what, in the folder `audit` of the state directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuditSection {
    /// Whether there is an audit log. `codeyard audit` reads it.
    pub enabled: bool,
    /// What a line has of a call's arguments: `names`, or `digests` of them. A digest hides a name from readers who can't guess it.
    pub arguments: AuditArguments,
    /// What becomes of calls while no line can be written, because the disk is full: `refuse`, or `continue`.
    pub on_failure: AuditFailure,
    /// Size at which a file is closed and the next one begins, in MiB.
    pub max_file_mib: u64,
    /// Days after which a closed file is removed. 0 keeps all.
    pub keep_days: u32,
    /// Socket of the system's log, such as `/dev/log`, which journald and every syslog daemon read. Each line is copied there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syslog_socket: Option<String>,
}

impl Default for AuditSection {
    fn default() -> Self {
        Self {
            enabled: false,
            arguments: AuditArguments::Names,
            on_failure: AuditFailure::Refuse,
            max_file_mib: 64,
            keep_days: 0,
            syslog_socket: None,
        }
    }
}

impl AuditSection {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.max_file_mib == 0 {
            let problem = "a file of 0 MiB has no place for a line";
            return Err(ConfigError::at("audit.max_file_mib", problem, "write 1 or more; the default is 64"));
        }
        match &self.syslog_socket {
            Some(path) if !path.starts_with('/') => {
                let problem = format!("`{path}` is not an absolute path");
                Err(ConfigError::at("audit.syslog_socket", problem, "write it as /dev/log"))
            }
            _ => Ok(()),
        }
    }
}
