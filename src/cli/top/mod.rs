//! `codeyard top`: the running server as it lives, in a terminal, or one frame of it as text.
//!
//! It asks the admin API once a second and draws what it got. Invariants: the terminal is as before when it ends, however it
//! ends; nothing is changed but what was confirmed.

mod latency;
mod model;
mod sample;
mod view;

#[cfg(test)]
mod tests;

use std::time::Duration;

use hyper::Method;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use serde_json::Value;

use self::model::{Action, Model};
use self::sample::Sample;
use super::args::TopArgs;
use super::workspaces::{client, failure};
use super::{Failure, output};
use crate::admin::client::AdminClient;
use crate::base::clock::Instant;

/// Time between two looks at the server.
const INTERVAL: Duration = Duration::from_secs(1);
/// Time between two looks at the keyboard.
const KEYS: Duration = Duration::from_millis(100);
/// Columns and rows of a frame that is printed as text.
const TEXT_SIZE: (u16, u16) = (120, 40);

/// Shows it until `q`, or once.
pub fn run(args: TopArgs) -> Result<(), Failure> {
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
    let mut terminal = ratatui::try_init().map_err(|error| {
        Failure::new(format!("this is no terminal: {error}; `codeyard top --once` prints one frame"))
    })?;
    let ended = watch(&runtime, &client, &mut model, &mut terminal);
    ratatui::restore();
    ended
}

fn watch(
    runtime: &tokio::runtime::Runtime,
    client: &AdminClient,
    model: &mut Model,
    terminal: &mut ratatui::DefaultTerminal,
) -> Result<(), Failure> {
    let broken = |error: std::io::Error| Failure::new(format!("the terminal broke: {error}"));
    let mut next = Instant::now() + INTERVAL;
    loop {
        terminal.draw(|frame| view::draw(frame, model)).map_err(broken)?;
        if event::poll(KEYS).map_err(broken)? {
            match event::read().map_err(broken)? {
                Event::Key(key) if key.kind == KeyEventKind::Press => {
                    let interrupted = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
                    match model.press(key.code) {
                        _ if interrupted => return Ok(()),
                        Action::Quit => return Ok(()),
                        Action::Restart { workspace, id } => {
                            let path = format!("/admin/v1/servers/{workspace}/{id}/restart");
                            let asked = runtime.block_on(client.send::<Value>(Method::POST, &path, None));
                            model.tell(match asked {
                                Ok(_) => format!("{id} of {workspace} is being started anew"),
                                Err(error) => error.to_string(),
                            });
                        }
                        Action::None => {}
                    }
                }
                // A resize draws anew.
                _ => {}
            }
        }
        if Instant::now() >= next {
            match runtime.block_on(Sample::take(client)) {
                Ok(sample) => model.see(sample),
                Err(error) => model.lose(error.to_string()),
            }
            next = Instant::now() + INTERVAL;
        }
    }
}

/// One frame as text.
fn text(model: &Model) -> String {
    let (width, height) = TEXT_SIZE;
    frame_text(model, width, height).trim_end().to_owned() + "\n"
}

/// A frame of this size as text, without blanks at the ends of its lines.
fn frame_text(model: &Model, width: u16, height: u16) -> String {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let Ok(_) = terminal.draw(|frame| view::draw(frame, model));
    let buffer = terminal.backend().buffer();
    let rows = (0..height).map(|y| {
        let row: String = (0..width).filter_map(|x| buffer.cell((x, y))).map(|cell| cell.symbol()).collect();
        row.trim_end().to_owned() + "\n"
    });
    rows.collect()
}
