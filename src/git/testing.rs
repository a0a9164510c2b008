//! For unit tests of this and other crates: the test binary itself is the reader process.
//!
//! Not used by the product. A test binary calls [`use_test_binary`] with the name of a test that calls [`run_if_reader`].

use std::ffi::OsString;
use std::iter;

use crate::reader_process::{self, ROLE};
use codeyard_process::confined;

/// Makes readers run this test binary, whose test `entry` calls [`run_if_reader`].
///
/// # Panics
/// The path of the test binary is unknown.
pub fn use_test_binary(entry: &str) {
    #[expect(clippy::unwrap_used, reason = "for tests only")]
    let own = std::env::current_exe().unwrap();
    confined::use_program(own, [entry, "--exact", "--nocapture"].map(OsString::from).to_vec());
}

/// Runs the reader and ends the process if the test binary was started as one.
pub fn run_if_reader() {
    let args = iter::once(OsString::new()).chain(std::env::args_os().skip_while(|arg| arg != ROLE));
    if reader_process::from_command_line(args).is_some() {
        std::process::exit(0);
    }
}
