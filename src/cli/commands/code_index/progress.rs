//! The progress of an index job on standard error: a bar on a terminal, one line for each phase elsewhere.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::shared::output;
use codeyard_base::clock::Instant;
use codeyard_index::{JobPhase, JobProgress, ProgressSnapshot};

/// Time between two updates of the bar.
const INTERVAL: Duration = Duration::from_millis(100);

/// Runs `work` and shows its progress meanwhile if `show_progress` is set.
pub(super) fn with_progress<T: Send>(
    progress: &JobProgress,
    show_progress: bool,
    work: impl FnOnce() -> T + Send,
) -> T {
    if !show_progress {
        return work();
    }
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let bar_thread = scope.spawn(|| draw_bar(progress, &is_done));
        let done = work();
        is_done.store(true, Ordering::SeqCst);
        bar_thread.thread().unpark();
        drop(bar_thread.join());
        done
    })
}

fn draw_bar(progress: &JobProgress, is_done: &AtomicBool) {
    let is_terminal = std::io::stderr().is_terminal();
    let target = if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(None, target);
    let style = ProgressStyle::with_template("{prefix:>10} [{bar:30}] {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    let mut phase = JobPhase::Waiting;
    let mut began = Instant::now();
    while !is_done.load(Ordering::SeqCst) {
        let now = progress.snapshot();
        if now.phase != phase {
            (phase, began) = (now.phase, Instant::now());
            if !is_terminal && matches!(phase, JobPhase::Reading | JobPhase::Parsing) {
                output::eprint_line(format_args!("{} {} files", phase.as_str(), HumanCount(now.files.1)));
            }
        }
        bar.set_length(now.bytes.1.max(1));
        bar.set_position(now.bytes.0);
        bar.set_prefix(phase.as_str());
        bar.set_message(message(&now, began.elapsed()));
        std::thread::park_timeout(INTERVAL);
    }
    bar.finish_and_clear();
}

/// The text beside the bar: files, symbols, speed, remaining time.
fn message(now: &ProgressSnapshot, elapsed: Duration) -> String {
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
    fn the_message_has_files_symbols_speed_and_remaining_time() {
        let now = ProgressSnapshot {
            phase: JobPhase::Parsing,
            files: (10, 1_000),
            bytes: (1 << 20, 11 << 20),
            symbols: 5_000,
            skipped: 0,
        };
        assert_eq!(message(&now, Duration::from_secs(1)), "10/1,000 files  5,000 symbols  1.00 MiB/s  10 seconds left");
        assert_eq!(message(&ProgressSnapshot::default(), Duration::ZERO), "0/0 files");
    }
}
