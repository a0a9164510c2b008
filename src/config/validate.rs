//! Rules that types don't express. The parser applies them, and the command line applies them again after its flags.
//!
//! They don't access the disk: whether a root exists is checked when the workspace opens.

use std::collections::BTreeSet;

use crate::error::ConfigError;
use crate::limits::{MAX_INDEX_THREADS, MAX_WORKSPACES, MIN_CODE_PAYLOAD_BYTES};
use crate::workspace::Prewarm;
use crate::{AdminSection, Config, ServerSection, SupervisionSection, WorkspaceConfig, locate};
use codeyard_model::limits::{MAX_PARSED_FILE_BYTES, MAX_ROOTS, MAX_SEARCHED_FILE_BYTES, MAX_WARMSET};

type Checked = Result<(), ConfigError>;

impl Config {
    /// Applies all rules. The error has no position in a file.
    pub fn validate(&self) -> Checked {
        check_server(&self.server)?;
        check_admin(&self.admin)?;
        check_supervision(&self.supervision)?;
        check_code(self)?;
        check_tables("servers", &self.servers)?;
        check_tables("languages", &self.languages)?;
        self.permission.check("permission")?;
        check_workspaces(&self.workspaces)?;
        check_default(self)
    }
}

fn check_server(server: &ServerSection) -> Checked {
    let Some(address) = server.address() else {
        let problem = format!("`{}` is no address with a port", server.listen);
        return Err(ConfigError::at("server.listen", problem, "write it like 127.0.0.1:3939 or [::1]:3939"));
    };
    if server.no_auth && !address.ip().is_loopback() {
        let problem = format!("no token is asked for, but {address} is not a loopback address");
        return Err(ConfigError::at("server.no_auth", problem, "listen on 127.0.0.1, or set it to false"));
    }
    for (index, host) in server.allowed_hosts.iter().enumerate() {
        if !is_host(host) {
            let key = format!("server.allowed_hosts[{index}]");
            return Err(ConfigError::at(
                key,
                format!("`{host}` is no host name"),
                "write name or name:port, no wildcard",
            ));
        }
    }
    for (index, origin) in server.allowed_origins.iter().enumerate() {
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        if !host.is_some_and(is_host) {
            let key = format!("server.allowed_origins[{index}]");
            let remedy = "write scheme://name or scheme://name:port, without a path";
            return Err(ConfigError::at(key, format!("`{origin}` is no web origin"), remedy));
        }
    }
    Ok(())
}

fn check_admin(admin: &AdminSection) -> Checked {
    match &admin.listen {
        Some(listen) if listen.parse::<std::net::SocketAddr>().is_err() => {
            let problem = format!("`{listen}` is no address with a port");
            Err(ConfigError::at("admin.listen", problem, "write it like 127.0.0.1:3940 or [::1]:3940"))
        }
        _ => Ok(()),
    }
}

/// Whether `text` is a host name, an address or a bracketed address, with or without a port.
///
/// `Authority` splits off the port. It also accepts user names, empty ports and more characters than a host name has, so these are
/// checked here.
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

fn check_supervision(supervision: &SupervisionSection) -> Checked {
    let positive = [
        ("start_timeout_s", supervision.start_timeout_s),
        ("backoff_initial_ms", supervision.backoff_initial_ms),
        ("restart_window_s", supervision.restart_window_s),
        ("quarantine_s", supervision.quarantine_s),
        ("hang_s", supervision.hang_s),
    ];
    for (key, value) in positive {
        if value == 0 {
            return Err(ConfigError::at(format!("supervision.{key}"), "is 0", "give at least 1"));
        }
    }
    let ordered = [
        ("backoff_max_ms", supervision.backoff_initial_ms, supervision.backoff_max_ms, "backoff_initial_ms"),
        ("hang_with_progress_s", supervision.hang_s, supervision.hang_with_progress_s, "hang_s"),
    ];
    for (key, low, high, other) in ordered {
        if high < low {
            let problem = format!("{high} is less than {other}, which is {low}");
            return Err(ConfigError::at(format!("supervision.{key}"), problem, format!("give at least {low}")));
        }
    }
    Ok(())
}

fn check_code(config: &Config) -> Checked {
    let index = &config.index;
    let bounded = [
        ("index.max_file_bytes", index.max_file_bytes, 1, MAX_SEARCHED_FILE_BYTES),
        ("index.max_parsed_file_bytes", index.max_parsed_file_bytes, 1, MAX_PARSED_FILE_BYTES),
        ("index.threads", index.threads, 0, MAX_INDEX_THREADS),
        ("query.payload_bytes", config.query.payload_bytes as u64, MIN_CODE_PAYLOAD_BYTES, u64::MAX),
        ("warmset.capacity", config.warmset.capacity as u64, 0, MAX_WARMSET as u64),
    ];
    for (key, value, least, most) in bounded {
        if value < least {
            return Err(ConfigError::at(key, format!("is {value}"), format!("give at least {least}")));
        }
        if value > most {
            return Err(ConfigError::at(key, format!("is {value}"), format!("give at most {most}")));
        }
    }
    config.ranking.check().map_err(|bad| {
        let remedy = format!("give a number between {} and {}", bad.least, bad.most);
        ConfigError::at(format!("ranking.{}", bad.name), "is no weight", remedy)
    })
}

fn check_tables(section: &str, entries: &toml::Table) -> Checked {
    match entries.iter().find(|(_, entry)| !entry.is_table()) {
        Some((name, _)) => {
            let remedy = format!("write a table [{section}.NAME]");
            Err(ConfigError::at(locate::join(section, name), "is no table", remedy))
        }
        None => Ok(()),
    }
}

fn check_workspaces(workspaces: &[WorkspaceConfig]) -> Checked {
    if workspaces.len() > MAX_WORKSPACES {
        let problem = format!("{} workspaces", workspaces.len());
        return Err(ConfigError::at("workspace", problem, format!("have at most {MAX_WORKSPACES}")));
    }
    let mut names = BTreeSet::new();
    for (index, workspace) in workspaces.iter().enumerate() {
        let key = format!("workspace[{index}]");
        if !names.insert(&workspace.name) {
            let problem = format!("a second workspace named `{}`", workspace.name);
            return Err(ConfigError::at(format!("{key}.name"), problem, "give each its own name"));
        }
        check_workspace(workspace, &key)?;
    }
    Ok(())
}

fn check_workspace(workspace: &WorkspaceConfig, key: &str) -> Checked {
    if workspace.roots.is_empty() {
        return Err(ConfigError::at(format!("{key}.roots"), "no roots", "name at least one folder"));
    }
    let roots = workspace.roots.len() + workspace.extra_roots.len();
    if roots > MAX_ROOTS {
        let problem = format!("{roots} roots and extra roots");
        return Err(ConfigError::at(format!("{key}.roots"), problem, format!("have at most {MAX_ROOTS}")));
    }
    if let Some(name) = workspace.env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        let problem = "no name of an environment variable";
        return Err(ConfigError::at(locate::join(&format!("{key}.env"), name), problem, "leave out `=` and NUL"));
    }
    if let Some((name, _)) = workspace.env.iter().find(|(_, value)| value.contains('\0')) {
        return Err(ConfigError::at(
            locate::join(&format!("{key}.env"), name),
            "holds a NUL character",
            "leave it out",
        ));
    }
    if let Some((kind, _)) = workspace.settings.iter().find(|(_, value)| !value.is_object()) {
        let problem = "settings of a server are a table";
        let remedy = format!("write a table [workspace.settings.{kind}]");
        return Err(ConfigError::at(locate::join(&format!("{key}.settings"), kind), problem, remedy));
    }
    if let Some(permission) = &workspace.permission {
        permission.check(&format!("{key}.permission"))?;
    }
    check_choice(workspace, key)
}

fn check_choice(workspace: &WorkspaceConfig, key: &str) -> Checked {
    let refused = |kind: &String| workspace.servers.disable.contains(kind);
    let remedy = "take it out of one of the two";
    if let Some(kind) = workspace.servers.prefer.iter().find(|kind| refused(kind)) {
        let problem = format!("`{kind}` is preferred and disabled");
        return Err(ConfigError::at(format!("{key}.servers.prefer"), problem, remedy));
    }
    let Prewarm::Kinds(kinds) = &workspace.prewarm else { return Ok(()) };
    match kinds.iter().find(|kind| refused(kind)) {
        Some(kind) => {
            Err(ConfigError::at(format!("{key}.prewarm"), format!("`{kind}` is prewarmed and disabled"), remedy))
        }
        None => Ok(()),
    }
}

fn check_default(config: &Config) -> Checked {
    let Some(name) = &config.default_workspace else { return Ok(()) };
    if config.workspace(name.as_str()).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = config.workspaces.iter().map(|workspace| workspace.name.as_str()).take(8).collect();
    let remedy = match names.is_empty() {
        true => "add a [[workspace]] of this name".to_owned(),
        false => format!("name one of {}", names.join(", ")),
    };
    Err(ConfigError::at("default_workspace", format!("there is no workspace `{name}`"), remedy))
}
