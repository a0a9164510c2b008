//! Benchmarks of the pure parts, one group per processing step of a request: the cost of a call before and after its language
//! server. `cargo bench -p codeyard-bench --features criterion` runs all of them, `… -- references` those with a matching name. The whole path,
//! compared with the bare language server, is `codeyard-bench`.
//!
//! Inputs depend only on sizes, so that two runs measure the same work.

mod answers;
mod call_recording;
mod place;
mod requests;
mod texts;
mod tokens;

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
    tokens::all(&mut criterion);
    criterion.final_summary();
}
