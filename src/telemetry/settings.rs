//! The settings of the standard `OTEL_*` variables.
//!
//! The module doesn't read the environment: a function supplies the variables. Invariants: an unusable value gives one warning that names
//! its variable, and the default is used; no warning repeats a header or a part of a URL.

mod values;

use std::path::PathBuf;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};

use super::sampler::Sampler;
use crate::limits;

/// Spans of one export, unless the environment sets another number.
const SPAN_BATCH: usize = 512;
/// The most spans of one export that the environment can set.
const MAX_SPAN_BATCH: usize = 8_192;
/// A span waits this long for others, in milliseconds, unless the environment sets another time.
const SPAN_BATCH_DELAY_MS: u64 = 5_000;
/// Time of one export of spans, in milliseconds, unless the environment sets another one.
const SPAN_EXPORT_TIMEOUT_MS: u64 = 30_000;
/// Time of one OTLP request with its retries, in milliseconds, unless the environment sets another one.
const OTLP_TIMEOUT_MS: u64 = 10_000;
/// Time between two exports of metrics, in milliseconds, unless the environment sets another one.
const METRIC_INTERVAL_MS: u64 = 60_000;
/// Time of one export of metrics, in milliseconds, unless the environment sets another one.
const METRIC_EXPORT_TIMEOUT_MS: u64 = 30_000;
/// The longest time that the environment can set, in milliseconds.
const MAX_TELEMETRY_MS: u64 = 3_600_000;

/// Length of a wrong value in a warning, in characters. A longer one is cut.
const SHOWN_VALUE: usize = 64;

/// The export that the environment configures.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The receiver of traces; `None` exports none.
    pub traces: Option<Destination>,
    /// The receiver of metrics; `None` exports none.
    pub metrics: Option<Destination>,
    /// Decides which calls are traced.
    pub sampler: Sampler,
    /// Attributes of the resource, the service's name among them.
    pub resource: Vec<(String, String)>,
    pub batch: Batch,
    /// Time between two exports of metrics.
    pub metric_interval: Duration,
    /// Timeout of one export of metrics.
    pub metric_timeout: Duration,
}

/// An OTLP receiver.
#[derive(Clone, PartialEq, Eq)]
pub struct Destination {
    pub protocol: Protocol,
    /// Its URL; for HTTP with the path of the signal.
    pub endpoint: String,
    /// Headers of every request. They can be secrets.
    pub headers: Vec<(String, String)>,
    /// Timeout of one request, with its retries.
    pub timeout: Duration,
    /// A PEM file with the trusted certificates.
    pub certificate: Option<CertificateFile>,
}

/// A PEM file, and the variable that names it.
#[derive(Clone, PartialEq, Eq)]
pub struct CertificateFile {
    /// The variable, for warnings. They don't repeat the path.
    pub variable: String,
    pub path: PathBuf,
}

/// The transport of OTLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `http/protobuf`
    Http,
    Grpc,
}

/// How spans are batched (`OTEL_BSP_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// The time that a span waits for others.
    pub delay: Duration,
    /// Spans in the queue. Further ones are dropped and counted.
    pub queue: usize,
    pub size: usize,
    pub timeout: Duration,
}

/// A signal, as variables and paths spell it.
#[derive(Clone, Copy)]
struct Signal {
    name: &'static str,
    path: &'static str,
}

const TRACES: Signal = Signal { name: "TRACES", path: "v1/traces" };
const METRICS: Signal = Signal { name: "METRICS", path: "v1/metrics" };

impl std::fmt::Debug for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Destination").field("protocol", &self.protocol).finish_non_exhaustive()
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(SPAN_BATCH_DELAY_MS),
            queue: limits::SPAN_QUEUE,
            size: SPAN_BATCH,
            timeout: Duration::from_millis(SPAN_EXPORT_TIMEOUT_MS),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            traces: None,
            metrics: None,
            sampler: Sampler::default(),
            resource: vec![("service.name".to_owned(), "codeyard".to_owned())],
            batch: Batch::default(),
            metric_interval: Duration::from_millis(METRIC_INTERVAL_MS),
            metric_timeout: Duration::from_millis(METRIC_EXPORT_TIMEOUT_MS),
        }
    }
}

impl Settings {
    /// Reads the settings from `variable`. The second value holds the warnings.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> (Self, Vec<String>) {
        let mut reader = VariableReader { variable: &variable, warnings: Vec::new() };
        let settings = reader.settings();
        (settings, reader.warnings)
    }
}

struct VariableReader<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    warnings: Vec<String>,
}

impl VariableReader<'_> {
    fn settings(&mut self) -> Settings {
        let resource = self.resource();
        if self.is_disabled() {
            return Settings { resource, ..Settings::default() };
        }
        Settings {
            traces: self.destination(TRACES),
            metrics: self.destination(METRICS),
            sampler: self.sampler(),
            resource,
            batch: self.batch(),
            metric_interval: self.duration(&["OTEL_METRIC_EXPORT_INTERVAL"], METRIC_INTERVAL_MS),
            metric_timeout: self.duration(&["OTEL_METRIC_EXPORT_TIMEOUT"], METRIC_EXPORT_TIMEOUT_MS),
        }
    }

    /// The value of a variable; an empty one counts as unset.
    fn get(&self, name: &str) -> Option<String> {
        (self.variable)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// The first of these variables that is set, with its name.
    fn first(&self, names: &[String]) -> Option<(String, String)> {
        names.iter().find_map(|name| Some((name.clone(), self.get(name)?)))
    }

    fn warn(&mut self, name: &str, value: &str, expected: &str) {
        let shown: String = value.chars().take(SHOWN_VALUE).collect();
        self.add_warning(format!("{name}={shown:?} is ignored: {expected}"));
    }

    /// Adds a warning. Both signals read the common variables, so an equal warning is added once.
    fn add_warning(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn is_disabled(&mut self) -> bool {
        let name = "OTEL_SDK_DISABLED";
        let Some(value) = self.get(name) else { return false };
        if !value.eq_ignore_ascii_case("true") && !value.eq_ignore_ascii_case("false") {
            self.warn(name, &value, "it must be true or false");
        }
        value.eq_ignore_ascii_case("true")
    }

    /// The receiver of a signal. Export is off unless an exporter or an endpoint is set.
    fn destination(&mut self, signal: Signal) -> Option<Destination> {
        let of_signal = of_signal(signal, "ENDPOINT");
        let endpoint = self.first(&of_signal);
        let chooser = format!("OTEL_{}_EXPORTER", signal.name);
        match self.get(&chooser).as_deref() {
            Some("otlp") => {}
            Some("none") => return None,
            None => _ = endpoint.as_ref()?,
            Some(other) => {
                self.warn(&chooser, other, "it must be otlp or none; nothing is exported");
                return None;
            }
        }
        let protocol = self.protocol(signal);
        let endpoint = match endpoint {
            Some((name, url)) => self.endpoint(signal, protocol, &name, &url)?,
            None if protocol == Protocol::Grpc => "http://localhost:4317".to_owned(),
            None => format!("http://localhost:4318/{}", signal.path),
        };
        self.warn_unsupported(signal);
        let certificate = self.first(&self::of_signal(signal, "CERTIFICATE"));
        let certificate = certificate.map(|(variable, path)| CertificateFile { variable, path: path.into() });
        let names = self::of_signal(signal, "TIMEOUT");
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let timeout = self.duration(&names, OTLP_TIMEOUT_MS);
        Some(Destination { protocol, endpoint, headers: self.headers(signal), timeout, certificate })
    }

    fn protocol(&mut self, signal: Signal) -> Protocol {
        match self.first(&of_signal(signal, "PROTOCOL")) {
            Some((_, value)) if value == "grpc" => Protocol::Grpc,
            Some((name, value)) if value != "http/protobuf" => {
                self.warn(&name, &value, "it must be http/protobuf or grpc; http/protobuf is used");
                Protocol::Http
            }
            _ => Protocol::Http,
        }
    }

    /// The URL of the receiver. For HTTP the signal's path is appended to the common endpoint; the signal's own endpoint is used as it is.
    fn endpoint(&mut self, signal: Signal, protocol: Protocol, name: &str, url: &str) -> Option<String> {
        let is_insecure = self.is_insecure(signal);
        let host_only = protocol == Protocol::Grpc && !url.contains('/');
        let scheme = if is_insecure { "http" } else { "https" };
        let text = if host_only { format!("{scheme}://{url}") } else { url.to_owned() };
        match values::url(&text) {
            Ok(mut url) => {
                if name == "OTEL_EXPORTER_OTLP_ENDPOINT" && protocol == Protocol::Http {
                    url.set_path(&format!("{}/{}", url.path().trim_end_matches('/'), signal.path));
                }
                Some(url.into())
            }
            Err(wrong) => {
                self.add_warning(format!("{name} is ignored: {wrong}; nothing is exported"));
                None
            }
        }
    }

    fn is_insecure(&mut self, signal: Signal) -> bool {
        let Some((name, value)) = self.first(&of_signal(signal, "INSECURE")) else { return false };
        if !value.eq_ignore_ascii_case("true") && !value.eq_ignore_ascii_case("false") {
            self.warn(&name, &value, "it must be true or false; false is used");
        }
        value.eq_ignore_ascii_case("true")
    }

    fn warn_unsupported(&mut self, signal: Signal) {
        if let Some((name, value)) = self.first(&of_signal(signal, "COMPRESSION")).filter(|(_, value)| value != "none")
        {
            self.warn(&name, &value, "compression isn't built in; requests are sent as they are");
        }
        for name in ["CLIENT_KEY", "CLIENT_CERTIFICATE"] {
            if let Some((name, _)) = self.first(&of_signal(signal, name)) {
                self.add_warning(format!("{name} is ignored: client certificates aren't built in"));
            }
        }
    }

    fn headers(&mut self, signal: Signal) -> Vec<(String, String)> {
        let Some((name, text)) = self.first(&of_signal(signal, "HEADERS")) else { return Vec::new() };
        let (mut pairs, mut wrong) = values::pairs(&text);
        let found = pairs.len();
        pairs.retain(|(name, value)| name.parse::<HeaderName>().is_ok() && HeaderValue::from_str(value).is_ok());
        wrong += found - pairs.len();
        if wrong > 0 {
            self.add_warning(format!(
                "{name}: {wrong} entries are ignored: each must be key=value and fit an HTTP header"
            ));
        }
        pairs
    }

    fn resource(&mut self) -> Vec<(String, String)> {
        let name = "OTEL_RESOURCE_ATTRIBUTES";
        let (mut attributes, wrong) = self.get(name).map(|text| values::pairs(&text)).unwrap_or_default();
        if wrong > 0 {
            self.add_warning(format!("{name}: {wrong} entries are ignored: each must be key=value"));
        }
        let service = self.get("OTEL_SERVICE_NAME");
        let named = attributes.iter().position(|(key, _)| key == "service.name").map(|at| attributes.remove(at).1);
        let service = service.or(named).unwrap_or_else(|| "codeyard".to_owned());
        attributes.retain(|(key, _)| key != "service.name");
        attributes.insert(0, ("service.name".to_owned(), service));
        attributes
    }

    fn sampler(&mut self) -> Sampler {
        let name = "OTEL_TRACES_SAMPLER";
        let Some(kind) = self.get(name) else { return Sampler::default() };
        let ratio = if kind.ends_with("traceidratio") { self.ratio() } else { 1.0 };
        Sampler::named(&kind, ratio).unwrap_or_else(|| {
            self.warn(
                name,
                &kind,
                "it must be always_on, always_off or traceidratio, or one of these after parentbased_; \
                 parentbased_always_on is used",
            );
            Sampler::default()
        })
    }

    fn ratio(&mut self) -> f64 {
        let name = "OTEL_TRACES_SAMPLER_ARG";
        let Some(text) = self.get(name) else { return 1.0 };
        match text.parse::<f64>() {
            Ok(ratio) if (0.0..=1.0).contains(&ratio) => ratio,
            _ => {
                self.warn(name, &text, "it must be a number from 0 to 1; 1 is used");
                1.0
            }
        }
    }

    fn batch(&mut self) -> Batch {
        let queue = self.whole("OTEL_BSP_MAX_QUEUE_SIZE", limits::SPAN_QUEUE, limits::MAX_SPAN_QUEUE);
        let size = self.whole("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", SPAN_BATCH.min(queue), MAX_SPAN_BATCH.min(queue));
        Batch {
            delay: self.duration(&["OTEL_BSP_SCHEDULE_DELAY"], SPAN_BATCH_DELAY_MS),
            queue,
            size,
            timeout: self.duration(&["OTEL_BSP_EXPORT_TIMEOUT"], SPAN_EXPORT_TIMEOUT_MS),
        }
    }

    /// A number from 1 to `most`.
    fn whole(&mut self, name: &str, default: usize, most: usize) -> usize {
        let Some(text) = self.get(name) else { return default };
        match text.parse::<usize>() {
            Ok(number) if (1..=most).contains(&number) => number,
            Ok(number) if number > most => {
                self.warn(name, &text, &format!("{most} is the most, and is used"));
                most
            }
            _ => {
                self.warn(name, &text, &format!("it must be a number from 1 to {most}; {default} is used"));
                default
            }
        }
    }

    /// Milliseconds, from the first of these variables that is set.
    fn duration(&mut self, names: &[&str], default: u64) -> Duration {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let Some((name, text)) = self.first(&names) else { return Duration::from_millis(default) };
        match text.parse::<u64>() {
            Ok(ms) if (1..=MAX_TELEMETRY_MS).contains(&ms) => Duration::from_millis(ms),
            _ => {
                let most = MAX_TELEMETRY_MS;
                self.warn(&name, &text, &format!("it must be milliseconds from 1 to {most}; {default} is used"));
                Duration::from_millis(default)
            }
        }
    }
}

/// The variables of one thing: the signal's own before the common one.
fn of_signal(signal: Signal, what: &str) -> Vec<String> {
    vec![format!("OTEL_EXPORTER_OTLP_{}_{what}", signal.name), format!("OTEL_EXPORTER_OTLP_{what}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (Settings, Vec<String>) {
        Settings::from_variables(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn quiet(variables: &[(&str, &str)]) -> Settings {
        let (settings, warnings) = read(variables);
        assert_eq!(warnings, Vec::<String>::new());
        settings
    }

    #[test]
    fn off_by_default_and_on_by_an_endpoint_or_by_choice() {
        assert_eq!(quiet(&[]), Settings::default());
        let by_endpoint = quiet(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1/base/")]);
        assert_eq!(by_endpoint.traces.unwrap().endpoint, "http://c:1/base/v1/traces");
        assert_eq!(by_endpoint.metrics.unwrap().endpoint, "http://c:1/base/v1/metrics");
        let own = quiet(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c:1/in")]);
        assert_eq!((own.traces.unwrap().endpoint.as_str(), own.metrics), ("https://c:1/in", None));
        let chosen = quiet(&[("OTEL_METRICS_EXPORTER", "otlp")]);
        assert_eq!(chosen.metrics.unwrap().endpoint, "http://localhost:4318/v1/metrics");
        let grpc = quiet(&[("OTEL_TRACES_EXPORTER", "otlp"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
        assert_eq!(grpc.traces.unwrap().endpoint, "http://localhost:4317");
        let refused = quiet(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1"), ("OTEL_TRACES_EXPORTER", "none")]);
        assert!(refused.traces.is_none() && refused.metrics.is_some());
        for disabled in ["true", "TRUE"] {
            let off = quiet(&[("OTEL_SDK_DISABLED", disabled), ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1")]);
            assert!(off.traces.is_none() && off.metrics.is_none());
        }
        assert!(quiet(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]).traces.is_none(), "empty is unset");
    }

    #[test]
    fn the_variable_of_the_signal_comes_first() {
        let settings = quiet(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=1"),
            ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "b=x%20y, c=2"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "100"),
            ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "200"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/c.pem"),
        ]);
        let traces = settings.traces.unwrap();
        let metrics = settings.metrics.unwrap();
        assert_eq!((traces.protocol, metrics.protocol), (Protocol::Http, Protocol::Grpc));
        assert_eq!((traces.endpoint.as_str(), metrics.endpoint.as_str()), ("http://c:1/v1/traces", "http://c:1/"));
        assert_eq!(traces.headers, [("a".to_owned(), "1".to_owned())]);
        assert_eq!(metrics.headers, [("b".to_owned(), "x y".to_owned()), ("c".to_owned(), "2".to_owned())]);
        assert_eq!((traces.timeout.as_millis(), metrics.timeout.as_millis()), (100, 200));
        let certificate = traces.certificate.unwrap();
        assert_eq!(certificate.variable, "OTEL_EXPORTER_OTLP_CERTIFICATE");
        assert_eq!(certificate.path, PathBuf::from("/c.pem"));
    }

    #[test]
    fn a_grpc_endpoint_may_be_a_host_and_a_port() {
        let of = |more: &[(&str, &str)]| {
            let mut all = vec![("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4317")];
            all.extend(more);
            quiet(&all).traces.unwrap().endpoint
        };
        assert_eq!(of(&[]), "https://c:4317/");
        assert_eq!(of(&[("OTEL_EXPORTER_OTLP_INSECURE", "true")]), "http://c:4317/");
        let (settings, warnings) = read(&[
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4317"),
            ("OTEL_EXPORTER_OTLP_INSECURE", "maybe"),
        ]);
        assert_eq!(settings.traces.unwrap().endpoint, "https://c:4317/");
        assert!(warnings.len() == 1 && warnings[0].contains("OTEL_EXPORTER_OTLP_INSECURE"), "{warnings:?}");
    }

    #[test]
    fn a_wrong_endpoint_gives_one_warning_without_its_text() {
        for protocol in ["http/protobuf", "grpc"] {
            for wrong in [
                "http://user:s3cret@exa mple:1",
                "http://user:s3cret@example:1",
                "https://s3cret@example",
                "user:s3cret@example:1",
                "http://exa\tmple/?token=s3cret",
                "http://",
                "http://?s3cret",
                "http://[::1",
                "http://c:99999",
                "ftp://s3cret",
                ":::",
                "/s3cret",
            ] {
                let name = "OTEL_EXPORTER_OTLP_ENDPOINT";
                let (settings, warnings) = read(&[(name, wrong), ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)]);
                assert!(settings.traces.is_none() && settings.metrics.is_none(), "{wrong} by {protocol}");
                assert!(warnings.len() == 1 && warnings[0].starts_with(name), "{wrong} by {protocol}: {warnings:?}");
                assert!(!warnings[0].contains("s3cret"), "{warnings:?}");
            }
        }
        let endpoint = |url: &str| quiet(&[("OTEL_EXPORTER_OTLP_ENDPOINT", url)]).traces.unwrap().endpoint;
        assert_eq!(endpoint("http://[::1]:4318"), "http://[::1]:4318/v1/traces");
        assert_eq!(endpoint("https://c/a?b=c"), "https://c/a/v1/traces?b=c");
    }

    #[test]
    fn an_unusable_header_is_ignored_with_one_warning() {
        for wrong in ["a b=s3cret", "é=s3cret", "x=%0d%0aevil: s3cret", "x=s3cret%00"] {
            let headers = format!("{wrong},good=1");
            let name = "OTEL_EXPORTER_OTLP_HEADERS";
            let (settings, warnings) = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1"), (name, &headers)]);
            for destination in [settings.traces, settings.metrics] {
                assert_eq!(destination.unwrap().headers, [("good".to_owned(), "1".to_owned())], "{wrong}");
            }
            assert!(warnings.len() == 1 && warnings[0].starts_with(name), "{wrong}: {warnings:?}");
            assert!(!warnings[0].contains("s3cret"), "{warnings:?}");
        }
    }

    #[test]
    fn a_wrong_value_gives_a_warning_and_the_default() {
        let wrong = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1"),
            ("OTEL_SDK_DISABLED", "maybe"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/k"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer s3cret,s3cret,a=%zz"),
            ("OTEL_RESOURCE_ATTRIBUTES", "k"),
            ("OTEL_TRACES_SAMPLER", "traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "2"),
            ("OTEL_BSP_SCHEDULE_DELAY", "-1"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "0"),
            ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "100000000"),
            ("OTEL_BSP_EXPORT_TIMEOUT", ""),
            ("OTEL_METRIC_EXPORT_INTERVAL", "x"),
            ("OTEL_METRIC_EXPORT_TIMEOUT", "0"),
        ];
        let (settings, warnings) = read(&wrong);
        let all = warnings.join("\n");
        let unnamed = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_SAMPLER", "OTEL_BSP_EXPORT_TIMEOUT"];
        for (name, _) in wrong.iter().filter(|(name, _)| !unnamed.contains(name)) {
            assert!(all.contains(name), "{name} is not named in\n{all}");
        }
        assert!(!all.contains("s3cret"), "{all}");
        let expected = Settings::default();
        assert_eq!(
            (settings.metric_interval, settings.metric_timeout),
            (expected.metric_interval, expected.metric_timeout)
        );
        assert_eq!((settings.batch.delay, settings.batch.queue), (expected.batch.delay, expected.batch.queue));
        assert_eq!(settings.batch.size, expected.batch.queue.min(MAX_SPAN_BATCH), "no batch is larger than the queue");
        assert_eq!(settings.traces.unwrap().headers, [("authorization".to_owned(), "Bearer s3cret".to_owned())]);
        for (name, value) in [
            ("OTEL_TRACES_EXPORTER", "jaeger"),
            ("OTEL_METRICS_EXPORTER", "prometheus"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4318"),
            ("OTEL_TRACES_SAMPLER", "xray"),
        ] {
            let (settings, warnings) = read(&[(name, value)]);
            assert!(warnings.iter().any(|warning| warning.contains(name)), "{name}: {warnings:?}");
            assert!(settings.traces.is_none() && settings.metrics.is_none());
        }
    }

    #[test]
    fn the_service_has_a_name() {
        let names = |variables: &[(&str, &str)]| quiet(variables).resource;
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(names(&[]), [pair("service.name", "codeyard")]);
        let attributes = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,deployment.environment.name=b%2Cc");
        let environment = pair("deployment.environment.name", "b,c");
        assert_eq!(names(&[attributes]), [pair("service.name", "a"), environment.clone()]);
        assert_eq!(names(&[attributes, ("OTEL_SERVICE_NAME", "x")]), [pair("service.name", "x"), environment]);
    }
}
