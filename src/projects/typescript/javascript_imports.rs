//! Files of TypeScript that import JavaScript which their configuration leaves out.
//!
//! A configuration without `allowJs` doesn't know such a module, so the file is also listed where the module is: in the inferred project.
//! Only relative specifiers are looked at, by their text; a file that is listed without need costs memory and changes no answer.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::configuration::normalized;
use super::projects::AssignedFiles;
use crate::limits::MAX_SCANNED_BYTES;
use crate::memory::ProjectMemory;

/// Extensions of JavaScript.
const JAVASCRIPT: [&str; 4] = ["js", "jsx", "mjs", "cjs"];
/// Quotes of a specifier.
const QUOTES: [char; 3] = ['\'', '"', '`'];

/// The files that import such JavaScript, and how many different modules they import.
#[derive(Debug, Default)]
pub(super) struct JavascriptImporters<'a> {
    /// The files, sorted.
    pub files: Vec<&'a Path>,
    /// The modules, sorted.
    pub modules: BTreeSet<&'a Path>,
}

/// Finds these files. Reads the files of the configurations that leave JavaScript out.
pub(super) fn find<'a>(assigned: &AssignedFiles<'a>, memory: &ProjectMemory) -> JavascriptImporters<'a> {
    let modules: BTreeSet<&'a Path> = assigned.unassigned.iter().copied().filter(|file| is_javascript(file)).collect();
    let mut found = JavascriptImporters::default();
    if modules.is_empty() {
        return found;
    }
    let files = assigned.without_javascript.iter().filter_map(|path| assigned.by_configuration.get(path)).flatten();
    memory.with_imports(|known| {
        for file in files {
            let specifiers = known.entry(file.to_path_buf()).or_insert_with(|| read_specifiers(file));
            let imported: Vec<&'a Path> =
                specifiers.iter().filter_map(|specifier| module(file, specifier, &modules)).collect();
            if !imported.is_empty() {
                found.files.push(file);
                found.modules.extend(imported);
            }
        }
    });
    found.files.sort();
    found
}

/// The relative specifiers in a file, as far as its text says.
pub(crate) fn read_specifiers(file: &Path) -> BTreeSet<String> {
    let is_small = fs::metadata(file).is_ok_and(|metadata| metadata.len() <= MAX_SCANNED_BYTES);
    let text = if is_small { fs::read_to_string(file).unwrap_or_default() } else { String::new() };
    let mut found = BTreeSet::new();
    for (at, quote) in text.match_indices(QUOTES) {
        let rest = &text[at + quote.len()..];
        let Some(end) = rest.find(quote).filter(|_| rest.starts_with('.')) else { continue };
        let specifier = &rest[..end];
        if !specifier.contains(['\n', ' ']) {
            found.insert(specifier.to_owned());
        }
    }
    found
}

fn is_javascript(file: &Path) -> bool {
    file.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| JAVASCRIPT.contains(&extension))
}

/// The module that a specifier names, if it is one of these.
fn module<'a>(file: &Path, specifier: &str, modules: &BTreeSet<&'a Path>) -> Option<&'a Path> {
    let target = normalized(&file.parent()?.join(specifier))?;
    let with = |text: String| PathBuf::from(format!("{}{text}", target.display()));
    let mut candidates = vec![target.clone()];
    candidates.extend(JAVASCRIPT.iter().map(|extension| with(format!(".{extension}"))));
    candidates.extend(JAVASCRIPT.iter().map(|extension| with(format!("/index.{extension}"))));
    candidates.iter().find_map(|candidate| modules.get(candidate.as_path()).copied())
}
