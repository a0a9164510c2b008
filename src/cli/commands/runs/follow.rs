//! Watches a run: reads its events as they come, and draws it or prints a line for each.
//!
//! Drawing and lines go to standard error; standard output is for results. Invariants: a picture is drawn over the last one only on a terminal; a
//! watcher changes nothing in the run.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use codeyard_base::clock::Instant;
use ratatui::crossterm::terminal;
use serde_json::{Value, json};

use super::event_line::event_line;
use super::picture::RunPicture;
use crate::Failure;
use crate::shared::mcp_client::{Client, ClientError};
use crate::shared::output;
use crate::shared::tool_session::call_failure;
use crate::terminal_style::{TerminalStyle, When};

/// Time between two looks at a run.
pub(super) const POLL: Duration = Duration::from_millis(150);
/// Longest time until a run that was created begins to work.
const BEGIN_LIMIT: Duration = Duration::from_secs(20);
/// Columns where the terminal doesn't say how many it has.
const USUAL_WIDTH: usize = 100;

pub(super) struct RunWatcher {
    client: Client,
    run: String,
    offset: u64,
    /// The beginning of an event whose end hasn't come yet.
    rest: String,
    picture: RunPicture,
    style: TerminalStyle,
    drawn: usize,
    began: Instant,
    is_silent: bool,
}

pub(super) fn style(color: When, is_terminal: bool) -> TerminalStyle {
    TerminalStyle::choose(color, When::Never, is_terminal, |name| std::env::var_os(name))
}

impl RunWatcher {
    /// A watcher of a run from its first event on.
    pub(super) fn new(client: Client, run: &str, color: When) -> Self {
        Self {
            client,
            run: run.to_owned(),
            offset: 0,
            rest: String::new(),
            picture: RunPicture::default(),
            style: style(color, std::io::stderr().is_terminal()),
            drawn: 0,
            began: Instant::now(),
            is_silent: false,
        }
    }

    /// Reads what has happened so far without a line for it.
    pub(super) async fn skip(&mut self) -> Result<(), Failure> {
        self.is_silent = true;
        let done = self.read().await;
        self.is_silent = false;
        done
    }

    /// Watches until the run needs a decision, and returns its status.
    pub(super) async fn until_settled(&mut self) -> Result<Value, Failure> {
        loop {
            let status = self.look().await?;
            // A run that was created just now may not have begun yet.
            let is_new =
                status["state"] == "CREATED" && status["activity"].is_null() && status["interrupted"].is_null();
            let may_begin = is_new && self.began.elapsed() < BEGIN_LIMIT;
            if is_settled(&status) && !may_begin {
                // Events that came between the two answers.
                self.read().await?;
                self.draw(&status);
                return Ok(status);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Watches while `call` is carried out.
    pub(super) async fn during(
        &mut self,
        call: impl Future<Output = Result<Value, ClientError>>,
    ) -> Result<Value, Failure> {
        let mut call = std::pin::pin!(call);
        let answered = loop {
            tokio::select! {
                answered = &mut call => break answered,
                () = tokio::time::sleep(POLL) => drop(self.look().await?),
            }
        };
        self.look().await?;
        answered.map_err(|error| call_failure(&error))
    }

    /// Reads new events and the status, and draws.
    async fn look(&mut self) -> Result<Value, Failure> {
        self.read().await?;
        let status = self.status().await?;
        self.draw(&status);
        Ok(status)
    }

    pub(super) async fn status(&mut self) -> Result<Value, Failure> {
        let answer = self.client.call("launch_get_status", &json!({"run_id": self.run})).await;
        Ok(answer.map_err(|error| call_failure(&error))?["status"].take())
    }

    /// Reads the events that are new.
    pub(super) async fn read(&mut self) -> Result<(), Failure> {
        for event in self.new_events().await? {
            self.picture.add(&event);
            if !self.style.is_terminal && !self.is_silent {
                output::eprint_line(self.style.safe(&event_line(&event)));
            }
        }
        Ok(())
    }

    /// The events since the last call.
    pub(super) async fn new_events(&mut self) -> Result<Vec<Value>, Failure> {
        loop {
            let wanted = json!({"run_id": self.run, "artifact_name": "events.ndjson", "offset": self.offset});
            let answer = self.client.call("launch_get_artifact", &wanted).await;
            let artifact = answer.map_err(|error| call_failure(&error))?["artifact"].take();
            let content = artifact["content"].as_str().unwrap_or_default();
            self.rest.push_str(content);
            self.offset += content.len() as u64;
            if artifact["next_offset"].is_null() {
                break;
            }
        }
        let end = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let whole: String = self.rest.drain(..end).collect();
        Ok(whole.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Draws the run over the last picture.
    fn draw(&mut self, status: &Value) {
        if !self.style.is_terminal || self.is_silent {
            return;
        }
        let (width, height) = terminal::size()
            .map_or((USUAL_WIDTH, usize::MAX), |(width, height)| (usize::from(width), usize::from(height)));
        let mut lines = self.picture.lines(&self.run, &self.activity(status), width.saturating_sub(1), self.style);
        // What has scrolled away can't be drawn over.
        lines.truncate(height.saturating_sub(1).max(1));
        let mut text = String::new();
        if self.drawn > 0 {
            text.push_str(&format!("\x1b[{}A\x1b[J", self.drawn));
        }
        for line in &lines {
            text.push_str(line);
            text.push('\n');
        }
        self.drawn = lines.len();
        let mut err = std::io::stderr().lock();
        drop(err.write_all(text.as_bytes()).and_then(|()| err.flush()));
    }

    fn activity(&self, status: &Value) -> String {
        let took = format!("{:.0} s", self.began.elapsed().as_secs_f64());
        let activity = &status["activity"];
        let waits = activity["queue_position"].as_u64();
        match (waits, activity["message"].as_str().or(activity["stage"].as_str())) {
            (Some(position), _) => format!("{took}, waits for its turn, {position} other runs before it"),
            (None, Some(what)) => format!("{took}, {what}"),
            (None, None) => took,
        }
    }
}

/// Whether nothing works in the run.
pub(super) fn is_settled(status: &Value) -> bool {
    let activity = &status["activity"];
    activity.is_null() || activity["interrupted"] == true || status["interrupted"].is_string()
}
