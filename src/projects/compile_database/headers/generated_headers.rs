//! Headers that only a build makes, as far as their content follows from the tree: filled-in templates, the macros that build files name, the
//! options of Kconfig, and the headers in `asm/` that stand for generic ones.
//!
//! They are written below the cache folder, where inferred commands search for them behind the project's own directories; a template for
//! each directory that it concerns, so that several packages of one tree have their own `config.h`. What can't be derived stays unresolved.
//! Invariants: nothing is written into the project; the same tree and the same installed headers give the same bytes; at most
//! [`MAX_GENERATED_HEADERS`] headers are made.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use codeyard_base::digest::{sha256, sha256hex};

use super::export_headers::ExportHeaders;
use super::grammar_headers;
use super::header_templates::{self, template_names};
use super::installed_names::InstalledNames;
use super::kconfig_values;
use super::system_headers::SystemHeaders;
use crate::changed_file::write_if_changed;
use crate::compile_database::build_files::build_hints::read_script;
use crate::compile_database::platforms;
use crate::limits::MAX_GENERATED_HEADERS;
use crate::tree::{Tree, distance, file_name, parent};

/// The folder below that of the request.
const FOLDER: &str = "headers";
/// The folder of headers that don't depend on who includes them.
const SHARED: &str = "shared";
/// Characters of the name of a folder for the headers of one template.
const FOLDER_CHARS: usize = 16;
/// Names by which sources include the options of Kconfig.
const OPTIONS: [&str; 4] = ["generated/autoconf.h", "autoconf.h", "zephyr/autoconf.h", "sdkconfig.h"];

/// Makes headers when they are asked for.
pub(crate) struct GeneratedHeaders<'a> {
    root: &'a Path,
    tree: &'a Tree,
    system: &'a SystemHeaders,
    folder: PathBuf,
    installed: InstalledNames,
    options: OnceCell<Option<String>>,
    exports: OnceCell<ExportHeaders>,
    /// The texts by path below the folder.
    made: RefCell<BTreeMap<String, [u8; 32]>>,
    /// What they were made from, for people.
    origins: RefCell<BTreeSet<&'static str>>,
    /// Directories with results of a configuration.
    configurations: RefCell<BTreeSet<String>>,
    known: RefCell<HashMap<(String, String), Option<String>>>,
    error: Cell<Option<io::Error>>,
}

impl<'a> GeneratedHeaders<'a> {
    /// Makes headers below `generated`.
    pub(crate) fn new(root: &'a Path, tree: &'a Tree, system: &'a SystemHeaders, generated: &Path) -> Self {
        Self {
            root,
            tree,
            system,
            folder: generated.join(FOLDER),
            installed: InstalledNames::default(),
            options: OnceCell::new(),
            exports: OnceCell::new(),
            made: RefCell::default(),
            origins: RefCell::default(),
            configurations: RefCell::default(),
            known: RefCell::default(),
            error: Cell::new(None),
        }
    }

    /// Whether a file of this name may be read here.
    pub(crate) fn is_read(name: &str) -> bool {
        let is_kconfig = name.starts_with("Kconfig") || name == ".config" || name.ends_with("defconfig");
        is_kconfig
            || header_templates::is_template(name)
            || grammar_headers::is_grammar(name)
            || ExportHeaders::is_read(name)
    }

    /// The directory of a header that counts more than files of this name elsewhere in the tree. `candidates` are their directories.
    pub(crate) fn instead(&self, from: &str, name: &str, candidates: &[String], named: &[String]) -> Option<String> {
        if OPTIONS.contains(&name) && !candidates.iter().any(|dir| named.contains(dir)) {
            let options = self.options.get_or_init(|| kconfig_values::header(self.root, self.tree));
            return self.shared(name, options.as_deref()?, "Kconfig");
        }
        // A build writes such a header for each one that the processor's own directory lacks.
        let rest = name.strip_prefix("asm/")?;
        let generic = format!("asm-generic/{rest}");
        let is_generic = ["include", "include/uapi"].iter().any(|dir| self.tree.has(&format!("{dir}/{generic}")));
        let is_own = |dir: &String| {
            named.contains(dir) || dir.starts_with("arch/") && !platforms::is_other_architecture(from, dir)
        };
        if !is_generic || candidates.iter().any(is_own) {
            return None;
        }
        self.shared(name, &format!("#include <{generic}>\n"), "asm-generic")
    }

    /// The directory of a header that is made from a template, a grammar or a build file. Without one that is nearer to `from` than `nearer`:
    /// `None`.
    pub(crate) fn derived(&self, from: &str, name: &str, nearer: Option<usize>) -> Option<String> {
        let Some((source, is_grammar)) = self.source_of(from, name) else { return self.exported(from, name, nearer) };
        if nearer.is_some_and(|nearer| distance(from, parent(&source)) >= nearer) {
            return None;
        }
        let key = (source.clone(), name.to_owned());
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let made = self.derive(&source, name, is_grammar);
        self.known.borrow_mut().insert(key, made.clone());
        made
    }

    /// The directory of a header whose macros a build file names.
    fn exported(&self, from: &str, name: &str, nearer: Option<usize>) -> Option<String> {
        let exports = self.exports.get_or_init(|| ExportHeaders::read(self.root, self.tree));
        let (at, dir) = exports.find(from, name)?;
        if nearer.is_some_and(|nearer| distance(from, dir) >= nearer) {
            return None;
        }
        let key = (format!("export header {at}"), name.to_owned());
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let text = exports.text(at, name, &|name| self.installed.definition(name, self.system));
        let folder = sha256hex(&key.0)[..FOLDER_CHARS].to_owned();
        let made = text.and_then(|text| self.make(&folder, name, &text, "macros of build files"));
        if let Some(dir) = made.clone().filter(|_| exports.is_configuration(at)) {
            self.configurations.borrow_mut().insert(dir);
        }
        self.known.borrow_mut().insert(key, made.clone());
        made
    }

    fn derive(&self, source: &str, name: &str, is_grammar: bool) -> Option<String> {
        let text = read_script(self.root, &self.root.join(source))?;
        let folder = sha256hex(source)[..FOLDER_CHARS].to_owned();
        if is_grammar {
            return self.make(&folder, name, &grammar_headers::header(&text)?, "grammars");
        }
        let filled = header_templates::fill(&text, &|name| self.installed.definition(name, self.system));
        let dir = self.make(&folder, name, &filled.text, "templates of headers")?;
        if filled.is_configuration {
            self.configurations.borrow_mut().insert(dir.clone());
        }
        Some(dir)
    }

    /// The nearest template or grammar of a header, and whether it is a grammar.
    fn source_of(&self, from: &str, name: &str) -> Option<(String, bool)> {
        let nearest = |names: Vec<String>| {
            let whole = names.iter().flat_map(|name| {
                self.tree
                    .dirs_with(name)
                    .map(move |dir| if dir.is_empty() { name.clone() } else { format!("{dir}/{name}") })
            });
            let by_distance = |path: &String| (distance(from, parent(path)), path.clone());
            whole.min_by_key(by_distance).or_else(|| {
                let files = names.iter().flat_map(|name| self.tree.named(file_name(name))).map(str::to_owned);
                files.min_by_key(by_distance)
            })
        };
        let template = nearest(template_names(name)).map(|path| (path, false));
        template.or_else(|| nearest(grammar_headers::grammar_names(name)).map(|path| (path, true)))
    }

    fn shared(&self, name: &str, text: &str, origin: &'static str) -> Option<String> {
        self.make(SHARED, name, text, origin)
    }

    /// Writes a header. Returns the directory to search.
    fn make(&self, folder: &str, name: &str, text: &str, origin: &'static str) -> Option<String> {
        let is_inside = !name.starts_with('/') && !name.split('/').any(|part| part == "..");
        let dir = self.folder.join(folder);
        let dir_text = dir.to_str().filter(|_| is_inside)?.to_owned();
        let key = format!("{folder}/{name}");
        if self.made.borrow().contains_key(&key) {
            return Some(dir_text);
        }
        if self.made.borrow().len() >= MAX_GENERATED_HEADERS {
            return None;
        }
        match write_if_changed(&dir.join(name), text) {
            Ok(()) => {}
            // The name is too long, or another header has the name of its folder.
            Err(error) if is_of_name(error.kind()) => return None,
            Err(error) => {
                self.error.set(Some(error));
                return None;
            }
        }
        self.made.borrow_mut().insert(key, sha256(text));
        self.origins.borrow_mut().insert(origin);
        Some(dir_text)
    }

    /// Whether a directory holds the results of a configuration, which sources include only where `HAVE_CONFIG_H` is defined.
    pub(crate) fn is_configuration(&self, dir: &str) -> bool {
        self.configurations.borrow().contains(dir)
    }

    /// Removes headers that nothing needs any more. Returns a digest of the others.
    ///
    /// # Errors
    /// If the cache folder can't be written.
    pub(crate) fn finish(&self) -> io::Result<[u8; 32]> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let made = self.made.borrow();
        remove_others(&self.folder, "", &made)?;
        let all: String =
            made.iter().map(|(path, digest)| format!("{path}\0{}\n", codeyard_base::digest::hex(digest))).collect();
        Ok(sha256(all))
    }

    /// What the headers were made from, for people.
    pub(crate) fn origins(&self) -> Vec<&'static str> {
        self.origins.borrow().iter().copied().collect()
    }
}

/// Whether a file can't be written because of its name.
fn is_of_name(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{AlreadyExists, InvalidFilename, IsADirectory, NotADirectory};
    matches!(kind, AlreadyExists | InvalidFilename | IsADirectory | NotADirectory)
}

/// Removes the files below `folder` that aren't in `kept`, and the directories that hold none of them.
fn remove_others(folder: &Path, below: &str, kept: &BTreeMap<String, [u8; 32]>) -> io::Result<()> {
    let entries = match fs::read_dir(folder.join(below)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let path = name.to_str().map(|name| if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") });
        let is_dir = entry.file_type()?.is_dir();
        match path {
            Some(path) if is_dir && kept.keys().any(|kept| kept.starts_with(&format!("{path}/"))) => {
                remove_others(folder, &path, kept)?;
            }
            Some(path) if kept.contains_key(&path) => {}
            _ if is_dir => fs::remove_dir_all(entry.path())?,
            _ => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}
