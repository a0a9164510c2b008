//! Makes a compile database by the project's own build, where the operator allowed that. A build is code of the project.
//!
//! CMake and Meson configure into the cache folder and write the database. A `configure` script is run there too, if the root has no make
//! file. For a make file, `bear` observes a build if it is installed; if it isn't, or sees nothing because all is built, `make -n` prints the
//! commands. What a build that failed half-way names is used all the same. A build runs again when a build file changes, also while it runs,
//! and one that failed also when a build file is touched. Invariants: without [`RunBuild::Allowed`] nothing is run; each step has a time
//! limit, and no process of it outlives it; a failure is never silent.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::time::Duration;

use codeyard_base::clock::{Instant, wall_s};
use codeyard_process::tool::Tool;

use super::build_stamp::{BuildStamp, RunStamp};
use crate::build_report::{self, BUILD_FOLDER, BuildReport, DATABASE};
use crate::compile_database::build_files::build_hints::read_text;
use crate::compile_database::commands::database::{self, CompileCommand};
use crate::compile_database::commands::printed_commands::{self, PrintedBuild};
use crate::info::ProjectInfo;
use crate::limits::BUILD_TIME_LIMIT_MS;
use crate::prepare::{ProjectRequest, RunBuild};
use crate::tree::Tree;

/// Calls of make that an allowed build is asked about, where a recipe calls make by its name.
const MAX_PRINTED_BUILDS: usize = 64;

/// Names of make files, in the order in which make looks for them.
const MAKE_FILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// How a project is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BuildKind {
    Cmake,
    Meson,
    Make,
    /// A `configure` script that makes the make file.
    Configure,
}

impl BuildKind {
    fn of(root: &Path) -> Option<Self> {
        let has = |name: &&str| root.join(name).is_file();
        if has(&"CMakeLists.txt") {
            Some(Self::Cmake)
        } else if has(&"meson.build") {
            Some(Self::Meson)
        } else if MAKE_FILES.iter().any(&has) {
            Some(Self::Make)
        } else {
            has(&"configure").then_some(Self::Configure)
        }
    }

    /// What is run, for people.
    fn shown(self) -> &'static str {
        match self {
            Self::Cmake => "cmake",
            Self::Meson => "meson",
            Self::Make => "make",
            Self::Configure => "configure and make",
        }
    }

    /// The command with which a person sees why it fails.
    fn command(self, root: &Path, build: &Path) -> String {
        let root = quoted(root);
        let build = quoted(build);
        match self {
            Self::Cmake => format!("cmake -S {root} -B {build} -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"),
            Self::Meson => format!("meson setup {build} {root}"),
            Self::Make => format!("make -C {root}"),
            Self::Configure => format!("cd {build} && {root}/configure && make"),
        }
    }
}

/// The commands of a build, and what made them. `None` if nothing may be run, nothing can be, or it failed; then a problem is recorded.
pub(crate) fn commands(
    request: &ProjectRequest<'_>,
    tree: &Tree,
    info: &mut ProjectInfo,
) -> Option<(String, Vec<CompileCommand>)> {
    commands_within(request, tree, info, Duration::from_millis(BUILD_TIME_LIMIT_MS))
}

/// The same with another limit for each step.
pub(super) fn commands_within(
    request: &ProjectRequest<'_>,
    tree: &Tree,
    info: &mut ProjectInfo,
    limit: Duration,
) -> Option<(String, Vec<CompileCommand>)> {
    if request.build == RunBuild::Never {
        build_report::forget(request.cache);
        return None;
    }
    let kind = BuildKind::of(request.root)?;
    let build = request.cache.join(BUILD_FOLDER);
    let database = build.join(DATABASE);
    let (known, last) = match build_report::load(request.cache) {
        Some((report, stamp)) => (Some(report), RunStamp::from_json(&stamp)),
        None => (None, RunStamp::default()),
    };
    if request.build == RunBuild::Recorded && known.is_none() {
        return None;
    }
    // What changes from here on, the build may not have read.
    let stamp = BuildStamp::read(request.root, tree, &last.files);
    let is_current = |report: &&BuildReport| match &report.failure {
        _ if request.build == RunBuild::Recorded => true,
        None => stamp.has_contents_of(&last.files) && database.is_file(),
        Some(_) => stamp == last.files && report.is_repeatable,
    };
    let report = match known.as_ref().filter(is_current) {
        Some(report) => report.clone(),
        None => {
            let step = BuildStep { kind, root: request.root, build: &build, limit };
            let report = step.run();
            let after = BuildStamp::read(request.root, &Tree::read(request.root), &stamp);
            let read = RunStamp::of_run(&stamp, after, &last);
            if let Err(error) = build_report::store(request.cache, &report, &read.to_json()) {
                info.problems.push(format!("the report of the build can't be written: {error}"));
            }
            report
        }
    };
    let found = database::read(&database, request.cache).map(|found| found.commands).unwrap_or_default();
    let outcome = outcome(kind, &report, found.len());
    info.build = Some(report);
    info.problems.extend(outcome);
    (!found.is_empty()).then(|| (format!("a run of {}", kind.shown()), found))
}

/// What there is to say about a run that wasn't right.
fn outcome(kind: BuildKind, report: &BuildReport, commands: usize) -> Option<String> {
    let shown = kind.shown();
    match (&report.failure, commands) {
        (Some(why), 0) => Some(format!(
            "the build that is allowed for this workspace failed, so commands are inferred: {shown}: {why}"
        )),
        (Some(why), count) => Some(format!(
            "the build that is allowed for this workspace failed; the {count} commands that it named are used: {shown}: {why}"
        )),
        (None, 0) => Some(format!(
            "the build that is allowed for this workspace named no source, so commands are inferred: {shown}"
        )),
        (None, _) => None,
    }
}

struct BuildStep<'a> {
    kind: BuildKind,
    root: &'a Path,
    build: &'a Path,
    limit: Duration,
}

/// Why a step failed, and whether it would fail again the same way.
struct StepFailure {
    why: String,
    is_repeatable: bool,
}

impl BuildStep<'_> {
    fn run(&self) -> BuildReport {
        let started = Instant::now();
        let outcome = fs::create_dir_all(self.build).map_err(|error| StepFailure::once(error.to_string()));
        let outcome = outcome.and_then(|()| self.build());
        let (failure, is_repeatable) = match outcome {
            Ok(()) => (None, true),
            Err(failed) => (Some(failed.why), failed.is_repeatable),
        };
        BuildReport {
            root: self.root.to_path_buf(),
            command: self.kind.command(self.root, self.build),
            ended_s: wall_s(),
            took_s: started.elapsed().as_secs(),
            failure,
            is_repeatable,
        }
    }

    fn build(&self) -> Result<(), StepFailure> {
        let root = self.root.as_os_str();
        let build = self.build.as_os_str();
        match self.kind {
            BuildKind::Cmake => {
                let export = OsStr::new("-DCMAKE_EXPORT_COMPILE_COMMANDS=ON");
                self.tool("cmake", &[OsStr::new("-S"), root, OsStr::new("-B"), build, export], self.build)
            }
            BuildKind::Meson => {
                let is_configured = self.build.join("meson-private").is_dir();
                let again = is_configured.then_some(OsStr::new("--reconfigure"));
                let args: Vec<&OsStr> = [OsStr::new("setup")].into_iter().chain(again).chain([build, root]).collect();
                self.tool("meson", &args, self.build)
            }
            BuildKind::Make => self.make(self.root),
            BuildKind::Configure => {
                let script = self.root.join("configure");
                self.tool("sh", &[script.as_os_str()], self.build)?;
                self.make(self.build)
            }
        }
    }

    /// Runs make in `folder` and writes the database.
    fn make(&self, folder: &Path) -> Result<(), StepFailure> {
        let database = self.build.join(DATABASE);
        // What an earlier run found must not be taken for this one's.
        let _ = fs::remove_file(&database);
        let observed = self.observe(folder, &database);
        let has_commands = || database::read(&database, self.build).is_ok_and(|found| !found.commands.is_empty());
        if has_commands() {
            return observed.unwrap_or(Ok(()));
        }
        let printed = self.print(folder);
        if printed.commands.is_empty() {
            let nothing = StepFailure { why: "make named no command that compiles".into(), is_repeatable: true };
            return observed.unwrap_or(Ok(())).and(Err(nothing));
        }
        database::write(&database, &printed.commands).map_err(|error| StepFailure::once(error.to_string()))?;
        observed.unwrap_or(Ok(()))
    }

    /// Builds under `bear`. `None` if it isn't installed.
    fn observe(&self, folder: &Path, database: &Path) -> Option<Result<(), StepFailure>> {
        let bear = Tool::new("bear").args(["--version"]).run(self.limit, &|| {});
        if !bear.is_ok_and(|outcome| outcome.success()) {
            return None;
        }
        let args = ["--output".as_ref(), database.as_os_str(), "--".as_ref(), "make".as_ref(), "-k".as_ref()];
        Some(self.tool("bear", &args, folder))
    }

    /// What make would run, without running it; also of makes that are called by their name.
    fn print(&self, folder: &Path) -> PrintedBuild {
        let mut all = self.print_one(folder, &[]);
        let mut asked = std::collections::BTreeSet::from([folder.to_path_buf()]);
        while let Some((next, args)) = all.unread.pop_first() {
            if asked.len() > MAX_PRINTED_BUILDS || !asked.insert(next.clone()) {
                continue;
            }
            let more = self.print_one(&next, &args);
            all.commands.extend(more.commands);
            all.unread.extend(more.unread);
        }
        all.commands.sort();
        all.commands.dedup();
        all
    }

    fn print_one(&self, folder: &Path, args: &[String]) -> PrintedBuild {
        let output = self.build.join("make.txt");
        // make ends with an error if one target can't be made; the commands of the others count all the same.
        let script = "out=\"$1\"; shift; exec make -n -k -w -B \"$@\" > \"$out\" 2>/dev/null";
        let args: Vec<&OsStr> = ["-c", script, "sh"]
            .into_iter()
            .map(OsStr::new)
            .chain([output.as_os_str()])
            .chain(args.iter().map(OsStr::new))
            .collect();
        let _ = self.tool("sh", &args, folder);
        printed_commands::read(&read_text(self.build, &output).unwrap_or_default(), folder)
    }

    fn tool(&self, program: &str, args: &[&OsStr], folder: &Path) -> Result<(), StepFailure> {
        let tool = Tool::new(program).args(args).current_dir(folder).env("LC_ALL", "C");
        let outcome = match tool.run(self.limit, &|| {}) {
            Ok(outcome) => outcome,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(StepFailure::once(format!("`{program}` is not installed")));
            }
            Err(error) => return Err(StepFailure::once(format!("`{program}` can't be started: {error}"))),
        };
        if outcome.success() {
            return Ok(());
        }
        let lines = || outcome.output.lines().rev().map(str::trim).filter(|line| !line.is_empty());
        let cause = lines().find(|line| line.to_ascii_lowercase().contains("error")).or_else(|| lines().next());
        let why = format!("{}: {}", outcome.why(), cause.unwrap_or("it printed nothing"));
        Err(StepFailure { why, is_repeatable: true })
    }
}

impl StepFailure {
    /// One that the next attempt may not have.
    fn once(why: String) -> Self {
        Self { why, is_repeatable: false }
    }
}

/// A path as a word of the shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || "/._-+:@".contains(c));
    if is_plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
