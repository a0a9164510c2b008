//! Files whose configuration doesn't know what they import from the tree: JavaScript without `allowJs`, and packages of the tree that no
//! `node_modules` links.
//!
//! The inferred project resolves both, so such a file is listed there too. So are the files that import such files, because they may use what
//! these pass on. Specifiers are found by their text and looked up by their names; a file that is listed without need costs memory and
//! changes no answer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_ecosystems::npm::MAX_SPECIFIER_BYTES;
use codeyard_files::gate::read_below;
use codeyard_lsp::registry::MarkerFiles;

use super::module_names::ModuleNames;
use super::packages::Packages;
use super::projects::AssignedFiles;
use crate::limits::{MAX_INFERRED_FILES, MAX_SCANNED_BYTES};
use crate::memory::ProjectMemory;

/// Extensions of JavaScript.
const JAVASCRIPT: [&str; 4] = ["js", "jsx", "mjs", "cjs"];
/// Quotes of a specifier.
const QUOTES: [char; 3] = ['\'', '"', '`'];
/// Words before a specifier that isn't relative.
const BEFORE_NAMES: [&str; 3] = ["from", "import", "require"];

/// The files that import what their configuration doesn't know.
#[derive(Debug, Default)]
pub(super) struct UnknownImports<'a> {
    /// The files, sorted.
    pub files: Vec<&'a Path>,
    /// The modules of JavaScript that they import, sorted.
    pub modules: BTreeSet<&'a Path>,
}

/// Finds these files. Reads the files of configurations that leave JavaScript out and, if a package of the tree isn't linked, those of all
/// configurations.
pub(super) fn find<'a>(
    assigned: &'a AssignedFiles<'a>,
    packages: &'a Packages,
    names: &ModuleNames<'a>,
    top: &Path,
    disk: &dyn MarkerFiles,
    memory: &ProjectMemory,
) -> UnknownImports<'a> {
    let modules: BTreeSet<&'a Path> = assigned.unassigned.iter().copied().filter(|file| is_javascript(file)).collect();
    let mut found = UnknownImports::default();
    let has_unlinked = packages.have_unlinked(disk);
    if modules.is_empty() && !has_unlinked {
        return found;
    }
    let leaves_javascript_out = |path: &PathBuf| !modules.is_empty() && assigned.without_javascript.contains(path);
    let read = assigned.by_configuration.iter().filter(|(path, _)| has_unlinked || leaves_javascript_out(path));
    // By file, the files that import it.
    let mut importers: BTreeMap<&'a Path, Vec<&'a Path>> = BTreeMap::new();
    let mut listed: BTreeSet<&'a Path> = BTreeSet::new();
    memory.with_imports(|known| {
        for (configuration, file) in read.flat_map(|(path, files)| files.iter().map(move |file| (path, *file))) {
            let leaves_out = leaves_javascript_out(configuration);
            let aliases = assigned.aliases_in(Some(configuration));
            let specifiers = known.entry(file.to_path_buf()).or_insert_with(|| read_specifiers(file, top));
            for specifier in specifiers.iter() {
                let is_unlinked = has_unlinked && names.is_unlinked(file, aliases, specifier, disk);
                for target in names.targets(file, specifier) {
                    let is_left_out = leaves_out && modules.contains(target);
                    if is_left_out {
                        found.modules.insert(target);
                    }
                    if is_left_out || is_unlinked {
                        listed.insert(file);
                    } else {
                        importers.entry(target).or_default().push(file);
                    }
                }
            }
        }
    });
    let mut waiting: Vec<&'a Path> = listed.iter().copied().collect();
    while let Some(file) = waiting.pop() {
        for importer in importers.get(file).into_iter().flatten() {
            if listed.len() < MAX_INFERRED_FILES && listed.insert(importer) {
                waiting.push(importer);
            }
        }
    }
    found.files = listed.into_iter().collect();
    found
}

/// The specifiers in a file below `top`, as far as its text says: everything relative between quotes, and names behind words that import.
pub(crate) fn read_specifiers(file: &Path, top: &Path) -> BTreeSet<String> {
    let bytes = read_below(top, file, MAX_SCANNED_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut found = BTreeSet::new();
    for (at, quote) in text.match_indices(QUOTES) {
        let rest = &text[at + quote.len()..];
        if !rest.starts_with('.') && !is_imported(&text[..at]) {
            continue;
        }
        let Some(end) = rest.find(quote) else { continue };
        let specifier = &rest[..end];
        if !specifier.is_empty() && specifier.len() <= MAX_SPECIFIER_BYTES && !specifier.contains(['\n', ' ']) {
            found.insert(specifier.to_owned());
        }
    }
    found
}

/// Whether a text ends with `from`, `import`, `import(` or `require(`.
fn is_imported(before: &str) -> bool {
    let before = before.trim_end();
    let before = before.strip_suffix('(').map_or(before, str::trim_end);
    BEFORE_NAMES.iter().any(|word| before.ends_with(word))
}

pub(super) fn is_javascript(file: &Path) -> bool {
    file.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| JAVASCRIPT.contains(&extension))
}
