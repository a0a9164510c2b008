//! Notifications about a server's readiness, parsed from their parameters, and the progress text that clients see.
//!
//! Invariants: an unreadable notification gives no event, never an error; a token is at most [`MAX_TOKEN_BYTES`]
//! long; the shown text is short, has no control characters and contains no absolute path.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::methods;

/// Longer tokens are cut. Real ones have a few dozen bytes.
const MAX_TOKEN_BYTES: usize = 256;
/// Longer titles and messages aren't shown. In code points.
const MAX_SHOWN_CHARS: usize = 80;
/// Longer log messages are cut. In bytes.
const MAX_LOG_BYTES: usize = 4_096;

/// A notification about readiness.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadinessEvent {
    /// `$/progress`.
    Progress {
        /// The progress token; a number in decimal.
        token: String,
        progress: WorkDoneProgress,
    },
    /// `experimental/serverStatus`.
    ServerStatus {
        /// The server has finished all background work.
        quiescent: bool,
        /// `ok`, `warning` or `error`.
        health: String,
    },
    /// `window/logMessage`.
    LogMessage(String),
}

/// The value of a `$/progress` notification.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkDoneProgress {
    Begin {
        title: String,
        message: Option<String>,
        /// The share that is done, 0 to 100.
        percentage: Option<u32>,
    },
    /// Work continues.
    Report {
        message: Option<String>,
        /// The share that is done, 0 to 100.
        percentage: Option<u32>,
    },
    End,
}

impl WorkDoneProgress {
    /// The title, if work began.
    pub fn title(&self) -> Option<&str> {
        if let Self::Begin { title, .. } = self { Some(title) } else { None }
    }

    /// Whether work ended.
    pub fn is_end(&self) -> bool {
        *self == Self::End
    }
}

/// Parses a notification; `None` if it isn't about readiness. Partial results of requests come as `$/progress` too.
pub fn parse_notification(method: &str, params: &RawValue) -> Option<ReadinessEvent> {
    match method {
        methods::PROGRESS => progress(params),
        methods::SERVER_STATUS => {
            let status: StatusFields = serde_json::from_str(params.get()).ok()?;
            Some(ReadinessEvent::ServerStatus {
                quiescent: status.quiescent,
                health: status.health.unwrap_or_default(),
            })
        }
        methods::LOG_MESSAGE => {
            let LogFields { mut message } = serde_json::from_str(params.get()).ok()?;
            cut(&mut message, MAX_LOG_BYTES);
            Some(ReadinessEvent::LogMessage(message))
        }
        _ => None,
    }
}

#[derive(Deserialize)]
struct ProgressFields {
    token: TokenText,
    value: ProgressValue,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TokenText {
    Text(String),
    Number(i64),
}

#[derive(Deserialize)]
struct ProgressValue {
    kind: ProgressKind,
    title: Option<String>,
    message: Option<String>,
    percentage: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ProgressKind {
    Begin,
    Report,
    End,
}

#[derive(Deserialize)]
struct StatusFields {
    quiescent: bool,
    health: Option<String>,
}

#[derive(Deserialize)]
struct LogFields {
    message: String,
}

fn progress(params: &RawValue) -> Option<ReadinessEvent> {
    let ProgressFields { token, value } = serde_json::from_str(params.get()).ok()?;
    let mut token = match token {
        TokenText::Text(text) => text,
        TokenText::Number(number) => number.to_string(),
    };
    cut(&mut token, MAX_TOKEN_BYTES);
    // Casting a float saturates, so no value from a server is out of range.
    let percentage = value.percentage.map(|share| (share as u32).min(100));
    let progress = match value.kind {
        ProgressKind::Begin => {
            WorkDoneProgress::Begin { title: value.title.unwrap_or_default(), message: value.message, percentage }
        }
        ProgressKind::Report => WorkDoneProgress::Report { message: value.message, percentage },
        ProgressKind::End => WorkDoneProgress::End,
    };
    Some(ReadinessEvent::Progress { token, progress })
}

fn cut(text: &mut String, bytes: usize) {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}

/// The text shown for one token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ProgressLabel {
    title: Option<String>,
    message: Option<String>,
    percentage: Option<u32>,
}

impl ProgressLabel {
    /// Takes the fields of a notification over; fields that it leaves out stay.
    pub(super) fn update(&mut self, progress: &WorkDoneProgress) {
        let (message, percentage) = match progress {
            WorkDoneProgress::Begin { title, message, percentage } => {
                *self = Self { title: presentable(title), ..Self::default() };
                (message, percentage)
            }
            WorkDoneProgress::Report { message, percentage } => (message, percentage),
            WorkDoneProgress::End => return,
        };
        if let Some(message) = message {
            self.message = presentable(message);
        }
        self.percentage = percentage.or(self.percentage);
    }

    /// `title percentage% (message)`, without the parts that are missing.
    pub(super) fn text(&self) -> Option<String> {
        let percentage = self.percentage.map(|share| format!("{share}%"));
        let message = self.message.as_ref().map(|message| format!("({message})"));
        let parts: Vec<String> = [self.title.clone(), percentage, message].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }
}

/// The text if it may be shown to a client: short, printable, and without anything that could be an absolute path. A
/// slash is harmless between two words (`120/324`, `JS/TS`), but not at the start of a word.
fn presentable(text: &str) -> Option<String> {
    let text = text.trim();
    let after_word = |at: usize| text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
    let names_path = text.contains('\\') || text.match_indices('/').any(|(at, _)| !after_word(at));
    let fits = !text.is_empty() && text.chars().count() <= MAX_SHOWN_CHARS && !text.contains(char::is_control);
    (fits && !names_path).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &str, json: &str) -> Option<ReadinessEvent> {
        parse_notification(method, serde_json::from_str(json).expect("the test's JSON"))
    }

    fn report(token: &str, message: Option<&str>, percentage: Option<u32>) -> ReadinessEvent {
        let message = message.map(str::to_owned);
        ReadinessEvent::Progress { token: token.into(), progress: WorkDoneProgress::Report { message, percentage } }
    }

    #[test]
    fn progress_of_every_kind() {
        let begin =
            WorkDoneProgress::Begin { title: "Indexing".into(), message: Some("0/3".into()), percentage: Some(0) };
        assert_eq!(
            read(
                "$/progress",
                r#"{"token":"t","value":{"kind":"begin","title":"Indexing","cancellable":false,"message":"0/3","percentage":0}}"#
            ),
            Some(ReadinessEvent::Progress { token: "t".into(), progress: begin })
        );
        for (value, wanted) in [
            (r#"{"kind":"report"}"#, report("-7", None, None)),
            (r#"{"kind":"report","message":"m","percentage":250}"#, report("-7", Some("m"), Some(100))),
            (r#"{"kind":"report","percentage":37.6}"#, report("-7", None, Some(37))),
            (r#"{"kind":"report","percentage":-1}"#, report("-7", None, Some(0))),
            (
                r#"{"kind":"end","message":"done"}"#,
                ReadinessEvent::Progress { token: "-7".into(), progress: WorkDoneProgress::End },
            ),
        ] {
            assert_eq!(read("$/progress", &format!(r#"{{"token":-7,"value":{value}}}"#)), Some(wanted), "{value}");
        }
    }

    #[test]
    fn statuses_and_log_lines() {
        let status = |quiescent, health: &str| Some(ReadinessEvent::ServerStatus { quiescent, health: health.into() });
        let method = "experimental/serverStatus";
        assert_eq!(read(method, r#"{"health":"ok","quiescent":true,"message":null}"#), status(true, "ok"));
        assert_eq!(read(method, r#"{"quiescent":false}"#), status(false, ""));
        let line = Some(ReadinessEvent::LogMessage("Found 3 source files".into()));
        assert_eq!(read("window/logMessage", r#"{"type":3,"message":"Found 3 source files"}"#), line);
        let long = format!(r#"{{"type":3,"message":"a{}"}}"#, "é".repeat(MAX_LOG_BYTES));
        let Some(ReadinessEvent::LogMessage(cut)) = read("window/logMessage", &long) else { panic!("a log line") };
        assert_eq!(cut.len(), MAX_LOG_BYTES - 1);
    }

    #[test]
    fn anything_else_is_no_event() {
        for (method, json) in [
            ("$/progress", r#"{"token":"t","value":[1,2]}"#),
            ("$/progress", r#"{"token":"t","value":{"items":[]}}"#),
            ("$/progress", r#"{"token":"t","value":{"kind":"other"}}"#),
            ("$/progress", r#"{"token":null,"value":{"kind":"end"}}"#),
            ("$/progress", r#"{"token":1.5,"value":{"kind":"end"}}"#),
            ("$/progress", r#"{"value":{"kind":"end"}}"#),
            ("$/progress", "null"),
            ("experimental/serverStatus", r#"{"health":"ok"}"#),
            ("experimental/serverStatus", r#"{"quiescent":"yes"}"#),
            ("window/logMessage", r#"{"message":1}"#),
            ("window/showMessage", r#"{"type":3,"message":"m"}"#),
        ] {
            assert_eq!(read(method, json), None, "{method} {json}");
        }
    }

    #[test]
    fn long_tokens_are_cut_at_a_character() {
        let json = format!(r#"{{"token":"a{}","value":{{"kind":"end"}}}}"#, "é".repeat(MAX_TOKEN_BYTES));
        let Some(ReadinessEvent::Progress { token, .. }) = read("$/progress", &json) else { panic!("progress") };
        assert_eq!(token.len(), MAX_TOKEN_BYTES - 1);
    }

    fn label(title: &str, message: &str, percentage: Option<u32>) -> Option<String> {
        let mut label = ProgressLabel::default();
        label.update(&WorkDoneProgress::Begin { title: title.into(), message: Some(message.into()), percentage });
        label.text()
    }

    #[test]
    fn shown_text_contains_no_absolute_path() {
        let shown = |text: &str| label(text, "", None);
        for harmless in ["Indexing", "Initializing JS/TS language features…", "12/300 (core)", "src/lib.rs"] {
            assert_eq!(shown(harmless), Some(harmless.to_owned()));
        }
        for path in ["/etc", "Loading /etc/x", "(/etc)", "file:///etc", "~/x", "../../etc", "C:\\x", "a\nb", "a=/b", ""]
        {
            assert_eq!(shown(path), None, "{path:?}");
        }
        assert_eq!(shown(&"é".repeat(MAX_SHOWN_CHARS)).map(|text| text.chars().count()), Some(MAX_SHOWN_CHARS));
        assert_eq!(shown(&"é".repeat(MAX_SHOWN_CHARS + 1)), None);
    }

    #[test]
    fn text_keeps_the_fields_that_a_report_leaves_out() {
        assert_eq!(label("Indexing", "120/324", Some(37)).unwrap(), "Indexing 37% (120/324)");
        assert_eq!(label("Indexing", "/root", Some(37)).unwrap(), "Indexing 37%");
        assert_eq!(label("", "120/324", None).unwrap(), "(120/324)");
        assert_eq!(label("", "", None), None);
        let mut label = ProgressLabel::default();
        label.update(&WorkDoneProgress::Begin { title: "Indexing".into(), message: None, percentage: Some(1) });
        label.update(&WorkDoneProgress::Report { message: Some("2/9".into()), percentage: None });
        assert_eq!(label.text().unwrap(), "Indexing 1% (2/9)");
        label.update(&WorkDoneProgress::Report { message: Some("/home".into()), percentage: Some(30) });
        assert_eq!(label.text().unwrap(), "Indexing 30%");
    }
}
