//! `codeyard servers install`: installs the named kinds, or those that the files of a folder or of a configuration's workspaces need.
//!
//! Invariants: what can't be installed is printed before anything is fetched; kinds that nobody has named are compiled only after a yes.

use std::cmp::Reverse;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::args::InstallServersArgs;
use crate::shared::server_diagnosis::{FolderDiagnosis, MissingKind, ServerDiagnosis};
use crate::shared::server_installation::{InstallContext, install_failure, install_kinds};
use crate::shared::{assemble, output, root_folder};
use codeyard_engine::supervisor::server_selection_check;
use codeyard_lsp::install::InstallError;
use codeyard_lsp::registry::{InstallSource, ServerSelection};
use codeyard_model::roots::RootSet;

/// Whether the person agrees to what would be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    /// Not asked yet.
    Ask,
    /// `--yes`: to everything.
    Given,
    /// A script that nobody can answer for: to everything but what is compiled for long.
    Script,
    /// `--dry-run`: install nothing.
    DryRun,
}

impl Consent {
    fn of(args: &InstallServersArgs) -> Self {
        match () {
            () if args.dry_run => Self::DryRun,
            () if args.yes => Self::Given,
            () if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() => Self::Script,
            () => Self::Ask,
        }
    }
}

pub(super) fn run(args: &InstallServersArgs) -> Result<(), Failure> {
    let context = InstallContext::open(&args.registry)?;
    let consent = Consent::of(args);
    let mut needed = match &args.for_path {
        Some(path) => needed_below(&context, path)?,
        None if args.kinds.is_empty() => needed_by_workspaces(&context, args)?,
        None => Vec::new(),
    };
    needed.retain(|one| !args.kinds.contains(&one.kind));
    let mut obstacles = Vec::new();
    needed.retain(|one| match obstacle(&context, &one.kind) {
        Some(error) => {
            obstacles.push(format!("{}: {error}", files_text(one)));
            false
        }
        None => true,
    });
    for obstacle in &obstacles {
        output::eprint_line(format_args!("cannot be installed here: {obstacle}"));
    }
    if !needed.is_empty() || consent == Consent::DryRun && !args.kinds.is_empty() {
        show_plan(&context, &args.kinds, &needed);
    }
    if args.kinds.is_empty() && needed.is_empty() && obstacles.is_empty() {
        output::eprint_line("nothing to install; `codeyard doctor PATH` shows which servers serve the files there");
        return install_all(&context, Vec::new(), args.json);
    }
    let is_declined = match consent {
        Consent::DryRun => true,
        Consent::Ask if !needed.is_empty() => !is_confirmed("Install?", true)?,
        _ => false,
    };
    if is_declined {
        output::eprint_line("nothing was installed; `codeyard servers install KIND` installs one of them");
        return Ok(());
    }
    let needed = without_compiled(&context, needed, consent)?;
    let kinds: Vec<String> = args.kinds.iter().cloned().chain(needed.into_iter().map(|one| one.kind)).collect();
    install_all(&context, kinds, args.json)
}

/// Installs the kinds, each one also if another one fails, until a signal asks this process to end.
fn install_all(context: &InstallContext, kinds: Vec<String>, json: bool) -> Result<(), Failure> {
    let mut done = Vec::new();
    let mut failed = Vec::new();
    let mut interrupted = None;
    let count = kinds.len();
    for (number, kind) in kinds.iter().enumerate() {
        if count > 1 {
            output::eprint_line(format_args!("{} of {count}: {kind}", number + 1));
        }
        match install_kinds(context, std::slice::from_ref(kind)) {
            Ok(installed) => done.extend(installed),
            Err(error @ InstallError::Interrupted { .. }) => {
                interrupted = Some((error, &kinds[number + 1..]));
                break;
            }
            Err(error) => failed.push(error),
        }
    }
    if json {
        let shown: Vec<serde_json::Value> = done
            .iter()
            .map(|one| serde_json::json!({"kind": one.kind, "version": one.version, "folder": one.folder}))
            .collect();
        output::print_json(&shown)?;
    }
    // The exit code is that of the interruption, or else of the first failure.
    let ending = interrupted.as_ref().map(|(error, _)| error);
    let code = ending.or(failed.first()).map(|error| install_failure(error).code);
    let mut messages: Vec<String> = failed.iter().chain(ending).map(|error| install_failure(error).message).collect();
    if let Some((_, left @ [_, ..])) = interrupted {
        messages.push(format!("not begun: `codeyard servers install {}`", left.join(" ")));
    }
    code.map_or(Ok(()), |code| Err(Failure { message: messages.join("\n"), code }))
}

/// Shows the kinds with the files that need them, their sources and sizes.
fn show_plan(context: &InstallContext, named: &[String], needed: &[MissingKind]) {
    let mut total = 0;
    let mut unknown = 0;
    let named = named.iter().map(|kind| (kind, String::new()));
    let all: Vec<(&String, String)> =
        named.chain(needed.iter().map(|one| (&one.kind, format!("  for {}", files_text(one))))).collect();
    for (kind, files) in &all {
        let Some(server) = context.registry.servers.get(*kind) else { continue };
        let size = match server.installed_mib {
            0 => "size unknown".to_owned(),
            size => format!("{size} MiB"),
        };
        total += server.installed_mib;
        unknown += u32::from(server.installed_mib == 0);
        let source = server.install.as_ref().map_or_else(String::new, install_source);
        output::eprint_line(format_args!("  {kind:<28} {size:>12}  {source}{files}"));
    }
    let count = if all.len() == 1 { "1 language server".to_owned() } else { format!("{} language servers", all.len()) };
    let unknown = if unknown == 0 { String::new() } else { format!(" and {unknown} of unknown size") };
    output::eprint_line(format_args!("{count}, about {total} MiB on disk{unknown}"));
}

fn files_text(one: &MissingKind) -> String {
    let files = if one.files == 1 { "1 file".to_owned() } else { format!("{} files", one.files) };
    format!("{files} of {}", one.languages.join(", "))
}

fn install_source(source: &InstallSource) -> String {
    let Some(packages) = source.packages() else { return String::new() };
    let compiled = if packages.are_compiled { ", compiled here" } else { "" };
    format!("{}{compiled}: {}", packages.registry, packages.names.join(" "))
}

/// Asks a question. An empty line is the answer `default`.
fn is_confirmed(question: &str, default: bool) -> Result<bool, Failure> {
    eprint!("{question} {} ", if default { "[Y/n]" } else { "[y/N]" });
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(|error| Failure::new(format!("no answer: {error}; pass --yes")))?;
    let answer = line.trim().to_lowercase();
    // An end of the input is no answer.
    Ok(line.ends_with('\n') && (matches!(&*answer, "y" | "yes") || answer.is_empty() && default))
}

/// The kinds without those that would be compiled here, for minutes, and that the person doesn't want.
fn without_compiled(
    context: &InstallContext,
    needed: Vec<MissingKind>,
    consent: Consent,
) -> Result<Vec<MissingKind>, Failure> {
    let mut kept = Vec::new();
    for one in needed {
        let source = context.registry.servers.get(&one.kind).and_then(|server| server.install.as_ref());
        let is_compiled = source.and_then(InstallSource::packages).is_some_and(|packages| packages.are_compiled);
        let kind = &one.kind;
        let files = files_text(&one);
        let is_wanted = match consent {
            Consent::Ask if is_compiled => {
                is_confirmed(&format!("{kind} is compiled here, which takes minutes, for {files}. Compile it?"), false)?
            }
            Consent::Script if is_compiled => false,
            _ => true,
        };
        if is_wanted {
            kept.push(one);
        } else {
            output::eprint_line(format_args!(
                "{kind} would be compiled here, for {files}; `codeyard servers install {kind}` does it, or --yes"
            ));
        }
    }
    Ok(kept)
}

/// Why a kind can't be installed here.
fn obstacle(context: &InstallContext, kind: &str) -> Option<InstallError> {
    let server = context.registry.servers.get(kind)?;
    context.installer.obstacle(kind, server)
}

/// The kinds that the files at a path need and that are not installed.
fn needed_below(context: &InstallContext, path: &Path) -> Result<Vec<MissingKind>, Failure> {
    let path = path.canonicalize().map_err(|error| {
        Failure::missing(format!("cannot read {}: {error}; check the path given to --for", path.display()))
    })?;
    let selection = ServerSelection::default();
    // Nothing is served: without a root, the lookup of markers ends at the folder itself.
    let root = root_folder::root_for(&path).unwrap_or_else(|| root_folder::own_folder(&path).to_owned());
    let diagnosis = ServerDiagnosis::of_folder(&context.registry, &context.installer, &selection, &root);
    let folder_diagnosis = if path.is_dir() {
        diagnosis.folder(&root)
    } else {
        diagnosis.files(&root, std::slice::from_ref(&path), false)
    };
    Ok(folder_diagnosis.missing())
}

/// The kinds that the files of a configuration's workspaces need and that are not installed. Those that most files need first.
fn needed_by_workspaces(context: &InstallContext, args: &InstallServersArgs) -> Result<Vec<MissingKind>, Failure> {
    let Some(file) = &args.registry.config else { return Ok(Vec::new()) };
    let config = assemble::read_config(file)?;
    let mut all = Vec::new();
    for workspace in &config.workspaces {
        let selection = server_selection_check::selection(workspace, &config.syntactic_of(workspace), &[]);
        let real = |roots: &[PathBuf]| roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
        let roots = RootSet::of_real_paths(real(&workspace.roots), real(&workspace.extra_roots));
        let diagnosis = ServerDiagnosis {
            registry: &context.registry,
            installer: &context.installer,
            selection: &selection,
            roots,
        };
        let folders: Vec<FolderDiagnosis> = diagnosis.roots.roots().iter().map(|root| diagnosis.folder(root)).collect();
        for one in folders.iter().flat_map(FolderDiagnosis::missing) {
            MissingKind::add(&mut all, &one.kind, &one.languages, one.files);
        }
    }
    all.sort_by_key(|one: &MissingKind| Reverse(one.files));
    Ok(all)
}
