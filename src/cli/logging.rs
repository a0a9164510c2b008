//! Log lines on standard error: text for people or JSON, as the configuration says.
//!
//! Standard output is never written to: on stdio it belongs to MCP. Lines are written by a thread of their own, so that a
//! reader of standard error who stops reading stops nobody.

use std::io::IsTerminal;
use std::sync::{Arc, OnceLock};

use tracing_subscriber::EnvFilter;

use codeyard_config::{LogFormat, LogLevel, LogSection};
use codeyard_telemetry::{CallLog, LineFormat, LineWriter, LogQueue};

/// What carries our telemetry mustn't tell of itself by telemetry; its warnings are enough.
const QUIET: &str = "h2=warn,hyper=warn,hyper_util=warn,opentelemetry=off,opentelemetry_otlp=off,\
                     opentelemetry_sdk=off,reqwest=warn,rustls=warn,tonic=warn,tower=warn";

static INSTALLED: OnceLock<Arc<LogQueue>> = OnceLock::new();

/// Writes what is left when it is dropped, for a short while.
#[must_use = "dropping it flushes the log"]
pub(crate) struct Flush;

impl Drop for Flush {
    fn drop(&mut self) {
        if let Some(queue) = INSTALLED.get() {
            queue.flush();
        }
    }
}

/// Installs the process's log. `CODEYARD_LOG` wins over the configuration's level and filter. A second call changes nothing.
pub(crate) fn install(log: &LogSection) -> Flush {
    let terminal = std::io::stderr().is_terminal();
    let format = match log.format {
        LogFormat::Json => LineFormat::Json,
        LogFormat::Text => LineFormat::Text,
        LogFormat::Auto if terminal => LineFormat::Text,
        LogFormat::Auto => LineFormat::Json,
    };
    let Ok(queue) = LogQueue::start(format, std::io::stderr()) else { return Flush };
    let (filter, wrong) = filter(log, std::env::var("CODEYARD_LOG").ok());
    let writer = LineWriter(queue.clone());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || writer.clone());
    let installed = match format {
        LineFormat::Json => builder.json().flatten_event(true).try_init(),
        LineFormat::Text => builder.with_ansi(terminal).try_init(),
    };
    if installed.is_ok() {
        drop(INSTALLED.set(queue));
    }
    if let Some(wrong) = wrong {
        tracing::warn!("{wrong} is ignored: it must be directives such as info or warn or codeyard=debug");
    }
    Flush
}

/// Where finished calls are logged, once a log is installed.
pub(crate) fn calls() -> Option<Arc<dyn CallLog>> {
    INSTALLED.get().map(|queue| queue.clone() as Arc<dyn CallLog>)
}

/// Whether these are directives of a filter.
pub(crate) fn is_filter(directives: &str) -> bool {
    directives.trim().is_empty() || EnvFilter::try_new(directives).is_ok()
}

/// The filter, and which of its sources is wrong.
fn filter(log: &LogSection, variable: Option<String>) -> (EnvFilter, Option<&'static str>) {
    let level = log.level.as_str();
    let base = match log.level {
        LogLevel::Error | LogLevel::Warn => level.to_owned(),
        _ => format!("{level},{QUIET}"),
    };
    let sources = [("CODEYARD_LOG", variable.as_deref().unwrap_or("")), ("log.filter", log.filter.as_str())];
    let mut wrong = None;
    for (name, directives) in sources.into_iter().filter(|(_, directives)| !directives.trim().is_empty()) {
        match EnvFilter::try_new(format!("{base},{directives}")) {
            Ok(filter) => return (filter, wrong),
            Err(_) => wrong = wrong.or(Some(name)),
        }
    }
    (EnvFilter::new(base), wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_comes_before_the_configuration_and_a_wrong_one_is_named() {
        let log = |filter: &str| LogSection { filter: filter.into(), ..LogSection::default() };
        let read = |log: &LogSection, variable: Option<&str>| {
            let (filter, wrong) = filter(log, variable.map(str::to_owned));
            (filter.to_string(), wrong)
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
