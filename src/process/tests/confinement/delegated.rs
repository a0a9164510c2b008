//! A delegated control group for a test, and codeyards that are started in it: other processes of this program.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::control_groups::CASES;
use crate::harness::{block_on, own, soon};

/// The role of a codeyard in a delegated group. Arguments: the case, the delegated group, a mark.
pub(crate) const ROLE: &str = "__delegated";

/// Runs the case that the arguments name, as soon as this process has been moved into its group.
pub(crate) fn main(args: &[String]) -> ExitCode {
    let [case, group, mark] = args else { return ExitCode::FAILURE };
    let Some((_, run)) = CASES.iter().find(|(name, _)| name == case) else { return ExitCode::FAILURE };
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let is_ok = std::panic::catch_unwind(|| run(Path::new(group), mark)).is_ok();
    if is_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A delegated group. It is removed when this is dropped.
pub(crate) struct Delegated(pub(crate) PathBuf);

impl Delegated {
    /// A group below that of this process, marked as systemd does it. `None`, with a line of output that says why, if this machine lacks something.
    pub(crate) fn with(controllers: &[&str]) -> Option<Self> {
        let made = Self::make().and_then(|group| {
            let has = fs::read_to_string(group.0.join("cgroup.controllers")).unwrap_or_default();
            let lacks = controllers.iter().find(|name| !has.split_whitespace().any(|found| found == **name));
            lacks.map_or(Ok(group), |name| Err(format!("a control group here has no controller `{name}`")))
        });
        made.inspect_err(|why| codeyard_test_support::parts::skip("control-groups", why)).ok()
    }

    fn make() -> Result<Self, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let own = own_folder().ok_or("control groups of version 2 aren't mounted here")?;
        let path = own.join(format!("test-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed)));
        fs::create_dir(&path).map_err(|error| format!("no control group can be made here: {error}"))?;
        let group = Self(path);
        rustix::fs::setxattr(&group.0, "user.delegate", b"1", rustix::fs::XattrFlags::empty())
            .map_err(|error| format!("a control group can't be marked here: {error}"))?;
        Ok(group)
    }

    /// Runs a codeyard in the group `place` to its end.
    pub(crate) fn run_in(&self, place: &Path, case: &str, mark: &str) -> ExitStatus {
        #[expect(clippy::disallowed_methods, reason = "the process stands for a codeyard that a service runs")]
        let mut command = Command::new(own());
        let mut codeyard = command.arg(ROLE).arg(case).arg(&self.0).arg(mark).stdin(Stdio::piped()).spawn().unwrap();
        fs::write(place.join("cgroup.procs"), codeyard.id().to_string()).unwrap();
        codeyard.stdin.take().unwrap().write_all(b"\n").unwrap();
        codeyard.wait().unwrap()
    }

    /// The names of the groups in it.
    pub(crate) fn names(&self) -> Vec<String> {
        names(&self.0)
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        // A test that failed leaves members, and the kernel takes a moment to end them.
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
        let removed = || {
            names(&self.0).iter().for_each(|name| drop(fs::remove_dir(self.0.join(name))));
            fs::remove_dir(&self.0).is_ok()
        };
        assert!(block_on(soon(removed)), "{} has members", self.0.display());
    }
}

pub(crate) fn names(group: &Path) -> Vec<String> {
    let entries = fs::read_dir(group).unwrap().flatten().filter(|entry| entry.file_type().unwrap().is_dir());
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// The folder of the group of this process.
fn own_folder() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    Some(Path::new(mount.split(' ').nth(4)?).join(path))
}
