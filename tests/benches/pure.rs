//! Benchmarks of the pure parts, one group a row of the way of a request: what a call costs before and after its language
//! server. `cargo bench` runs them all, `cargo bench -- references` those whose name fits. The whole path, beside the bare
//! language server, is `codeyard bench`.
//!
//! Inputs are made here from sizes alone, so that two runs measure the same work.

mod answers;
mod call_recording;
mod place;
mod requests;
mod texts;

use std::time::Duration;

use criterion::Criterion;

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    requests::all(&mut criterion);
    texts::all(&mut criterion);
    answers::all(&mut criterion);
    call_recording::all(&mut criterion);
    criterion.final_summary();
}
