//! How far a job is: a bar on a terminal, a line for each phase elsewhere. Standard error only.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;
use codeyard_base::clock::Instant;
use codeyard_index::{JobProgress, Phase, Progress};

/// How often the bar is drawn.
const FRAME: Duration = Duration::from_millis(100);

/// Does `work`, and shows meanwhile how far it is.
pub(super) fn while_it_runs<T: Send>(progress: &Progress, shows: bool, work: impl FnOnce() -> T + Send) -> T {
    if !shows {
        return work();
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let shower = scope.spawn(|| show(progress, &is_over));
        let done = work();
        is_over.store(true, Ordering::SeqCst);
        shower.thread().unpark();
        drop(shower.join());
        done
    })
}

fn show(progress: &Progress, is_over: &AtomicBool) {
    let is_terminal = std::io::stderr().is_terminal();
    let target = if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(None, target);
    let style = ProgressStyle::with_template("{prefix:>10} [{bar:30}] {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    let (mut phase, mut began) = (Phase::Waiting, Instant::now());
    while !is_over.load(Ordering::SeqCst) {
        let now = progress.snapshot();
        if now.phase != phase {
            (phase, began) = (now.phase, Instant::now());
            if !is_terminal && matches!(phase, Phase::Reading | Phase::Parsing) {
                output::complain(format_args!("{} {} files", phase.as_str(), HumanCount(now.files.1)));
            }
        }
        bar.set_length(now.bytes.1.max(1));
        bar.set_position(now.bytes.0);
        bar.set_prefix(phase.as_str());
        bar.set_message(message(&now, began.elapsed()));
        std::thread::park_timeout(FRAME);
    }
    bar.finish_and_clear();
}

/// Files, symbols, speed, time left.
fn message(now: &JobProgress, elapsed: Duration) -> String {
    let mut parts = vec![format!("{}/{} files", HumanCount(now.files.0), HumanCount(now.files.1))];
    if now.symbols > 0 {
        parts.push(format!("{} symbols", HumanCount(now.symbols)));
    }
    let seconds = elapsed.as_secs_f64();
    if now.bytes.0 > 0 && seconds > 0.2 {
        let speed = now.bytes.0 as f64 / seconds;
        parts.push(format!("{}/s", HumanBytes(speed as u64)));
        let left = now.bytes.1.saturating_sub(now.bytes.0) as f64 / speed;
        if left >= 1.0 {
            parts.push(format!("{} left", HumanDuration(Duration::from_secs_f64(left))));
        }
    }
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_says_files_symbols_speed_and_time_left() {
        let now = JobProgress {
            phase: Phase::Parsing,
            files: (10, 1_000),
            bytes: (1 << 20, 11 << 20),
            symbols: 5_000,
            passed_over: 0,
        };
        assert_eq!(message(&now, Duration::from_secs(1)), "10/1,000 files  5,000 symbols  1.00 MiB/s  10 seconds left");
        assert_eq!(message(&JobProgress::default(), Duration::ZERO), "0/0 files");
    }
}
