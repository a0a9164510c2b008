//! The section `[runs]`: which launch runs may work, where they may read from and what they may publish to.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::ConfigError;

/// `[runs]`: launch runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunsSection {
    /// Runs that work at once; further ones wait for their turn.
    pub max_active: usize,
    /// Runs of one workspace that work at once.
    pub max_active_per_workspace: usize,
    /// Runs of one workspace that wait; further ones are refused.
    pub max_waiting_per_workspace: usize,
    /// Beginnings of the addresses of repositories that a run may clone. The roots of the run's workspace are allowed too.
    pub sources: Vec<String>,
    /// Addresses that are replaced before a repository is cloned, so that a mirror or a local folder serves.
    pub rewrites: Vec<RewriteRule>,
    /// Services that a run may publish to or let write, and the environment variable with the token of each.
    pub services: Vec<ServiceRule>,
    /// Whether the servers of links are asked, where a run's validation profile is `ci` or `prod`.
    pub check_links: bool,
    /// Hosts (`name` or `name:port`) of links that are asked although their addresses are private.
    pub private_link_hosts: Vec<String>,
    /// Largest clone of a repository, in MiB.
    pub max_clone_mib: u64,
    /// Days for which the working copies of a run are kept after its end. Events, artifacts and drafts stay.
    pub keep_work_days: u64,
    /// The program Hugo. Default: `hugo` on the `PATH`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hugo: Option<PathBuf>,
    /// A file that replaces the built-in table of documentation sites, `config/sites.toml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sites: Option<PathBuf>,
}

/// An address that is replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RewriteRule {
    /// The beginning that is replaced.
    pub from: String,
    /// What replaces it: an address or an absolute path.
    pub to: String,
}

/// A service that runs may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceRule {
    /// The beginning of its address.
    pub base_url: String,
    /// The environment variable of the server that holds the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_env: Option<String>,
}

impl Default for RunsSection {
    fn default() -> Self {
        let github = ServiceRule { base_url: "https://api.github.com".into(), token_env: Some("GITHUB_TOKEN".into()) };
        Self {
            max_active: 4,
            max_active_per_workspace: 2,
            max_waiting_per_workspace: 100,
            sources: vec!["https://github.com/".into()],
            rewrites: Vec::new(),
            services: vec![github],
            check_links: true,
            private_link_hosts: Vec::new(),
            max_clone_mib: 1_024,
            keep_work_days: 14,
            hugo: None,
            sites: None,
        }
    }
}

impl RunsSection {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let counts = [
            ("max_active", self.max_active, "no run could work"),
            ("max_active_per_workspace", self.max_active_per_workspace, "no run could work"),
            ("max_waiting_per_workspace", self.max_waiting_per_workspace, "no run could start"),
            (
                "max_clone_mib",
                usize::try_from(self.max_clone_mib).unwrap_or(usize::MAX),
                "no repository could be cloned",
            ),
        ];
        if let Some((key, _, why)) = counts.into_iter().find(|(_, count, _)| *count == 0) {
            let problem = format!("0 is not allowed, because {why}");
            return Err(ConfigError::at(format!("runs.{key}"), problem, "set it to 1 or more"));
        }
        let is_variable = |name: &str| {
            let mut letters = name.chars();
            letters.next().is_some_and(|first| first.is_ascii_uppercase() || first == '_')
                && letters.all(|other| other.is_ascii_uppercase() || other.is_ascii_digit() || other == '_')
        };
        for (at, service) in self.services.iter().enumerate() {
            if !service.base_url.starts_with("http://") && !service.base_url.starts_with("https://") {
                let problem = format!("{:?} is no address of a service", service.base_url);
                return Err(ConfigError::at(format!("runs.services.{at}.base_url"), problem, "begin it with https://"));
            }
            if let Some(name) = service.token_env.as_ref().filter(|name| !is_variable(name)) {
                let problem = format!("{name:?} is no name of an environment variable");
                let remedy = "name the variable that holds the token, such as \"GITHUB_TOKEN\"";
                return Err(ConfigError::at(format!("runs.services.{at}.token_env"), problem, remedy));
            }
        }
        let is_host = |host: &str| {
            let (name, port) = host.split_once(':').unwrap_or((host, "1"));
            let is_name =
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'));
            is_name && port.parse::<u16>().is_ok_and(|port| port > 0)
        };
        if let Some((at, host)) = self.private_link_hosts.iter().enumerate().find(|(_, host)| !is_host(host)) {
            let problem = format!("{host:?} is no name of a host");
            let remedy = "write a name or `name:port`, such as \"docs.example.internal\"";
            return Err(ConfigError::at(format!("runs.private_link_hosts.{at}"), problem, remedy));
        }
        for (at, rule) in self.rewrites.iter().enumerate() {
            if rule.from.is_empty() || rule.to.is_empty() {
                let key = format!("runs.rewrites.{at}");
                return Err(ConfigError::at(
                    key,
                    "an empty address matches every repository",
                    "give both `from` and `to`",
                ));
            }
        }
        Ok(())
    }
}
