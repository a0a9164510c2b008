//! Files of TypeScript that import JavaScript which their configuration leaves out.
//!
//! A configuration without `allowJs` doesn't know such a module, so the file is also listed where the module is: in the inferred project.
//! So are the files that import such files, because they may use what these pass on. Specifiers are found by their text and looked up by
//! their names; a file that is listed without need costs memory and changes no answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::module_names::ModuleNames;
use super::packages::Packages;
use super::projects::AssignedFiles;
use crate::limits::{MAX_INFERRED_FILES, MAX_SCANNED_BYTES, MAX_SPECIFIER_BYTES};
use crate::memory::ProjectMemory;

/// Extensions of JavaScript.
const JAVASCRIPT: [&str; 4] = ["js", "jsx", "mjs", "cjs"];
/// Quotes of a specifier.
const QUOTES: [char; 3] = ['\'', '"', '`'];
/// Words before a specifier that isn't relative.
const BEFORE_NAMES: [&str; 3] = ["from", "import", "require"];

/// The files that import such JavaScript, and how many different modules they import.
#[derive(Debug, Default)]
pub(super) struct JavascriptImporters<'a> {
    /// The files, sorted.
    pub files: Vec<&'a Path>,
    /// The modules, sorted.
    pub modules: BTreeSet<&'a Path>,
}

/// Finds these files. Reads the files of the configurations that leave JavaScript out.
pub(super) fn find<'a>(
    assigned: &'a AssignedFiles<'a>,
    packages: &'a Packages,
    memory: &ProjectMemory,
) -> JavascriptImporters<'a> {
    let modules: BTreeSet<&'a Path> = assigned.unassigned.iter().copied().filter(|file| is_javascript(file)).collect();
    let mut found = JavascriptImporters::default();
    if modules.is_empty() {
        return found;
    }
    let of_configurations = assigned.without_javascript.iter().filter_map(|path| assigned.by_configuration.get(path));
    let files: Vec<&'a Path> = of_configurations.flatten().copied().collect();
    let names = ModuleNames::new(files.iter().chain(&modules).copied(), &assigned.aliases, packages);
    // By file, the files that import it.
    let mut importers: BTreeMap<&'a Path, Vec<&'a Path>> = BTreeMap::new();
    let mut listed: BTreeSet<&'a Path> = BTreeSet::new();
    memory.with_imports(|known| {
        for file in files {
            let specifiers = known.entry(file.to_path_buf()).or_insert_with(|| read_specifiers(file));
            for target in specifiers.iter().flat_map(|specifier| names.targets(file, specifier)) {
                if modules.contains(target) {
                    listed.insert(file);
                    found.modules.insert(target);
                } else {
                    importers.entry(target).or_default().push(file);
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

/// The specifiers in a file, as far as its text says: everything relative between quotes, and names behind words that import.
pub(crate) fn read_specifiers(file: &Path) -> BTreeSet<String> {
    let is_small = fs::metadata(file).is_ok_and(|metadata| metadata.len() <= MAX_SCANNED_BYTES);
    let bytes = if is_small { fs::read(file).unwrap_or_default() } else { Vec::new() };
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

fn is_javascript(file: &Path) -> bool {
    file.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| JAVASCRIPT.contains(&extension))
}
