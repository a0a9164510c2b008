//! The log on standard error, as text or JSON as configured.
//! Invariants: the log never uses standard output, which belongs to MCP in `codeyard stdio`; a separate thread writes the lines, so
//! that a blocked reader of standard error blocks no other thread.

use std::io::IsTerminal;
use std::sync::{Arc, OnceLock};

use tracing_subscriber::EnvFilter;

use codeyard_config::{LogFormat, LogLevel, LogSection};
use codeyard_telemetry::{CallLog, LineFormat, LineWriter, LogQueue};

/// The crates that carry the telemetry must not produce telemetry of their own; their warnings are enough.
const QUIET: &str = "h2=warn,hyper=warn,hyper_util=warn,opentelemetry=off,opentelemetry_otlp=off,\
                     opentelemetry_sdk=off,reqwest=warn,rustls=warn,tonic=warn,tower=warn";

static INSTALLED: OnceLock<Arc<LogQueue>> = OnceLock::new();

/// Flushes the log when it is dropped; waits for a bounded time.
#[must_use = "dropping it flushes the log"]
pub(crate) struct LogFlush;

impl Drop for LogFlush {
    fn drop(&mut self) {
        flush();
    }
}

/// Writes what is queued; waits for a bounded time.
pub(crate) fn flush() {
    if let Some(queue) = INSTALLED.get() {
        queue.flush();
    }
}

/// Installs the log of the process. `CODEYARD_LOG` overrides the level and the filter of the configuration. A second call changes
/// nothing.
pub(crate) fn install(log: &LogSection) -> LogFlush {
    let terminal = std::io::stderr().is_terminal();
    let format = match log.format {
        LogFormat::Json => LineFormat::Json,
        LogFormat::Text => LineFormat::Text,
        LogFormat::Auto if terminal => LineFormat::Text,
        LogFormat::Auto => LineFormat::Json,
    };
    let Ok(queue) = LogQueue::start(format, std::io::stderr()) else { return LogFlush };
    let (filter, invalid) = filter(log, std::env::var("CODEYARD_LOG").ok());
    let writer = LineWriter(queue.clone());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || writer.clone());
    let installed = match format {
        LineFormat::Json => builder.json().flatten_event(true).try_init(),
        LineFormat::Text => builder.with_ansi(terminal).try_init(),
    };
    if installed.is_ok() {
        drop(INSTALLED.set(queue));
    }
    if let Some(invalid) = invalid {
        tracing::warn!(
            "{invalid} is ignored: it is not a valid filter; write directives such as info, warn or codeyard=debug"
        );
    }
    LogFlush
}

/// The log of finished calls, once the log is installed.
pub(crate) fn calls() -> Option<Arc<dyn CallLog>> {
    INSTALLED.get().map(|queue| queue.clone() as Arc<dyn CallLog>)
}

/// Whether `directives` is a valid log filter.
pub(crate) fn is_filter(directives: &str) -> bool {
    directives.trim().is_empty() || EnvFilter::try_new(directives).is_ok()
}

/// The active filter, and the name of the first source that is invalid.
fn filter(log: &LogSection, variable: Option<String>) -> (EnvFilter, Option<&'static str>) {
    let level = log.level.as_str();
    let base = match log.level {
        LogLevel::Error | LogLevel::Warn => level.to_owned(),
        _ => format!("{level},{QUIET}"),
    };
    let sources = [("CODEYARD_LOG", variable.as_deref().unwrap_or("")), ("log.filter", log.filter.as_str())];
    let mut invalid = None;
    for (name, directives) in sources.into_iter().filter(|(_, directives)| !directives.trim().is_empty()) {
        match EnvFilter::try_new(format!("{base},{directives}")) {
            Ok(filter) => return (filter, invalid),
            Err(_) => invalid = invalid.or(Some(name)),
        }
    }
    (EnvFilter::new(base), invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_overrides_the_configuration_and_an_invalid_source_is_reported() {
        let log = |filter: &str| LogSection { filter: filter.into(), ..LogSection::default() };
        let read = |log: &LogSection, variable: Option<&str>| {
            let (filter, invalid) = filter(log, variable.map(str::to_owned));
            (filter.to_string(), invalid)
        };
        let (plain, none) = read(&log(""), None);
        assert!(plain.contains("info") && plain.contains("tonic=warn") && none.is_none(), "{plain}");
        assert!(read(&log("codeyard=off"), None).0.contains("codeyard=off"));
        let both = read(&log("codeyard=off"), Some("codeyard=debug"));
        assert!(both.0.contains("codeyard=debug") && !both.0.contains("codeyard=off"), "{both:?}");
        assert_eq!(read(&log(""), Some("a=b=c")).1, Some("CODEYARD_LOG"));
        assert_eq!(read(&log("codeyard=loud"), None).1, Some("log.filter"));
        assert!(is_filter("") && is_filter("codeyard=off,warn") && !is_filter("codeyard=loud") && !is_filter("[["));
        let quiet = LogSection { level: LogLevel::Error, ..LogSection::default() };
        assert_eq!(read(&quiet, None).0, "error");
    }
}
