//! Real parts that a machine may lack. A test that misses one says so past the capture of its output, and fails where the variable
//! `CODEYARD_REQUIRE` names the part.

use std::fmt::Display;
use std::io::Write;
use std::process::Command;

/// Says that tests are skipped because `part` is missing.
///
/// # Panics
///
/// If `CODEYARD_REQUIRE`, a list with commas between, has the part.
pub fn skip(part: &str, reason: impl Display) {
    let required = std::env::var("CODEYARD_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name == part), "CODEYARD_REQUIRE needs {part}: {reason}");
    // `eprintln` would be captured.
    let _ = writeln!(std::io::stderr(), "skipped: tests that need {part}: {reason}");
}

/// Whether these programs start; says which one doesn't.
#[must_use]
pub fn has_programs(names: &[&str]) -> bool {
    let missing = names.iter().find(|name| {
        #[expect(clippy::disallowed_methods, reason = "only asks whether the program is there")]
        let asked = Command::new(name).arg("--version").output();
        !asked.is_ok_and(|output| output.status.success())
    });
    if let Some(name) = missing {
        skip(name, format_args!("`{name} --version` fails"));
    }
    missing.is_none()
}
