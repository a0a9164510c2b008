//! `codeyard top`: shows the running server in a terminal, updated every second, or prints one frame as text.
//!
//! It polls the admin API. Invariants: the terminal is restored at exit, by a key or a signal; keys work while the server does not
//! answer; nothing is restarted without confirmation.

mod exit_signals;
mod latency;
mod model;
mod poller;
mod sample;
mod view;

#[cfg(test)]
mod tests;

use std::time::Duration;

use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::{Frame, Terminal};

use self::exit_signals::ExitSignals;
use self::model::{KeyAction, TopModel};
use self::poller::Poller;
use self::sample::AdminSample;
use crate::Failure;
use crate::args::TopArgs;
use crate::shared::admin_client::{admin_client, request_failure};
use crate::shared::output;

/// Time between two polls of the server.
const INTERVAL: Duration = Duration::from_secs(1);
/// Longest wait for a key.
const KEYS: Duration = Duration::from_millis(100);
/// Width in columns of a frame that is printed as text.
const TEXT_COLUMNS: u16 = 120;
/// Largest height in rows of a frame that is printed as text.
const TEXT_ROWS: u16 = 4_000;

/// Shows the server until `q` or a signal; prints one frame with `--once`.
pub(crate) fn run(args: TopArgs) -> Result<(), Failure> {
    let client = admin_client(args.state.state_dir.as_deref())?;
    let runtime = crate::runtime()?;
    let first = runtime.block_on(AdminSample::take(&client)).map_err(request_failure)?;
    let mut model = TopModel::new(first);
    if args.once {
        // Rates need two samples.
        runtime.block_on(async { tokio::time::sleep(INTERVAL).await });
        model.update(runtime.block_on(AdminSample::take(&client)).map_err(request_failure)?);
        return output::print(text(&model));
    }
    let exit_signals = exit_signals::receive(&runtime)?;
    let mut terminal = ratatui::try_init().map_err(|error| {
        Failure::new(format!(
            "cannot draw, standard output is not a terminal: {error}; `codeyard top --once` prints one frame"
        ))
    })?;
    let result = watch(&mut Poller::new(&runtime, &client), &mut model, &mut terminal, &exit_signals);
    // If the terminal is gone, there is nothing to restore.
    drop(ratatui::try_restore());
    result
}

fn watch(
    poller: &mut Poller<'_>,
    model: &mut TopModel,
    terminal: &mut ratatui::DefaultTerminal,
    exit_signals: &ExitSignals,
) -> Result<(), Failure> {
    let broken = |error: std::io::Error| Failure::new(format!("the terminal failed: {error}"));
    loop {
        poller.tick(model);
        terminal.draw(|frame| view::draw(frame, model)).map_err(broken)?;
        let has_event = event::poll(KEYS).map_err(broken)?;
        if let Some(failure) = exit_signals.failure() {
            return Err(failure);
        }
        if !has_event {
            continue;
        }
        match event::read().map_err(broken)? {
            Event::Key(key) if key.kind == KeyEventKind::Press => {
                let interrupted = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
                match model.press(key.code) {
                    _ if interrupted => return Ok(()),
                    KeyAction::Quit => return Ok(()),
                    KeyAction::Restart { workspace, id } => poller.restart(model, &workspace, &id),
                    KeyAction::None => {}
                }
            }
            // Every other event, such as a resize, only redraws.
            _ => {}
        }
    }
}

fn text(model: &TopModel) -> String {
    let height = view::whole_height(model).min(TEXT_ROWS);
    frame_text(TEXT_COLUMNS, height, |frame| view::draw_whole(frame, model)).trim_end().to_owned() + "\n"
}

/// A frame of the given size as text, without trailing spaces.
fn frame_text(width: u16, height: u16, draw: impl FnOnce(&mut Frame<'_>)) -> String {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let Ok(_) = terminal.draw(draw);
    let buffer = terminal.backend().buffer();
    let rows = (0..height).map(|y| {
        let row: String = (0..width).filter_map(|x| buffer.cell((x, y))).map(|cell| cell.symbol()).collect();
        row.trim_end().to_owned() + "\n"
    });
    rows.collect()
}
