//! The time that a server's runs spend in git and in Hugo, from scripts that stand before the programs on the `PATH`.
//!
//! A script costs about two milliseconds for each start of a program; they count for the program.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::sample::on_path;
use crate::corpus;
use codeyard_cli::Failure;

/// The scripts and what they record.
pub(super) struct ToolTimes {
    folder: PathBuf,
}

/// What a program took.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct ToolTime {
    pub starts: u32,
    /// Time in milliseconds.
    pub ms: f64,
}

impl ToolTimes {
    /// Writes scripts for `programs`.
    pub(super) fn new(folder: PathBuf, programs: &[&str]) -> Result<Self, Failure> {
        for name in programs {
            let Some(program) = on_path(name) else { continue };
            let script = folder.join(name);
            let record = folder.join(format!("{name}.times"));
            let text = format!(
                "#!/bin/bash\nbegan=$EPOCHREALTIME\n'{}' \"$@\"\ncode=$?\necho \"$began $EPOCHREALTIME\" >> '{}'\nexit $code\n",
                program.display(),
                record.display()
            );
            corpus::write(&script, &text)?;
            fs::set_permissions(&script, fs::Permissions::from_mode(0o755))
                .map_err(|error| Failure::new(format!("{}: {error}", script.display())))?;
        }
        Ok(Self { folder })
    }

    /// The `PATH` of a server that is measured.
    pub(super) fn path(&self) -> String {
        let mut path = OsString::from(&self.folder);
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        path.to_string_lossy().into_owned()
    }

    /// What a program took so far.
    pub(super) fn of(&self, name: &str) -> ToolTime {
        let text = fs::read_to_string(self.folder.join(format!("{name}.times"))).unwrap_or_default();
        let mut time = ToolTime::default();
        for line in text.lines() {
            let Some((began, ended)) = line.split_once(' ') else { continue };
            if let (Ok(began), Ok(ended)) = (began.parse::<f64>(), ended.parse::<f64>()) {
                time.starts += 1;
                time.ms += (ended - began) * 1e3;
            }
        }
        time
    }
}
