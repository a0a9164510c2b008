//! `codeyard top`: the running server as it lives, in a terminal, or one frame of it as text.
//!
//! It asks the admin API once a second and draws what it got. Invariants: the terminal is as before when it ends, by a key or
//! by a signal; keys are heeded while the server doesn't answer; nothing is changed but what was confirmed.

mod asking;
mod ending;
mod latency;
mod model;
mod sample;
mod view;

#[cfg(test)]
mod tests;

use std::time::Duration;

use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::{Frame, Terminal};

use self::asking::Asking;
use self::ending::Ending;
use self::model::{Action, Model};
use self::sample::Sample;
use super::args::TopArgs;
use super::workspaces::{client, failure};
use super::{Failure, output};

/// Time between two looks at the server.
const INTERVAL: Duration = Duration::from_secs(1);
/// Time between two looks at the keyboard.
const KEYS: Duration = Duration::from_millis(100);
/// Columns of a frame that is printed as text.
const TEXT_COLUMNS: u16 = 120;
/// Its rows at most; it has as many as there is to say.
const TEXT_ROWS: u16 = 4_000;

/// Shows it until `q`, or once.
pub(crate) fn run(args: TopArgs) -> Result<(), Failure> {
    let client = client(args.state.state_dir.as_deref())?;
    let runtime = super::runtime()?;
    let first = runtime.block_on(Sample::take(&client)).map_err(failure)?;
    let mut model = Model::new(first);
    if args.once {
        // Rates need two looks.
        runtime.block_on(async { tokio::time::sleep(INTERVAL).await });
        model.see(runtime.block_on(Sample::take(&client)).map_err(failure)?);
        return output::print(text(&model));
    }
    let ending = ending::receive(&runtime)?;
    let mut terminal = ratatui::try_init().map_err(|error| {
        Failure::new(format!("this is no terminal: {error}; `codeyard top --once` prints one frame"))
    })?;
    let ended = watch(&mut Asking::new(&runtime, &client), &mut model, &mut terminal, &ending);
    // Where the terminal is gone, there is nothing to restore.
    drop(ratatui::try_restore());
    ended
}

fn watch(
    asking: &mut Asking<'_>,
    model: &mut Model,
    terminal: &mut ratatui::DefaultTerminal,
    ending: &Ending,
) -> Result<(), Failure> {
    let broken = |error: std::io::Error| Failure::new(format!("the terminal broke: {error}"));
    loop {
        asking.go_on(model);
        terminal.draw(|frame| view::draw(frame, model)).map_err(broken)?;
        let pressed = event::poll(KEYS).map_err(broken)?;
        if let Some(failure) = ending.failure() {
            return Err(failure);
        }
        if !pressed {
            continue;
        }
        match event::read().map_err(broken)? {
            Event::Key(key) if key.kind == KeyEventKind::Press => {
                let interrupted = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
                match model.press(key.code) {
                    _ if interrupted => return Ok(()),
                    Action::Quit => return Ok(()),
                    Action::Restart { workspace, id } => asking.restart(model, &workspace, &id),
                    Action::None => {}
                }
            }
            // A resize draws anew.
            _ => {}
        }
    }
}

/// One frame as text.
fn text(model: &Model) -> String {
    let height = view::whole_height(model).min(TEXT_ROWS);
    frame_text(TEXT_COLUMNS, height, |frame| view::draw_whole(frame, model)).trim_end().to_owned() + "\n"
}

/// A frame of this size as text, without blanks at the ends of its lines.
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
