//! The next steps that the details of an error have for programs, as sentences for readers of the message.
//!
//! Many hosts show a model only the message of an error. So each catalog adds to it the command that helps, the page size that fits, and
//! when to ask again. Invariant: these three sentences have one form in all catalogs, and only this module writes them.

use serde_json::{Map, Value};

use super::error::ToolError;

/// The sentence that says when to ask again, in whole seconds.
pub fn ask_again(after_ms: u64) -> String {
    format!("Ask again in {} s.", after_ms.div_ceil(1_000).max(1))
}

/// The steps in these details, each a sentence.
pub fn next_steps(details: &Map<String, Value>) -> Vec<String> {
    // A step that no command takes, such as a change of the `PATH`, marks its own words.
    let marked = |command: &str| if command.contains('`') { command.to_owned() } else { format!("`{command}`") };
    let command = details.get("command").and_then(Value::as_str).map(|command| format!("Next: {}.", marked(command)));
    let size = details.get("pageSizeThatFits").and_then(Value::as_u64);
    let size = size.map(|size| format!("A `pageSize` of {size} fits."));
    let again = details.get("retryAfterMs").and_then(Value::as_u64).map(ask_again);
    [command, size, again].into_iter().flatten().collect()
}

/// `message` with the steps in `details` that it doesn't have yet, together at most `max_chars` code points. The message is cut for them.
pub fn with_next_steps(message: &str, details: &Map<String, Value>, max_chars: usize) -> String {
    let steps: Vec<String> = next_steps(details).into_iter().filter(|step| !message.contains(step.as_str())).collect();
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    if steps.is_empty() {
        return cut(message, max_chars);
    }
    let steps = steps.join(" ");
    // A full stop and a space.
    let room = max_chars.saturating_sub(steps.chars().count() + 2);
    let mut text = cut(message, room);
    if !text.is_empty() {
        text.push_str(if text.ends_with(['.', '!', '?']) { " " } else { ". " });
    }
    text.push_str(&steps);
    cut(&text, max_chars)
}

impl ToolError {
    /// The message with its next steps, at most `max_chars` code points.
    pub fn message_with_steps(&self, max_chars: usize) -> String {
        with_next_steps(&self.message, &self.details, max_chars)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_in_a_step_are_marked_once() {
        let details = json!({"command": "put `python3` on the PATH"});
        assert_eq!(next_steps(details.as_object().unwrap()), ["Next: put `python3` on the PATH."]);
    }

    #[test]
    fn steps_follow_the_message_once_and_are_never_cut() {
        let details =
            json!({"command": "codeyard doctor", "pageSizeThatFits": 30, "retryAfterMs": 2_001, "reason": "r"});
        let details = details.as_object().unwrap();
        let steps = "Next: `codeyard doctor`. A `pageSize` of 30 fits. Ask again in 3 s.";
        assert_eq!(with_next_steps("it failed", details, 500), format!("it failed. {steps}"));
        assert_eq!(with_next_steps("It failed.", details, 500), format!("It failed. {steps}"));
        assert_eq!(with_next_steps(steps, details, 500), steps);
        let long = with_next_steps(&"é".repeat(900), details, 100);
        assert!(long.ends_with(steps) && long.chars().count() == 100, "{long}");
        assert_eq!(with_next_steps("m", &Map::new(), 500), "m");
        assert_eq!((ask_again(0), ask_again(1_000)), ("Ask again in 1 s.".to_owned(), "Ask again in 1 s.".to_owned()));
    }
}
