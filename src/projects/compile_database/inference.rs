//! Infers compile commands for the sources of a tree: every source, with the include directories that its includes need.
//!
//! Headers that no source includes get a command of their own, so that a server that indexes the database knows them too. Invariant: the
//! commands depend only on the tree, the texts of its files and the build files.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::fragments::{self, Fragment};
use super::language::{FileRole, SourceLanguage, role};
use crate::compile_database::build_files::build_hints::{BuildFlags, BuildHints};
use crate::compile_database::commands::database::{CompileCommand, normal};
use crate::compile_database::header_search::conditions::Branch;
use crate::compile_database::header_search::include_graph::{GraphInputs, IncludeGraph};
use crate::compile_database::header_search::scan_cache::ScanCache;
use crate::compile_database::headers::generated_headers::GeneratedHeaders;
use crate::compile_database::headers::system_headers::{SystemHeaders, is_standard};
use crate::limits::{MAX_DATABASE_BYTES, MAX_INCLUDE_DIRS};
use crate::tree::{Tree, file_name, parent};

/// C++ headers that show which standard the sources need, and the standard.
const CPP_STANDARDS: [(&str, &str); 2] = [
    ("gnu++23", " expected print generator mdspan flat_map flat_set stacktrace spanstream "),
    (
        "gnu++20",
        " concepts ranges span format coroutine numbers source_location semaphore latch barrier stop_token syncstream ",
    ),
];

/// Bytes of options that each command may have, however many commands there are.
const MIN_COMMAND_BYTES: usize = 1_024;

/// The definition under which sources include the results of a configuration.
const CONFIGURED: &str = "HAVE_CONFIG_H";

/// The compile commands of a tree, and what they leave open.
pub(super) struct InferredCommands {
    /// One command for each source and for each header that no source includes, sorted by file.
    pub commands: Vec<InferredCommand>,
    /// One command for each file that is compiled after the file that includes it, sorted by file.
    pub fragments: Vec<InferredCommand>,
    /// Such files that have no command, because there are too many.
    pub more_fragments: usize,
    /// Listed files that the commands reach.
    pub known: usize,
    pub graph: IncludeGraph,
    /// Commands whose options were shortened, because all together would be too large.
    pub shortened: usize,
}

/// One inferred command, before it is written with the project root as its directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InferredCommand {
    /// Relative to the root.
    pub file: Box<str>,
    /// The language it is compiled as.
    pub language: SourceLanguage,
    pub is_header: bool,
    /// Options that name include directories, relative to the root.
    pub include_options: Vec<String>,
    /// Definitions, standard, forced headers.
    pub other_options: Vec<String>,
    /// The file that must be included first, relative to the root.
    pub includer: Option<Box<str>>,
}

/// Infers the commands of `listed`, the sorted relative paths of sources and headers.
pub(super) fn infer(
    root: &Path,
    tree: &Tree,
    hints: &BuildHints,
    system: &SystemHeaders,
    generated: &GeneratedHeaders<'_>,
    listed: &[Box<str>],
    cache: &mut ScanCache,
) -> InferredCommands {
    let inputs = GraphInputs { root, tree, hints, system, generated };
    let graph = IncludeGraph::build(&inputs, listed, cache);
    let languages = Languages::of(&graph, listed.len());
    let mut units: Vec<(usize, SourceLanguage, bool)> = Vec::new();
    for (at, path) in listed.iter().enumerate() {
        if let Some(FileRole::Source(language)) = role(path)
            && is_really(language, &graph, at)
        {
            units.push((at, language, false));
        }
    }
    let collections = compiled_once(&mut units, &graph);
    let reached = graph.reachable(units.iter().map(|(at, ..)| *at));
    let included = graph.included();
    for (at, path) in listed.iter().enumerate().filter(|(at, _)| !reached[*at] && !included[*at]) {
        if let Some(FileRole::Header(language)) = role(path) {
            units.push((at, language.unwrap_or_else(|| languages.of_header(&graph, at)), true));
        }
    }
    // Headers that include each other in a circle, and nothing else includes.
    let reached = graph.reachable(units.iter().map(|(at, ..)| *at));
    for (at, path) in listed.iter().enumerate().filter(|(at, _)| !reached[*at]) {
        if let Some(FileRole::Header(language)) = role(path) {
            units.push((at, language.unwrap_or_else(|| languages.of_header(&graph, at)), true));
        }
    }
    units.sort_unstable();
    let known = graph.reachable(units.iter().map(|(at, ..)| *at));
    let known = known[..listed.len()].iter().filter(|known| **known).count() + collections;
    let (fragments, more_fragments) = fragments::find(&graph, listed.len());
    let includers = fragments.iter().map(|fragment| fragment.includer);
    let wanted: Vec<usize> = units.iter().map(|(at, ..)| *at).chain(includers).collect();
    let dirs = graph.include_dirs(&wanted, hints);
    let (dirs, dirs_of_fragments) = dirs.split_at(units.len());
    let mut options = OptionsByDir {
        tree,
        hints,
        flags: HashMap::new(),
        cpp_standard: languages.cpp_standard,
        after: HashMap::new(),
    };
    let most_bytes = (MAX_DATABASE_BYTES as usize / wanted.len().max(1)).max(MIN_COMMAND_BYTES);
    let mut shortened = 0;
    // The options of a command for `file` are those that the file `of` needs.
    let mut command = |file: usize, language, is_header: bool, of: usize, dirs: &[String]| {
        let from = parent(&graph.files[of]);
        let is_of_source = matches!(role(&graph.files[of]), Some(FileRole::Source(_)));
        let needs = graph.scanned[of].needs.as_deref().filter(|_| is_of_source);
        let has_configuration = dirs.iter().any(|dir| generated.is_configuration(dir));
        let needs: Vec<&str> = needs.into_iter().chain(has_configuration.then_some(CONFIGURED)).collect();
        let mut command = InferredCommand {
            file: listed[file].clone(),
            language,
            is_header,
            include_options: options.include_options(from, dirs),
            other_options: options.other_options(from, language, &needs),
            includer: (of != file).then(|| graph.files[of].clone()),
        };
        shortened += usize::from(command.shorten(most_bytes));
        command
    };
    let commands =
        units.iter().zip(dirs).map(|((at, language, is_header), dirs)| command(*at, *language, *is_header, *at, dirs));
    let commands = commands.collect();
    let fragments = fragments.iter().zip(dirs_of_fragments).map(|(fragment, dirs)| {
        let language = languages.of_fragment(&graph, *fragment);
        command(fragment.at, language, true, fragment.includer, dirs)
    });
    let fragments = fragments.collect();
    InferredCommands { commands, fragments, more_fragments, known, shortened, graph }
}

/// Leaves each source that others include with one command, because a server that indexes a file twice keeps what it read first: a source
/// without an include of its own is compiled as a part of those that include it; one with includes by itself, so a file that only collects
/// such sources is left out. Returns the number of these; they hold nothing that a server could know.
fn compiled_once(units: &mut Vec<(usize, SourceLanguage, bool)>, graph: &IncludeGraph) -> usize {
    let sources: BTreeSet<usize> = units.iter().map(|(at, ..)| *at).collect();
    let included = |at: usize| graph.includes_of(at).filter(move |part| *part != at);
    let is_whole = |at: usize| !graph.scanned[at].includes.is_empty();
    let is_collection = |at: usize| {
        let mut parts = included(at).filter(|part| sources.contains(part)).peekable();
        graph.scanned[at].is_only_directives && parts.peek().is_some() && parts.all(is_whole)
    };
    let collections: BTreeSet<usize> = sources.iter().copied().filter(|at| is_collection(*at)).collect();
    let whole = sources.iter().filter(|at| is_whole(**at) && !collections.contains(at));
    let parts: BTreeSet<usize> = whole.flat_map(|at| included(*at)).filter(|part| !is_whole(*part)).collect();
    units.retain(|(at, ..)| !collections.contains(at) && !parts.contains(at));
    collections.len()
}

/// An `.m` file may be something else than Objective-C; then it includes nothing.
fn is_really(language: SourceLanguage, graph: &IncludeGraph, at: usize) -> bool {
    language != SourceLanguage::ObjectiveC || !graph.scanned[at].includes.is_empty()
}

/// What the files together say about languages.
struct Languages {
    has_c: bool,
    has_cpp: bool,
    cpp_standard: &'static str,
}

impl Languages {
    fn of(graph: &IncludeGraph, listed: usize) -> Self {
        let is = |wanted: bool| {
            let sources = graph.files[..listed].iter().filter_map(|path| role(path));
            sources.filter(|role| matches!(role, FileRole::Source(language) if language.is_cpp() == wanted)).count() > 0
        };
        let needs = |names: &str| {
            let scanned = graph.scanned[..listed].iter().flat_map(|file| &file.includes);
            let mut names_of_files =
                scanned.filter(|include| include.branch == Branch::Always).map(|include| format!(" {} ", include.name));
            names_of_files.any(|name| names.contains(&name))
        };
        let has_c = is(false);
        let has_cpp = is(true);
        let newer = CPP_STANDARDS.iter().find(|(_, names)| has_cpp && needs(names));
        Self { has_c, has_cpp, cpp_standard: newer.map_or("gnu++17", |(standard, _)| standard) }
    }

    /// The language of a header whose extension fits both.
    fn of_header(&self, graph: &IncludeGraph, at: usize) -> SourceLanguage {
        let is_cpp = graph.scanned[at].is_cpp || self.has_cpp && !self.has_c;
        if is_cpp { SourceLanguage::Cpp } else { SourceLanguage::C }
    }

    /// The language of a file that is compiled after its includer: that of the includer.
    fn of_fragment(&self, graph: &IncludeGraph, fragment: Fragment) -> SourceLanguage {
        match role(&graph.files[fragment.includer]) {
            Some(FileRole::Source(language) | FileRole::Header(Some(language))) => language,
            _ if graph.scanned[fragment.at].is_cpp || graph.scanned[fragment.includer].is_cpp => SourceLanguage::Cpp,
            _ => fragment.language.unwrap_or_else(|| self.of_header(graph, fragment.includer)),
        }
    }
}

/// Makes options; those of one directory once.
struct OptionsByDir<'a> {
    tree: &'a Tree,
    hints: &'a BuildHints,
    flags: HashMap<String, BuildFlags>,
    cpp_standard: &'static str,
    /// Whether a directory holds a header with the name of a standard one.
    after: HashMap<String, bool>,
}

impl OptionsByDir<'_> {
    fn include_options(&mut self, from: &str, dirs: &[String]) -> Vec<String> {
        let named = self.flags(from).include_dirs.len();
        let mut options = Vec::new();
        for (place, dir) in dirs.iter().take(MAX_INCLUDE_DIRS).enumerate() {
            // A directory that nobody named must not hide the headers of the standard library.
            let is_after = place >= named && self.hides_standard_headers(dir);
            options.push(if is_after { "-idirafter" } else { "-I" }.to_owned());
            options.push(if dir.is_empty() { ".".to_owned() } else { dir.clone() });
        }
        options
    }

    fn other_options(&mut self, from: &str, language: SourceLanguage, needs: &[&str]) -> Vec<String> {
        let default = if language.is_cpp() { self.cpp_standard } else { "gnu17" };
        let flags = self.flags(from);
        let standard = if language.is_cpp() { &flags.cpp_standard } else { &flags.c_standard };
        let standard = standard.as_deref().unwrap_or(default);
        let mut options = vec![format!("-std={standard}")];
        options.extend(flags.flags.iter().cloned());
        for needs in needs {
            let name = needs.split('=').next().unwrap_or_default();
            let sets = |flag: &String| {
                let set = flag.strip_prefix("-D").or_else(|| flag.strip_prefix("-U"));
                set.is_some_and(|set| set.split('=').next() == Some(name))
            };
            // What the build files leave off as a whole is compiled all the same, so that nothing of it is unknown.
            if !flags.flags.iter().any(sets) {
                options.push(format!("-D{needs}"));
            }
        }
        for forced in &flags.forced {
            options.extend(["-include".to_owned(), forced.clone()]);
        }
        if language == SourceLanguage::Cuda {
            options.extend(["-xcuda", "--cuda-host-only", "-nocudainc", "-nocudalib"].map(str::to_owned));
        }
        options
    }

    fn flags(&mut self, dir: &str) -> &BuildFlags {
        if !self.flags.contains_key(dir) {
            self.flags.insert(dir.to_owned(), self.hints.flags_of(dir));
        }
        &self.flags[dir]
    }

    fn hides_standard_headers(&mut self, dir: &str) -> bool {
        if let Some(known) = self.after.get(dir) {
            return *known;
        }
        let prefix = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        let start = self.tree.paths().partition_point(|path| **path < *prefix);
        let below = self.tree.paths()[start..].iter().take_while(|path| path.starts_with(&prefix));
        let mut own = below.filter(|path| parent(path) == dir);
        let hides = own.any(|path| file_name(path).ends_with(".h") && is_standard(file_name(path)));
        self.after.insert(dir.to_owned(), hides);
        hides
    }
}

impl InferredCommand {
    /// Leaves out definitions and the last include directories if the options are larger than `most_bytes`. Returns whether they were.
    fn shorten(&mut self, most_bytes: usize) -> bool {
        let size = |options: &[String]| options.iter().map(String::len).sum::<usize>();
        if size(&self.include_options) + size(&self.other_options) <= most_bytes {
            return false;
        }
        // The first is the standard.
        self.other_options.truncate(1);
        let mut room = most_bytes;
        let pairs = self.include_options.chunks(2).take_while(|pair| match room.checked_sub(size(pair)) {
            Some(left) => {
                room = left;
                true
            }
            None => false,
        });
        let kept = 2 * pairs.count();
        self.include_options.truncate(kept);
        true
    }

    /// The command for a database, with the root as its directory.
    pub(super) fn to_command(&self, root: &Path) -> CompileCommand {
        let mut arguments = vec![driver(self.language)];
        arguments.extend(self.other_options.iter().cloned());
        arguments.extend(self.include_options.iter().cloned());
        self.finish(arguments, root, root, &self.file)
    }

    /// The command for a database, modelled on that of another source.
    pub(super) fn modelled_on(&self, model: &CompileCommand, root: &Path) -> CompileCommand {
        let mut arguments = options_of(model);
        for pair in self.include_options.chunks(2) {
            let dir = root.join(&pair[1]).to_string_lossy().into_owned();
            // Behind those of the model: they only find what the model's don't.
            arguments.extend([pair[0].clone(), dir]);
        }
        let file = root.join(&*self.file).to_string_lossy().into_owned();
        self.finish(arguments, root, &model.directory, &file)
    }

    fn finish(&self, mut arguments: Vec<String>, root: &Path, directory: &Path, file: &str) -> CompileCommand {
        arguments.extend(self.includer.iter().flat_map(|includer| fragments::include_first(root, includer)));
        if self.is_header {
            arguments.push(format!("-x{}", self.language.header_option()));
        }
        let file = if file.starts_with('-') { format!("./{file}") } else { file.to_owned() };
        arguments.extend(["-c".to_owned(), file.clone()]);
        CompileCommand { directory: directory.to_path_buf(), file: PathBuf::from(file), arguments }
    }
}

fn driver(language: SourceLanguage) -> String {
    if language.is_cpp() { "clang++" } else { "clang" }.to_owned()
}

/// The arguments of a command without its source and its outputs.
fn options_of(command: &CompileCommand) -> Vec<String> {
    let own = command.path();
    let mut options = Vec::new();
    let mut words = command.arguments.iter();
    options.extend(words.next().cloned());
    while let Some(word) = words.next() {
        let is_source = !word.starts_with('-') && normal(&command.directory.join(word)) == own;
        match word.as_str() {
            "-o" | "-MF" | "-MT" | "-MQ" => drop(words.next()),
            "-c" | "-MD" | "-MMD" | "-MP" | "-M" | "-MM" | "--" => {}
            _ if is_source || word.starts_with("-o") && word.ends_with(".o") => {}
            _ => options.push(word.clone()),
        }
    }
    options
}
