//! Notifications that tell of a server's readiness, read from their parameters, and the text shown of its progress.
//!
//! Invariants: what can't be read is no event, never an error; a token is at most [`MAX_TOKEN_BYTES`] long; shown text is
//! short, has no control characters and names no absolute path.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::methods;

/// Longer tokens are cut; real ones are a few dozen bytes.
const MAX_TOKEN_BYTES: usize = 256;
/// Longer titles and messages aren't shown, in code points.
const MAX_SHOWN_CHARS: usize = 80;
/// Longer log lines are only looked at so far, in bytes.
const MAX_LOG_BYTES: usize = 4_096;

/// What a server said of its readiness.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadinessEvent {
    /// `$/progress`.
    Progress {
        /// Whose progress; numbers in decimal.
        token: String,
        /// What of it.
        progress: Progress,
    },
    /// `experimental/serverStatus`.
    ServerStatus {
        /// Nothing is going on any more.
        quiescent: bool,
        /// `ok`, `warning` or `error`.
        health: String,
    },
    /// `window/logMessage`.
    LogMessage(String),
}

/// What a `$/progress` notification says.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// Work begins.
    Begin {
        /// What work.
        title: String,
        /// What is done right now.
        message: Option<String>,
        /// How much is done.
        percentage: Option<u32>,
    },
    /// Work goes on.
    Report {
        /// What is done right now.
        message: Option<String>,
        /// How much is done.
        percentage: Option<u32>,
    },
    /// Work is over.
    End,
}

impl Progress {
    /// The title, of a beginning.
    pub fn title(&self) -> Option<&str> {
        if let Self::Begin { title, .. } = self { Some(title) } else { None }
    }

    /// Whether work is over.
    pub fn is_end(&self) -> bool {
        *self == Self::End
    }
}

/// Reads a notification; `None` if it tells nothing of readiness. Partial results of requests are `$/progress` too.
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
    kind: Kind,
    title: Option<String>,
    message: Option<String>,
    percentage: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
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
    // A float is cast saturating, so nothing a server sends is out of range.
    let percentage = value.percentage.map(|share| (share as u32).min(100));
    let progress = match value.kind {
        Kind::Begin => Progress::Begin { title: value.title.unwrap_or_default(), message: value.message, percentage },
        Kind::Report => Progress::Report { message: value.message, percentage },
        Kind::End => Progress::End,
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

/// What is shown of one token's progress.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Label {
    title: Option<String>,
    message: Option<String>,
    percentage: Option<u32>,
}

impl Label {
    /// Takes over what a notification says; what it leaves out stays.
    pub(super) fn update(&mut self, progress: &Progress) {
        let (message, percentage) = match progress {
            Progress::Begin { title, message, percentage } => {
                *self = Self { title: showable(title), ..Self::default() };
                (message, percentage)
            }
            Progress::Report { message, percentage } => (message, percentage),
            Progress::End => return,
        };
        if let Some(message) = message {
            self.message = showable(message);
        }
        self.percentage = percentage.or(self.percentage);
    }

    /// `title percentage% (message)`, as much of it as there is.
    pub(super) fn text(&self) -> Option<String> {
        let percentage = self.percentage.map(|share| format!("{share}%"));
        let message = self.message.as_ref().map(|message| format!("({message})"));
        let parts: Vec<String> = [self.title.clone(), percentage, message].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }
}

/// The text if it may be shown to a client: short, printable, and without anything that could be an absolute path. A slash
/// is harmless between two words (`120/324`, `JS/TS`), not at a word's beginning.
fn showable(text: &str) -> Option<String> {
    let text = text.trim();
    let after_word = |at: usize| text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
    let names_path = text.contains('\\') || text.match_indices('/').any(|(at, _)| !after_word(at));
    let fits = !text.is_empty() && text.chars().count() <= MAX_SHOWN_CHARS && !text.contains(char::is_control);
    (fits && !names_path).then(|| text.to_owned())
}
