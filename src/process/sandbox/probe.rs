//! Checks that a sandbox holds: starts this program in it as the hidden subcommand `__sandbox-probe`, which tries what must fail.
//!
//! A mechanism that is installed, but that the system or a container forbids, fails here. Invariant: a result `Ok` means that a real child
//! process was confined.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use super::{Mechanism, SandboxPolicy, command_line};
use crate::launch::SandboxRequest;
use crate::resource_limits::ResourceLimits;
use crate::signal;
use crate::tool::Tool;

/// Longest time of the check that a sandbox holds, in milliseconds.
const SANDBOX_PROBE_MS: u64 = 10_000;

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "__sandbox-probe";

/// The text that a confined child prints.
const CONFINED: &str = "confined";

/// The mechanisms of this machine, each with the reason why it doesn't hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSupport {
    /// The results, the preferred mechanism first.
    pub results: Vec<(Mechanism, Result<(), String>)>,
}

impl SandboxSupport {
    /// Tries all mechanisms. Blocks for a fraction of a second. `scratch` is a folder in which files may be created.
    pub fn probe(confiner: &Path, scratch: &Path) -> Self {
        let mut results = Vec::new();
        for mechanism in Mechanism::ALL {
            results.push((mechanism, probe(mechanism, confiner, scratch)));
        }
        Self { results }
    }

    /// The preferred mechanism that holds.
    pub fn mechanism(&self) -> Option<Mechanism> {
        self.results.iter().find(|(_, result)| result.is_ok()).map(|(mechanism, _)| *mechanism)
    }

    /// Why no mechanism holds, in one sentence.
    pub fn problem(&self) -> Option<String> {
        if self.mechanism().is_some() {
            return None;
        }
        let reasons = self.results.iter().filter_map(|(mechanism, result)| {
            result.as_ref().err().map(|error| format!("{}: {error}", mechanism.name()))
        });
        Some(reasons.collect::<Vec<_>>().join("; "))
    }
}

/// Checks that a mechanism holds.
///
/// # Errors
/// The reason in one sentence.
pub fn probe(mechanism: Mechanism, confiner: &Path, scratch: &Path) -> Result<(), String> {
    let error = |error: std::io::Error| format!("the probe can't be prepared: {error}");
    let base = scratch.join(format!("sandbox-probe-{}-{}", std::process::id(), mechanism.name()));
    // Left by a process of the same id that was killed.
    drop(fs::remove_dir_all(&base));
    let [root, temp, outside] = ["root", "temp", "outside"].map(|name| base.join(name));
    for folder in [&root, &temp, &outside] {
        fs::create_dir_all(folder).map_err(error)?;
    }
    let result = run(mechanism, confiner, [&root, &temp, &outside]);
    drop(fs::remove_dir_all(&base));
    result
}

fn run(mechanism: Mechanism, confiner: &Path, [root, temp, outside]: [&PathBuf; 3]) -> Result<(), String> {
    let error = |error: std::io::Error| format!("the probe can't be prepared: {error}");
    let secret = outside.join("secret");
    fs::write(root.join("file"), "x").map_err(error)?;
    fs::write(&secret, "x").map_err(error)?;
    let listener = TcpListener::bind("127.0.0.1:0").map_err(error)?;
    let port = listener.local_addr().map_err(error)?.port();
    let confiner = confiner.canonicalize().map_err(error)?;
    let request =
        SandboxRequest { roots: vec![root.clone()], toolchain: vec![confiner.clone()], ..SandboxRequest::default() };
    let policy = SandboxPolicy::of(&request, Some(temp), root, ResourceLimits::default());
    let args = [
        SUBCOMMAND.into(),
        root.canonicalize().map_err(error)?.into_os_string(),
        temp.canonicalize().map_err(error)?.into_os_string(),
        secret.into_os_string(),
        port.to_string().into(),
        std::process::id().to_string().into(),
    ];
    let (program, args) = command_line(mechanism, &confiner, &policy, &confiner, &args)?;
    let outcome = Tool::new(program).args(args).separate_errors().run(Duration::from_millis(SANDBOX_PROBE_MS), &|| {});
    let outcome = outcome.map_err(|error| format!("it can't be started: {error}"))?;
    drop(listener);
    match outcome.output.trim() {
        CONFINED if outcome.success() => Ok(()),
        "" => Err(format!("{}: {}", outcome.why(), outcome.errors.trim().lines().next_back().unwrap_or("no output"))),
        open => Err(format!("a confined child could {open}")),
    }
}

/// The child: prints what it could do although it must not, or that it is confined. Arguments: the root, the temporary folder, a file
/// outside, a port that listens, the id of a process outside.
pub(crate) fn probe_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let [root, temp, secret, port, outside] = args.as_slice() else { return ExitCode::FAILURE };
    let root = Path::new(root);
    let temp = Path::new(temp);
    let number = |text: &OsString| text.to_str().and_then(|text| text.parse::<u32>().ok());
    let port = number(port).and_then(|port| u16::try_from(port).ok()).unwrap_or(1);
    let can_read = |path: &Path| fs::File::open(path).and_then(|mut file| file.read(&mut [0])).is_ok();
    let is_open = [
        ("not read its root", !can_read(&root.join("file"))),
        ("not write its temporary folder", fs::write(temp.join("x"), "x").is_err()),
        ("write its root", fs::write(root.join("x"), "x").is_ok()),
        ("read a file outside", can_read(Path::new(secret))),
        ("read the password hashes", can_read(Path::new("/etc/shadow"))),
        ("connect to a port", TcpStream::connect(("127.0.0.1", port)).is_ok()),
        ("open a datagram socket", UdpSocket::bind("127.0.0.1:0").is_ok()),
        (
            "signal a process outside",
            number(outside).is_some_and(|pid| pid != std::process::id() && signal::to_process(pid, 0)),
        ),
    ];
    let open: Vec<&str> = is_open.into_iter().filter(|(_, is_open)| *is_open).map(|(what, _)| what).collect();
    let text = if open.is_empty() { CONFINED.to_owned() } else { open.join(", ") };
    let printed = writeln!(std::io::stdout(), "{text}");
    if printed.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
