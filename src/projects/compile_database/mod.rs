//! The compile database of a C or C++ project: found, completed, or inferred.
//!
//! Sources of a database, in this order: a `compile_commands.json` of the project; a `build.ninja` of its build folder; a build that the
//! operator allowed; otherwise commands inferred from `compile_flags.txt`, `.clangd`, the build files (read, not run) and the includes of the
//! sources. A database that lists some of the sources gets inferred commands for the others, modelled on the nearest listed source. The
//! server reads the result in its cache folder, where it also writes its index. Invariants: every source that the workspace lists has a
//! command, unless its name isn't UTF-8; the same files give the same bytes; nothing is run unless the operator allowed it.
//!
//! # Code map
//!
//! A place imports only places above it in this table, which a test checks; the files beside this one may be imported by all.
//!
//! | place | holds |
//! |---|---|
//! | [`commands`] | compile commands: databases, ninja files, printed commands |
//! | [`build_files`] | what build files say about flags |
//! | [`headers`] | headers that a build makes, headers of the system |
//! | [`header_search`] | the includes of sources, and the directories that resolve them |
//! | [`build`] | what a build left behind, builds that the operator allowed |
//! | [`fragments`] | files that others include after declarations |
//! | [`inference`] | the inferred command of each source |
//! | [`watch`] | whether a change on disk may change the database |

mod build;
mod build_files;
mod commands;
mod fragments;
mod header_search;
mod headers;
mod inference;
mod language;
mod platforms;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use codeyard_model::coverage::Hidden;

use self::build::{locate, missing_headers, run_build};
use self::build_files::build_hints::{BuildHints, read_text};
use self::commands::database::{self, CompileCommand};
use self::commands::response_files::{self, ResponseFiles};
use self::commands::{flag_filter, ninja};
pub use self::fragments::is_fragment;
use self::header_search::scan_cache::ScanCache;
use self::headers::generated_headers::GeneratedHeaders;
use self::headers::system_headers::SystemHeaders;
use self::inference::{InferredCommand, InferredCommands};
use self::language::{FileRole, role};
use crate::build_report::DATABASE;
use crate::info::{ProjectInfo, ProjectSource, UnresolvedNames};
use crate::limits::{MAX_DATABASE_BYTES, MAX_EXAMPLES, MAX_FRAGMENTS};
use crate::memory::CompileWatch;
use crate::prepare::{PreparedProject, ProjectRequest};
use crate::tree::{Tree, distance};

/// The settings that a project keeps for clangd.
const CLANGD_SETTINGS: &str = ".clangd";
/// The remembered includes, in the cache folder.
const SCAN_CACHE: &str = "includes.txt";

/// What makes inferred commands exact where there is no build.
const COMPILE_FLAGS: &str = "a `compile_flags.txt` in the project root with its `-I` and `-D` options, one per line";

/// A database of the project, or one that was made from a build.
struct BuiltDatabase {
    source: ProjectSource,
    commands: Vec<CompileCommand>,
}

/// Prepares the compile database of a server.
///
/// # Errors
/// Errors of the file system, when the cache folder can't be written.
pub(crate) fn prepare(request: &ProjectRequest<'_>) -> io::Result<PreparedProject> {
    let mut info = ProjectInfo { files_total: request.files.len(), ..ProjectInfo::default() };
    let listed = listed(request, &mut info);
    let tree = Tree::read(request.root);
    let hints = BuildHints::read(request.root, &tree);
    let scans = request.cache.join(SCAN_CACHE);
    let mut cache = ScanCache::load(&scans);
    let built = built_database(request, &tree, &mut info);
    let system = SystemHeaders::of_machine();
    let generated = GeneratedHeaders::new(request.root, &tree, &system, request.generated);
    let inferred = inference::infer(request.root, &tree, &hints, &system, &generated, &listed, &mut cache);
    let headers = generated.finish()?;
    cache.store(&scans, inferred.graph.files.iter().map(|path| &**path))?;
    let (mut commands, mut of_fragments) = match built {
        Some(built) => {
            let mut models = Models::of(&built.commands, request.root);
            let of_fragments = fragment_commands(&inferred, &built.commands, &mut models, request.root);
            (complete(built, &inferred, &mut models, request, &mut info), of_fragments)
        }
        None => {
            describe_inferred(&inferred, &hints, &generated, request.root, &tree, listed.len(), &mut info);
            let plain = |command: &InferredCommand| command.to_command(request.root);
            (inferred.commands.iter().map(plain).collect(), inferred.fragments.iter().map(plain).collect())
        }
    };
    let mut responses = ResponseFiles::default();
    response_files::expand(&mut commands, request.top, &mut responses);
    response_files::expand(&mut of_fragments, request.top, &mut responses);
    info.unresolved.extend(unreadable(&responses, request.top));
    request.memory.set_compiled(CompileWatch::new(request.root, &inferred.graph, responses));
    if tree.skipped > 0 {
        info.problems
            .push(format!("{} files were left out: there are too many, or their names aren't UTF-8", tree.skipped));
    }
    if inferred.shortened > 0 {
        let count = inferred.shortened;
        let limit = MAX_DATABASE_BYTES / 1024 / 1024;
        info.problems.push(format!(
            "the definitions and include directories of {count} files were left out in part: all together are larger than {limit} MiB"
        ));
    }
    if inferred.more_fragments > 0 {
        info.problems.push(format!(
            "{} files that others include are compiled alone: there are more than {MAX_FRAGMENTS} of them",
            inferred.more_fragments
        ));
    }
    flag_filter::filter(&mut of_fragments, request.top);
    let removed = flag_filter::filter(&mut commands, request.top);
    if removed > 0 {
        info.problems.push(format!(
            "{removed} arguments of compile commands were left out, because they load code, write files or read files outside of the workspace"
        ));
    }
    let mut args = vec![format!("--compile-commands-dir={}", request.cache.display())];
    if has_suspicious_settings(request) {
        info.problems.push(
            "`.clangd` is ignored, because it names arguments that load code, write files or read files outside of the workspace".into(),
        );
        args.push("--enable-config=0".into());
    }
    let target = request.cache.join(DATABASE);
    database::write(&target, &commands)?;
    info.cache_files.push(target);
    let digest = watch::digest(&commands, headers);
    let settings_when_ready = fragments::settings(&of_fragments);
    Ok(PreparedProject { info, args, settings_when_ready, digest, ..PreparedProject::default() })
}

/// Response files whose arguments are missing from commands; `None` if there are none.
fn unreadable(responses: &ResponseFiles, top: &Path) -> Option<UnresolvedNames> {
    let shown =
        |path: &PathBuf| path.strip_prefix(top).unwrap_or(Path::new("outside of the workspace")).display().to_string();
    let examples: Vec<String> = responses.unreadable.iter().take(MAX_EXAMPLES).map(shown).collect();
    let first = examples.first()?;
    Some(UnresolvedNames {
        what: format!("arguments of compile commands are in response files that can't be read: {first}"),
        count: responses.unreadable.len(),
        remedy: None,
        hides: Hidden::Uses,
        examples,
    })
}

/// The commands of fragments in a project with a database: that of the includer or of the nearest source is their model.
fn fragment_commands(
    inferred: &InferredCommands,
    commands: &[CompileCommand],
    models: &mut Models,
    root: &Path,
) -> Vec<CompileCommand> {
    if inferred.fragments.is_empty() {
        return vec![];
    }
    let includers = inferred.fragments.iter().filter_map(|command| command.includer.as_deref());
    let includers: BTreeSet<PathBuf> = includers.map(|path| root.join(path)).collect();
    let listed = commands.iter().map(|command| (command.path(), command));
    let own: HashMap<PathBuf, &CompileCommand> = listed.filter(|(path, _)| includers.contains(path)).collect();
    // One that the database lists has a command of its own.
    let unlisted: Vec<_> =
        inferred.fragments.iter().filter(|command| !models.listed.contains(&root.join(&*command.file))).collect();
    let of_model = |command: &InferredCommand| {
        let own = command.includer.as_deref().and_then(|path| own.get(&root.join(path)).copied());
        match own.or_else(|| models.nearest(command, commands)) {
            Some(model) if fragments::is_like_cl(model) => None,
            Some(model) => Some(command.modelled_on(model, root)),
            None => Some(command.to_command(root)),
        }
    };
    unlisted.into_iter().filter_map(of_model).collect()
}

/// Whether a `.clangd` in the project's folders, or above them in the workspace, names what commands must not name.
fn has_suspicious_settings(request: &ProjectRequest<'_>) -> bool {
    let mut folders: BTreeSet<&Path> = request.files.iter().filter_map(|file| file.parent()).collect();
    let above =
        folders.iter().flat_map(|folder| folder.ancestors().take_while(|folder| folder.starts_with(request.top)));
    let above: Vec<&Path> = above.chain([request.root, request.top]).collect();
    folders.extend(above);
    folders.into_iter().any(|folder| match read_text(request.top, &folder.join(CLANGD_SETTINGS)) {
        Some(text) => flag_filter::is_suspicious(&text, folder, request.top),
        // One that can't be read isn't judged, so it must not count.
        None => folder.join(CLANGD_SETTINGS).symlink_metadata().is_ok_and(|found| !found.is_dir()),
    })
}

/// The files of the request as relative paths, sorted.
fn listed(request: &ProjectRequest<'_>, info: &mut ProjectInfo) -> Vec<Box<str>> {
    let below = |path: &PathBuf| path.strip_prefix(request.root).ok().and_then(Path::to_str).map(Box::from);
    let mut listed: Vec<Box<str>> = request.files.iter().filter_map(below).collect();
    let unusable = request.files.len() - listed.len();
    if unusable > 0 {
        info.problems
            .push(format!("{unusable} files have names that aren't UTF-8, so no compile database can list them"));
    }
    listed.retain(|path| role(path).is_some());
    listed.sort_unstable();
    listed.dedup();
    listed
}

/// A database that the project has, or that can be read from or made by its build.
fn built_database(request: &ProjectRequest<'_>, tree: &Tree, info: &mut ProjectInfo) -> Option<BuiltDatabase> {
    let root = request.root;
    let relative = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_path_buf();
    if let Some(path) = locate::database(root) {
        let shown = relative(&path).display().to_string();
        match database::read(&path, request.top) {
            Err(why) => info.problems.push(format!("{shown} can't be used, so commands are inferred: {why}")),
            Ok(found) => {
                if found.gone + found.malformed > 0 {
                    let gone = found.gone;
                    let malformed = found.malformed;
                    info.problems.push(format!("{shown}: {gone} entries name files that don't exist, {malformed} entries lack a file or a command"));
                }
                if !found.commands.is_empty() {
                    return Some(BuiltDatabase {
                        source: ProjectSource::Found { path: relative(&path) },
                        commands: found.commands,
                    });
                }
            }
        }
    }
    let from_ninja = locate::ninja_file(root).and_then(|path| {
        let commands = ninja::read(&read_text(request.top, &path)?, path.parent()?);
        let commands: Vec<CompileCommand> = commands.into_iter().filter(|command| command.path().is_file()).collect();
        let from = relative(&path).display().to_string();
        (!commands.is_empty()).then_some(BuiltDatabase { source: ProjectSource::Inferred { from }, commands })
    });
    if from_ninja.is_some() {
        return from_ninja;
    }
    let (from, commands) = run_build::commands(request, tree, info)?;
    Some(BuiltDatabase { source: ProjectSource::Inferred { from }, commands })
}

/// The commands of a database, and inferred ones for the sources and headers that it leaves out.
fn complete(
    built: BuiltDatabase,
    inferred: &InferredCommands,
    models: &mut Models,
    request: &ProjectRequest<'_>,
    info: &mut ProjectInfo,
) -> Vec<CompileCommand> {
    let BuiltDatabase { source, commands } = built;
    // Headers that no source includes need a command too, or the server wouldn't know them.
    let is_missing = |command: &&InferredCommand| !models.listed.contains(&request.root.join(&*command.file));
    let missing: Vec<&InferredCommand> = inferred.commands.iter().filter(is_missing).collect();
    let sources = missing.iter().filter(|command| !command.is_header).count();
    let listed = request.files.iter().filter(|path| models.listed.contains(path.as_path())).count();
    if sources > 0 {
        info.problems.push(format!(
            "{source} lists {listed} of {} sources; the commands of the others are inferred",
            listed + sources
        ));
        info.remedy = Some("configure and build all targets, so that the compile database lists every source".into());
    }
    info.source = source;
    info.files_known = Some(info.files_total - unusable(info, inferred));
    let more: Vec<CompileCommand> = missing
        .into_iter()
        .map(|command| match models.nearest(command, &commands) {
            Some(model) => command.modelled_on(model, request.root),
            None => command.to_command(request.root),
        })
        .collect();
    commands.into_iter().chain(more).collect()
}

/// Listed files that no command reaches.
fn unusable(info: &ProjectInfo, inferred: &InferredCommands) -> usize {
    info.files_total.saturating_sub(inferred.known).min(info.files_total)
}

/// Finds the listed source that is nearest to another one.
struct Models {
    /// The listed files, as real paths.
    listed: BTreeSet<PathBuf>,
    /// By directory relative to the root, the first command of C and of C++.
    by_dir: BTreeMap<String, [Option<usize>; 2]>,
    found: HashMap<(String, bool), Option<usize>>,
}

impl Models {
    fn of(commands: &[CompileCommand], root: &Path) -> Self {
        let mut by_dir: BTreeMap<String, [Option<usize>; 2]> = BTreeMap::new();
        for (at, command) in commands.iter().enumerate() {
            let path = command.path();
            let Some(path) = path.strip_prefix(root).ok().and_then(Path::to_str) else { continue };
            let Some(FileRole::Source(language)) = role(path) else { continue };
            let places = by_dir.entry(crate::tree::parent(path).to_owned()).or_default();
            places[usize::from(language.is_cpp())].get_or_insert(at);
        }
        Self { listed: database::listed_files(commands), by_dir, found: HashMap::new() }
    }

    fn nearest<'a>(&mut self, command: &InferredCommand, commands: &'a [CompileCommand]) -> Option<&'a CompileCommand> {
        let dir = crate::tree::parent(&command.file);
        let is_cpp = command.language.is_cpp();
        let by_dir = &self.by_dir;
        let found = self.found.entry((dir.to_owned(), is_cpp)).or_insert_with(|| {
            let usable = by_dir.iter().filter_map(|(other, places)| Some((other, places[usize::from(is_cpp)]?)));
            usable.min_by_key(|(other, _)| (distance(dir, other), (*other).clone())).map(|(_, at)| at)
        });
        commands.get((*found)?)
    }
}

/// Says what was inferred, what can't be resolved, and how to do better.
fn describe_inferred(
    inferred: &InferredCommands,
    hints: &BuildHints,
    generated: &GeneratedHeaders<'_>,
    root: &Path,
    tree: &Tree,
    listed: usize,
    info: &mut ProjectInfo,
) {
    if listed == 0 {
        info.files_known = Some(info.files_total);
        return;
    }
    let files: Vec<&str> = hints.used.iter().map(String::as_str).chain(generated.origins()).collect();
    let includes = format!("the includes of {listed} files");
    let from = if files.is_empty() { includes } else { format!("{} and {includes}", files.join(", ")) };
    info.source = ProjectSource::Inferred { from };
    info.files_known = Some(info.files_total - unusable(info, inferred));
    let build = missing_headers::build_command(tree);
    let missing = inferred.graph.unresolved_here(listed);
    info.unresolved.extend(missing_headers::by_cause(&missing, root, tree, build));
    info.remedy = Some(build.map_or_else(|| COMPILE_FLAGS.to_owned(), str::to_owned));
}
