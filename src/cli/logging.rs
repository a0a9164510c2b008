//! Log lines on standard error: text for people or JSON, as the configuration says.
//!
//! Standard output is never written to: on stdio it belongs to MCP.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, LogSection};

/// Installs the process's log. `CODEYARD_LOG` wins over the configuration's level. A second call changes nothing.
pub fn install(log: &LogSection) {
    let fallback = || EnvFilter::new(log.level.as_str());
    let filter = EnvFilter::try_from_env("CODEYARD_LOG").unwrap_or_else(|_| fallback());
    let terminal = std::io::stderr().is_terminal();
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let installed = if log.format == LogFormat::Json {
        builder.json().flatten_event(true).try_init()
    } else {
        builder.with_ansi(terminal).try_init()
    };
    drop(installed);
}
