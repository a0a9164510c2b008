//! The run of one kind: cold, warm, after an edit, a new file, a rename and a switch of the branch, each on disk only, and what is left in the
//! project afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use codeyard_base::clock::Instant;
use codeyard_lsp::install::{InstallError, Installer, ProgramStatus};
use codeyard_lsp::registry::{InstallSource, Registry, ServerRole};

use crate::breadth::beside_bare::{Comparison, Recorded};
use crate::breadth::case::{Case, Project};
use crate::breadth::record::Record;
use crate::breadth::served::{Served, Verdict};
use codeyard_test_support::git::git;
use codeyard_test_support::real_servers::{KINDS, build_folder, servers_dir};

/// The branch of the project as the case has it.
const FIRST: &str = "first";
/// The branch with all changes.
const CHANGED: &str = "changed";

/// Runs the case of `kind`. `None`: a program is missing, and the test prints so.
pub(crate) fn run(kind: &str) -> Option<Record> {
    let case = Case::read(kind);
    let version = installed(&case)?;
    let folder = tempfile::Builder::new().prefix("breadth").tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path").join("project");
    case.copy_project(&root);
    git(&root, &["init", "-q", "-b", FIRST]);
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-q", "-m", "first"]);
    for command in &case.prepare {
        shell(command, &root);
    }
    git(&root, &["commit", "-q", "--allow-empty", "-a", "-m", "prepared"]);
    let before = untracked(&root);
    let began = Instant::now();
    let mut subject = Subject {
        served: Served::new(kind, &root),
        case,
        verdicts: BTreeMap::new(),
        recorded: BTreeMap::new(),
        first: None,
        began,
    };
    subject.cold();
    subject.changes();
    let mut record = subject.record(version);
    let log = subject.served.yard.log();
    subject.served.yard.stop();
    let after = untracked(&root);
    assert_eq!(after, before, "{kind} writes into the project");
    assert!(!log.contains("\"assumed\":true"), "{kind} never showed that it is ready:\n{log}");
    let mut comparison = Comparison::default();
    for (state, branch) in [("first", FIRST), ("changed", CHANGED)] {
        // The bare server may have changed files.
        git(&root, &["checkout", "-q", "-f", branch]);
        comparison.add(state, kind, &root, &subject.recorded[state]);
    }
    record.compared(&comparison, &subject.case.differs);
    Some(record)
}

/// The folder for the servers of the breadth test. In the other one they would serve files of other tests.
pub(crate) fn breadth_servers_dir(kind: &str) -> PathBuf {
    if KINDS.contains(&kind) { servers_dir().to_owned() } else { build_folder().join("codeyard-breadth-servers") }
}

/// Installs the server of a case. Returns its version.
fn installed(case: &Case) -> Option<String> {
    for need in &case.needs {
        if !is_on_path(need) {
            codeyard_test_support::parts::skip(&case.kind, format_args!("`{need}` is not on the PATH"));
            return None;
        }
    }
    install(&case.kind)
}

/// Installs a server. Returns its version. `None`: a program is missing, and the test prints so.
pub(crate) fn install(kind: &str) -> Option<String> {
    let registry = Registry::builtin();
    let server = registry.servers.get(kind).unwrap_or_else(|| panic!("no kind {kind}"));
    let installer = Installer::with_servers_dir(&breadth_servers_dir(kind));
    if !matches!(server.install, Some(InstallSource::Manual { .. } | InstallSource::Builtin {}) | None) {
        let kinds = [kind.to_owned()];
        // A server on the `PATH` is as good; without the tool that installs it, the kind is skipped below.
        if !matches!(installer.locate(kind, server, None), ProgramStatus::Ready(_)) {
            match installer.install(&registry, &kinds, &|_| ()) {
                Ok(_) | Err(InstallError::MissingTool { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
    match installer.locate(kind, server, None) {
        ProgramStatus::Ready(program) => {
            let pinned = || installer.list().into_iter().find(|one| one.kind == kind).map(|one| one.version);
            Some(program.version.or_else(pinned).unwrap_or_default())
        }
        other => {
            codeyard_test_support::parts::skip(kind, format_args!("it isn't installed: {other:?}"));
            None
        }
    }
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn shell(command: &str, root: &Path) {
    #[expect(clippy::disallowed_methods, reason = "a case prepares its project with the usual tools")]
    let output = Command::new("sh").args(["-c", command]).current_dir(root).output().expect("sh starts");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What git doesn't know in the project, ignored files too.
fn untracked(root: &Path) -> String {
    git(root, &["status", "--porcelain", "--ignored"])
}

/// One kind in its run.
struct Subject {
    served: Served,
    case: Case,
    /// By phase and operation.
    verdicts: BTreeMap<(&'static str, &'static str), Verdict>,
    /// Answers to compare with the bare server's, by the state of the project.
    recorded: BTreeMap<&'static str, Vec<Recorded>>,
    /// The time until the first right answer.
    first: Option<Duration>,
    began: Instant,
}

impl Subject {
    /// Asks everything at once after the start, and once more.
    fn cold(&mut self) {
        self.phase("cold");
        self.phase("warm");
        let case = &self.case;
        if let Some(diagnostics) = &case.diagnostics {
            let found = self.served.workspace_messages(&diagnostics.of);
            let is_right = found.as_ref().is_ok_and(|found| {
                diagnostics.has.iter().all(|text| found.iter().any(|message| message.contains(text)))
            });
            let verdict = if is_right { Verdict::Right } else { Verdict::Wrong(format!("{found:?}")) };
            self.verdicts.insert(("warm", "workspace_diagnostics"), verdict);
        }
        // The server of a used language, or the main one beside a linter, may answer there.
        let server = &Registry::builtin().servers[&case.kind];
        let uses_others = server.uses.is_some() || server.role == ServerRole::Linter;
        let place = ["definition", "references", "hover"]
            .iter()
            .filter(|_| !uses_others)
            .find_map(|operation| case.at(operation));
        let Some(place) = place.map(|place| self.served.project.find(place)) else { return };
        for operation in ["implementation", "incoming_calls", "outgoing_calls", "definition", "references", "hover"] {
            if case.unsupported.iter().any(|name| name == operation)
                && let Err(why) = self.served.is_refused(operation, &place.0, place.1, place.2)
            {
                self.verdicts.insert(("unsupported", operation), Verdict::Wrong(why));
            }
        }
    }

    fn phase(&mut self, phase: &'static str) {
        let mut operations = self.case.operations();
        if self.case.incoming_calls.is_some() {
            operations.push("prepare");
        }
        for operation in operations {
            let verdict = self.served.judge(&self.case, operation);
            if verdict == Verdict::Right && self.first.is_none() {
                self.first = Some(self.began.elapsed());
            }
            self.verdicts.insert((phase, operation), verdict);
        }
    }

    /// Keeps the answers in this state.
    fn keep(&mut self, state: &'static str) {
        let operations = self.case.operations();
        let recorded = operations.into_iter().filter_map(|operation| self.served.record(&self.case, operation));
        self.recorded.insert(state, recorded.collect());
    }

    fn changes(&mut self) {
        if let Some(edit) = &self.case.edit {
            self.served.project.edit(edit);
            self.phase("edit");
        }
        if let Some(new) = &self.case.new_file {
            self.served.project.create(new);
            self.phase("new");
        }
        if let Some(rename) = &self.case.rename {
            self.served.project.rename(rename);
            self.phase("rename");
        }
        self.keep("changed");
        let root = self.served.project.root.clone();
        git(&root, &["checkout", "-q", "-b", CHANGED]);
        let files = git(&root, &["ls-files", "--others", "--modified", "--deleted", "--exclude-standard"]);
        git(&root, &["add", "-A", "--", "."]);
        if !files.is_empty() {
            git(&root, &["commit", "-q", "-m", "changed"]);
        }
        git(&root, &["checkout", "-q", FIRST]);
        self.served.project.reset();
        self.phase("branch");
        self.keep("first");
    }

    fn record(&mut self, version: String) -> Record {
        let memory = self.served.yard.descendants().iter().map(|process| resident(process.pid)).sum::<u64>();
        let known = |phase: &str, operation: &str| {
            let name = format!("{phase} {operation}");
            self.case.known.iter().any(|known| known.split(": ").next() == Some(name.as_str()))
        };
        Record::new(&self.case, version, &self.verdicts, &known, self.first, memory)
    }
}

/// The memory of a process in bytes, with its part of what it shares.
fn resident(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let kilobytes =
        text.lines().find_map(|line| line.strip_prefix("Pss:")?.trim().split(' ').next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

/// Whether all texts of a case are found in its project, before and after each change.
pub(crate) fn check_texts(kind: &str) {
    let case = Case::read(kind);
    assert_eq!(case.kind, kind);
    let folder = tempfile::tempdir().expect("a folder");
    case.copy_project(folder.path());
    let mut project = Project::new(folder.path().into());
    find_all(&case, &project);
    if let Some(edit) = &case.edit {
        project.edit(edit);
        find_all(&case, &project);
    }
    if let Some(new) = &case.new_file {
        assert!(!project.root.join(&new.path).exists(), "{kind}: {} is there already", new.path);
        project.create(new);
        find_all(&case, &project);
    }
    if let Some(rename) = &case.rename {
        project.rename(rename);
        find_all(&case, &project);
    }
    let operations = case.operations();
    for name in super::OPERATIONS {
        let is_unsupported = case.unsupported.iter().any(|unsupported| unsupported == name);
        assert!(operations.contains(&name) != is_unsupported, "{kind}: {name} must be given or unsupported");
    }
}

fn find_all(case: &Case, project: &Project) {
    for at in case.operations().into_iter().filter_map(|operation| case.at(operation)) {
        project.find(at);
    }
    let many = [&case.references, &case.implementation, &case.incoming_calls, &case.outgoing_calls];
    let many = many.into_iter().flatten().flat_map(|many| &many.are);
    let one = case.definition.iter().flat_map(|one| &one.is);
    let found = case.workspace_symbols.iter().flat_map(|search| &search.has);
    project.places(many.chain(one).chain(found).chain(&project.added));
}
