//! The floor of each workspace's `rootsEpoch`: a number that rises with every start and every change of roots, so that
//! a cursor of an earlier life can't come alive against another result (decisions §3).
//!
//! A number is only handed out when it is on disk. Invariant: for one workspace, every number is higher than all before,
//! also after `kill -9`, and, as long as the clock isn't set back, after the file was lost or damaged.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use codeyard_base::clock::wall_ns;
use codeyard_base::ids::WorkspaceName;

/// The floors in one state directory.
#[derive(Debug, Clone)]
pub struct RootsEpochs {
    dir: PathBuf,
}

impl RootsEpochs {
    pub(super) fn in_dir(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// A number higher than all before, for `workspace`. Blocks for two `fsync`s. Errors: the number can't be made
    /// durable; then it isn't handed out.
    pub fn next(&self, workspace: &WorkspaceName) -> io::Result<u64> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let path = self.dir.join(workspace.as_str());
        let next = match read(&path) {
            Ok(Some(last)) => last.checked_add(1).ok_or(io::ErrorKind::InvalidData)?,
            // Nobody counts a million a second, so the clock is ahead of whatever was lost.
            Ok(None) => wall_us(),
            Err(error) => {
                tracing::warn!(workspace = %workspace, error = %error, "roots epoch unreadable, starting from the clock");
                wall_us()
            }
        };
        self.write(workspace, next)?;
        Ok(next)
    }

    fn write(&self, workspace: &WorkspaceName, value: u64) -> io::Result<()> {
        // A name no workspace can have.
        let scratch = self.dir.join(format!("{workspace}.new~"));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&scratch)?;
        writeln!(file, "{value}")?;
        file.sync_all()?;
        std::fs::rename(&scratch, self.dir.join(workspace.as_str()))?;
        File::open(&self.dir)?.sync_all()
    }
}

/// The last number, `None` if there never was one.
fn read(path: &std::path::Path) -> io::Result<Option<u64>> {
    let mut text = String::new();
    match File::open(path) {
        Ok(file) => file.take(32).read_to_string(&mut text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let value = text.strip_suffix('\n').and_then(|digits| digits.parse().ok());
    value.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Microseconds since 1970: still exact in a JSON number.
fn wall_us() -> u64 {
    u64::try_from(wall_ns() / 1_000).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ever_higher_also_after_damage() {
        let dir = tempfile::tempdir().unwrap();
        let epochs = RootsEpochs::in_dir(dir.path().join("epochs"));
        let name = WorkspaceName::new("w").unwrap();
        let file = dir.path().join("epochs/w");
        let mut last = epochs.next(&name).unwrap();
        assert_eq!(RootsEpochs::in_dir(dir.path().join("epochs")).next(&name).unwrap(), last + 1);
        std::fs::write(&file, "41\n").unwrap();
        assert_eq!(epochs.next(&name).unwrap(), 42);
        for damaged in ["", "4", "x\n", "-1\n", "99999999999999999999999\n", "7\n8\n"] {
            std::fs::write(&file, damaged).unwrap();
            let next = epochs.next(&name).unwrap();
            assert!(next > last, "{damaged:?}: {next} after {last}");
            last = next;
        }
        std::fs::write(&file, format!("{}\n", u64::MAX)).unwrap();
        assert!(epochs.next(&name).is_err());
    }

    #[test]
    fn a_half_written_number_is_not_seen() {
        let dir = tempfile::tempdir().unwrap();
        let epochs = RootsEpochs::in_dir(dir.path().to_owned());
        let name = WorkspaceName::new("w").unwrap();
        let first = epochs.next(&name).unwrap();
        std::fs::write(dir.path().join("w.new~"), "9999999999999").unwrap();
        assert_eq!(epochs.next(&name).unwrap(), first + 1);
    }

    #[test]
    fn unwritable_means_no_number() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("epochs"), "a file").unwrap();
        let epochs = RootsEpochs::in_dir(dir.path().join("epochs"));
        assert!(epochs.next(&WorkspaceName::new("w").unwrap()).is_err());
    }
}
