//! Rules that the types don't express. The parser applies them. The command line applies them again after its flags.
//!
//! Invariants: no rule accesses the disk (opening a workspace checks whether its roots exist); each error names the value, the reason and
//! the key to change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::error::ConfigError;
use crate::group::{GROUP_NAME_FORM, GroupSection};
use crate::issuer;
use crate::limits::{MAX_GROUPS, MAX_WORKSPACES};
use crate::sections::network;
use crate::workspace::Prewarm;
use crate::{AgentSection, Config, ServerSection, SupervisionSection, WorkspaceConfig, WorkspaceTemplate, locate};
use codeyard_base::ids::{GroupName, TenantId, WorkspaceName};
use codeyard_model::code::{BadWeight, Weights};
use codeyard_model::limits::{
    MAX_PAGE_CHARS, MAX_PARSED_FILE_BYTES, MAX_ROOTS, MAX_SEARCHED_FILE_BYTES, MAX_WARMSET, MIN_PAGE_CHARS,
};

/// The highest niceness of language servers, which is the lowest priority.
const MAX_NICENESS: u8 = 19;
/// The largest limit of the text index that a configuration can set, in percent of the bytes of the files.
const MOST_TEXT_INDEX_PERCENT: u64 = 1_000;
/// Threads of a job or a search that a configuration can set.
const MAX_INDEX_THREADS: u64 = 64;
/// The smallest payload that a configuration can set, in bytes.
const MIN_CODE_PAYLOAD_BYTES: u64 = 1_024;
/// The most processes that `supervision.server_processes` may allow: a larger tree isn't counted.
const MAX_SERVER_PROCESSES: u64 = 4_000;
/// The fewest open files that `supervision.server_open_files` may allow.
const MIN_SERVER_OPEN_FILES: u64 = 256;

type Validity = Result<(), ConfigError>;

impl Config {
    /// Applies all rules.
    ///
    /// # Errors
    /// The first rule that fails. The error has no position in a file.
    pub fn validate(&self) -> Validity {
        check_server(&self.server)?;
        issuer::check(self)?;
        check_admin(self)?;
        check_networks("probes.networks", &self.probes.networks)?;
        check_supervision(&self.supervision)?;
        check_agent(&self.agent)?;
        self.runs.check()?;
        self.audit.check()?;
        check_quotas(self)?;
        check_code(self)?;
        check_tables("servers", &self.servers)?;
        check_tables("languages", &self.languages)?;
        self.permission.check("permission")?;
        check_workspaces(&self.workspaces)?;
        check_groups(&self.groups)?;
        for (index, template) in self.workspaces_from.iter().enumerate() {
            check_template(template, &format!("workspaces_from[{index}]"))?;
        }
        // A pattern may bring the workspace.
        if self.workspaces_from.is_empty() { self.check_default() } else { Ok(()) }
    }
}

fn check_quotas(config: &Config) -> Validity {
    config.quota.check("quota")?;
    config.quota.check_burst("quota")?;
    for (name, tenant) in &config.tenants {
        if TenantId::new(name).is_none() {
            let problem = format!("`{name}` is not the name of a tenant");
            let remedy = "use 1 to 64 of a-z, 0-9, '.', '_' and '-', with a letter or digit first";
            return Err(ConfigError::at(format!("tenants.{name}"), problem, remedy));
        }
        let section = format!("tenants.{name}.quota");
        tenant.quota.check(&section)?;
        tenant.quota.or(&config.quota).check_burst(&section)?;
    }
    let mut quotas = config.tokens.iter().filter_map(|(name, token)| Some((name, token.quota.as_ref()?)));
    quotas.try_for_each(|(name, quota)| {
        let section = format!("tokens.{name:?}.quota");
        quota.check(&section)?;
        quota.check_burst(&section)
    })
}

fn check_server(server: &ServerSection) -> Validity {
    let Some(address) = server.address() else {
        let problem = format!("`{}` is not an IP address with a port", server.listen);
        return Err(ConfigError::at("server.listen", problem, "write it as 127.0.0.1:3939 or [::1]:3939"));
    };
    if server.no_auth && !address.ip().is_loopback() {
        let problem = format!(
            "calls without a token are only allowed on a loopback address, and server.listen {address} is not one"
        );
        let remedy = "set server.no_auth to false, or server.listen to an address such as 127.0.0.1:3939";
        return Err(ConfigError::at("server.no_auth", problem, remedy));
    }
    check_networks("server.behind_proxy", &server.behind_proxy)?;
    if let Some(tls) = &server.tls {
        tls.check()?;
    }
    if let Some((problem, remedy)) = server.plain_beyond_loopback(address) {
        return Err(ConfigError::at("server.listen", problem, remedy));
    }
    for (index, host) in server.allowed_hosts.iter().enumerate() {
        if !is_host(host) {
            let key = format!("server.allowed_hosts[{index}]");
            let remedy = "write `name` or `name:port`, without scheme, path or wildcard";
            return Err(ConfigError::at(key, format!("`{host}` is not a host name"), remedy));
        }
    }
    for (index, origin) in server.allowed_origins.iter().enumerate() {
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        if !host.is_some_and(is_host) {
            let key = format!("server.allowed_origins[{index}]");
            let remedy = "write `https://name` or `https://name:port` (or `http://`), without a path";
            return Err(ConfigError::at(key, format!("`{origin}` is not a web origin"), remedy));
        }
    }
    Ok(())
}

fn check_admin(config: &Config) -> Validity {
    let Some(listen) = &config.admin.listen else { return Ok(()) };
    let Ok(address) = listen.parse() else {
        let problem = format!("`{listen}` is not an IP address with a port");
        return Err(ConfigError::at("admin.listen", problem, "write it as 127.0.0.1:3940 or [::1]:3940"));
    };
    match config.server.plain_beyond_loopback(address) {
        Some((problem, remedy)) => Err(ConfigError::at("admin.listen", problem, remedy)),
        None => Ok(()),
    }
}

fn check_networks(key: &str, networks: &[String]) -> Validity {
    match networks.iter().position(|text| network(text).is_none()) {
        Some(index) => {
            let problem = format!("`{}` is not a network or an IP address", networks[index]);
            let remedy = "write it as 10.0.0.0/8, fd00::/8 or 192.0.2.7";
            Err(ConfigError::at(format!("{key}[{index}]"), problem, remedy))
        }
        None => Ok(()),
    }
}

/// Whether `text` is a host name, an IPv4 address or a bracketed IPv6 address, with or without a port.
///
/// `Authority` splits off the port. It also accepts user names, empty ports and characters that no host name has. This function refuses
/// them.
fn is_host(text: &str) -> bool {
    let Ok(authority) = text.parse::<http::uri::Authority>() else { return false };
    let host = authority.host();
    let is_whole = match authority.port() {
        Some(port) => text == format!("{host}:{port}"),
        None => text == host,
    };
    let is_host_char = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    is_whole
        && match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.bytes().all(is_host_char),
        }
}

/// The limits of single language servers.
fn check_budgets(supervision: &SupervisionSection) -> Validity {
    let budgets = [
        ("server_processes", supervision.server_processes, 8, MAX_SERVER_PROCESSES),
        ("server_open_files", supervision.server_open_files, MIN_SERVER_OPEN_FILES, u64::MAX),
        ("server_file_mib", supervision.server_file_mib, 16, u64::MAX >> 20),
    ];
    for (key, value, least, most) in budgets {
        if !(least..=most).contains(&value) {
            let problem = format!("{value} is not from {least} to {most}");
            return Err(ConfigError::at(format!("supervision.{key}"), problem, format!("set it to {least} or more")));
        }
    }
    match supervision.toolchains.iter().find(|folder| !folder.is_absolute() || folder.parent().is_none()) {
        Some(folder) => {
            let problem = format!("{} is not an absolute path of a folder below /", folder.display());
            Err(ConfigError::at("supervision.toolchains", problem, "name the folder of the toolchain, such as /opt/go"))
        }
        None => Ok(()),
    }
}

fn check_supervision(supervision: &SupervisionSection) -> Validity {
    let positive = [
        ("start_timeout_s", supervision.start_timeout_s, "no server could start"),
        ("backoff_initial_ms", supervision.backoff_initial_ms, "no restart would wait"),
        ("restart_window_s", supervision.restart_window_s, "no restart would be counted"),
        ("quarantine_s", supervision.quarantine_s, "a quarantine would end at once"),
        ("hang_s", supervision.hang_s, "a slow server would count as hung"),
    ];
    for (key, value, effect) in positive {
        if value == 0 {
            let problem = format!("0 is not allowed, because {effect}");
            return Err(ConfigError::at(format!("supervision.{key}"), problem, "set it to 1 or more"));
        }
    }
    check_budgets(supervision)?;
    if supervision.niceness > MAX_NICENESS {
        let problem = format!("{} is more than {MAX_NICENESS}, the lowest priority", supervision.niceness);
        return Err(ConfigError::at("supervision.niceness", problem, format!("set it to 0 to {MAX_NICENESS}")));
    }
    let ordered = [
        ("backoff_max_ms", supervision.backoff_initial_ms, supervision.backoff_max_ms, "backoff_initial_ms"),
        ("hang_with_progress_s", supervision.hang_s, supervision.hang_with_progress_s, "hang_s"),
    ];
    for (key, low, high, other) in ordered {
        if high < low {
            let problem = format!("{high} is less than supervision.{other}, which is {low}");
            let remedy = format!("set it to {low} or more, or lower supervision.{other}");
            return Err(ConfigError::at(format!("supervision.{key}"), problem, remedy));
        }
    }
    Ok(())
}

fn check_agent(agent: &AgentSection) -> Validity {
    if (MIN_PAGE_CHARS..=MAX_PAGE_CHARS).contains(&agent.page_chars) {
        return Ok(());
    }
    let problem = format!("{} is not from {MIN_PAGE_CHARS} to {MAX_PAGE_CHARS}", agent.page_chars);
    Err(ConfigError::at("agent.page_chars", problem, "set it to a number of characters in between, such as 8000"))
}

fn check_code(config: &Config) -> Validity {
    let index = &config.index;
    let bounded = [
        ("index.max_file_bytes", index.max_file_bytes, 1, MAX_SEARCHED_FILE_BYTES),
        ("index.max_parsed_file_bytes", index.max_parsed_file_bytes, 1, MAX_PARSED_FILE_BYTES),
        ("index.max_text_index_percent", index.max_text_index_percent, 1, MOST_TEXT_INDEX_PERCENT),
        ("index.threads", index.threads, 0, MAX_INDEX_THREADS),
        ("query.payload_bytes", config.query.payload_bytes as u64, MIN_CODE_PAYLOAD_BYTES, u64::MAX),
        ("warmset.capacity", config.warmset.capacity as u64, 0, MAX_WARMSET as u64),
    ];
    for (key, value, least, most) in bounded {
        if value < least {
            let problem = format!("{value} is below the minimum {least}");
            return Err(ConfigError::at(key, problem, format!("set it to {least} or more")));
        }
        if value > most {
            let problem = format!("{value} is above the maximum {most}");
            return Err(ConfigError::at(key, problem, format!("set it to {most} or less")));
        }
    }
    config.ranking.check().map_err(|bad| weight_error(&config.ranking, &bad))
}

fn weight_error(weights: &Weights, bad: &BadWeight) -> ConfigError {
    let BadWeight { name, least, most } = bad;
    let value = toml::Table::try_from(weights).ok().and_then(|table| table.get(*name).map(ToString::to_string));
    let problem = match value {
        // Every number from 0 is allowed here, unless no other weight is above 0 either.
        _ if *name == "exact_match" && (0.0..=100.0).contains(&weights.exact_match) => {
            "all weights are 0, so that results would have no order".to_owned()
        }
        Some(value) => format!("{value} is not a number from {least} to {most}"),
        None => format!("the value is not a number from {least} to {most}"),
    };
    ConfigError::at(format!("ranking.{name}"), problem, format!("set it to a number from {least} to {most}"))
}

fn check_tables(section: &str, entries: &toml::Table) -> Validity {
    match entries.iter().find(|(_, entry)| !entry.is_table()) {
        Some((name, _)) => {
            let key = locate::join(section, name);
            let remedy = format!("write the entry as a table [{key}]");
            Err(ConfigError::at(key, "the value is not a table", remedy))
        }
        None => Ok(()),
    }
}

fn check_groups(groups: &BTreeMap<String, GroupSection>) -> Validity {
    if groups.len() > MAX_GROUPS {
        let problem = format!("{} groups, but at most {MAX_GROUPS} are allowed", groups.len());
        return Err(ConfigError::at("groups", problem, "remove some tables [groups.NAME]"));
    }
    for (name, group) in groups {
        let key = locate::join("groups", name);
        if name == GroupName::ALL {
            let remedy = "use another name; the group `all` has every workspace without a table";
            return Err(ConfigError::at(key, "the name `all` is taken", remedy));
        }
        if GroupName::new(name).is_none() {
            let problem = format!("`{name}` {GROUP_NAME_FORM}");
            return Err(ConfigError::at(key, problem, "rename the table"));
        }
        group.check(&format!("{key}.workspaces"))?;
    }
    Ok(())
}

fn check_workspaces(workspaces: &[WorkspaceConfig]) -> Validity {
    if workspaces.len() > MAX_WORKSPACES {
        let problem = format!("{} workspaces, but at most {MAX_WORKSPACES} are allowed", workspaces.len());
        return Err(ConfigError::at("workspace", problem, "remove some tables [[workspace]]"));
    }
    let mut names = BTreeSet::new();
    for (index, workspace) in workspaces.iter().enumerate() {
        let key = format!("workspace[{index}]");
        if !names.insert(&workspace.name) {
            let problem = format!("another workspace has the name `{}` too", workspace.name);
            return Err(ConfigError::at(format!("{key}.name"), problem, "give each workspace its own name"));
        }
        check_workspace(workspace, &key)?;
    }
    Ok(())
}

fn check_workspace(workspace: &WorkspaceConfig, key: &str) -> Validity {
    if workspace.roots.is_empty() {
        let problem = "the list is empty, but a workspace needs at least one root";
        return Err(ConfigError::at(format!("{key}.roots"), problem, "add the path of a folder"));
    }
    let roots = workspace.roots.len() + workspace.extra_roots.len();
    if roots > MAX_ROOTS {
        let problem = format!("{roots} roots and extra roots, but at most {MAX_ROOTS} are allowed together");
        return Err(ConfigError::at(format!("{key}.roots"), problem, "remove some, or split the workspace"));
    }
    if let Some(name) = workspace.env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        let problem = "the name of an environment variable must not be empty or contain `=` or NUL";
        return Err(ConfigError::at(locate::join(&format!("{key}.env"), name), problem, "rename the variable"));
    }
    if let Some((name, _)) = workspace.env.iter().find(|(_, value)| value.contains('\0')) {
        let problem = "the value contains a NUL character, which no environment variable can contain";
        return Err(ConfigError::at(locate::join(&format!("{key}.env"), name), problem, "remove the character"));
    }
    if let Some((kind, _)) = workspace.settings.iter().find(|(_, value)| !value.is_object()) {
        let problem = "the value is not a table";
        let remedy = format!("write the settings as a table [{}]", locate::join("workspace.settings", kind));
        return Err(ConfigError::at(locate::join(&format!("{key}.settings"), kind), problem, remedy));
    }
    if let Some(permission) = &workspace.permission {
        let key = format!("{key}.permission");
        permission.check(&key)?;
        permission.check_tenant(&key, &workspace.name.tenant())?;
    }
    check_choice(workspace, key)
}

fn check_template(template: &WorkspaceTemplate, key: &str) -> Validity {
    template.check(key)?;
    check_workspace(&template.workspace(WorkspaceName::from_folder(&template.tenant(), "any"), PathBuf::from("/")), key)
}

fn check_choice(workspace: &WorkspaceConfig, key: &str) -> Validity {
    let is_disabled = |kind: &String| workspace.servers.disable.contains(kind);
    if let Some(kind) = workspace.servers.prefer.iter().find(|kind| is_disabled(kind)) {
        let problem = format!("`{kind}` is preferred, but servers.disable lists it too");
        let remedy = "remove it from servers.prefer or from servers.disable";
        return Err(ConfigError::at(format!("{key}.servers.prefer"), problem, remedy));
    }
    let Prewarm::Kinds(kinds) = &workspace.prewarm else { return Ok(()) };
    match kinds.iter().find(|kind| is_disabled(kind)) {
        Some(kind) => {
            let problem = format!("`{kind}` is prewarmed, but servers.disable lists it");
            let remedy = "remove it from prewarm or from servers.disable";
            Err(ConfigError::at(format!("{key}.prewarm"), problem, remedy))
        }
        None => Ok(()),
    }
}

impl Config {
    /// Checks that the default workspace exists.
    pub(crate) fn check_default(&self) -> Validity {
        let Some(name) = &self.default_workspace else { return Ok(()) };
        if self.workspace(name.as_str()).is_some() {
            return Ok(());
        }
        let names: Vec<&str> = self.workspaces.iter().map(|workspace| workspace.name.as_str()).take(8).collect();
        let remedy = match names.is_empty() {
            true => "add a [[workspace]] with this name, or remove the key".to_owned(),
            false => format!("set it to the name of a workspace: {}", names.join(", ")),
        };
        Err(ConfigError::at("default_workspace", format!("no workspace has the name `{name}`"), remedy))
    }
}
