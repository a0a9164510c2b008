//! What of a product's source its users see: the items of its public API, from the symbols of the code index.
//!
//! Each language has its own rules below. It resolves no types and runs nothing of the product. Invariants: tests, examples and code that
//! is generated or foreign don't count; an item has one place and one qualified name; equal sources give equal lists.

mod declared;
mod ecmascript;
mod npm_entries;
mod python_imports;
mod python_package;
mod rust_crates;
mod script_names;
mod use_tree;

use std::collections::BTreeSet;

use codeyard_ecosystems::cargo::CargoManifest;
use codeyard_ecosystems::npm::PackageJson;
use codeyard_index::{Language, Symbol};
use codeyard_runs::stage::{StageError, StopFlag};

use crate::artifacts::repository::{ManifestKind, PackageManifest, RepoInventory};
use crate::limits::MAX_PACKAGE_MANIFEST_BYTES;
use crate::repository::product_sources::{ParsedSource, ProductReader, folder, join};

/// An item that users see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) file: usize,
    pub(crate) symbol: usize,
    /// What users import it from.
    pub(crate) module: String,
    /// Its name below the module.
    pub(crate) qualified: String,
    /// The qualified name of the item around it.
    pub(crate) parent: Option<String>,
}

impl Selection {
    fn top(file: usize, symbol: usize, module: &str, name: &str) -> Self {
        Self { file, symbol, module: module.to_owned(), qualified: name.to_owned(), parent: None }
    }

    fn member(file: usize, symbol: usize, module: &str, parent: &str, qualified: &str) -> Self {
        let parent = Some(parent.to_owned());
        Self { file, symbol, module: module.to_owned(), qualified: qualified.to_owned(), parent }
    }
}

/// The languages in which a product for `platform` has its API.
pub(crate) fn languages(platform: &str) -> &'static [Language] {
    match platform {
        "python" => &[Language::PYTHON],
        "typescript" | "javascript" => &[Language::TYPESCRIPT, Language::TSX, Language::JAVASCRIPT],
        "java" => &[Language::JAVA],
        "dotnet" => &[Language::CSHARP],
        "cpp" => &[Language::CPP, Language::C],
        "go" => &[Language::GO],
        "ruby" => &[Language::RUBY],
        "php" => &[Language::PHP],
        "kotlin" => &[Language::KOTLIN],
        "swift" => &[Language::SWIFT],
        "rust" => &[Language::RUST],
        _ => &[],
    }
}

/// The items of `files` that users of the package see. `manifest` is the one that describes it.
///
/// # Errors
/// If the work has to stop.
pub(crate) fn select(
    platform: &str,
    files: &[ParsedSource],
    inventory: &RepoInventory,
    manifest: Option<&PackageManifest>,
    reader: &ProductReader,
    stop: &StopFlag,
) -> Result<Vec<Selection>, StageError> {
    let name = manifest.and_then(|manifest| manifest.name.as_ref()).map(|name| name.text.clone());
    match platform {
        "rust" => rust_crates::select(files, &crates(inventory, manifest, reader), stop),
        "python" => python_package::select(files, name.as_deref(), stop),
        "typescript" | "javascript" => {
            let entries = |manifest: &PackageManifest| npm_package(manifest, files, reader);
            let own = manifest.filter(|manifest| manifest.kind == ManifestKind::Npm).map(entries).unwrap_or_default();
            let others = inventory.manifests.iter().filter(|manifest| manifest.kind == ManifestKind::Npm);
            let others: Vec<_> = others.take(MAX_PACKAGES).flat_map(entries).collect();
            ecmascript::select(files, &own, &others, stop)
        }
        _ => {
            let names = declared::PackageNames {
                name,
                folder: manifest.map_or_else(String::new, |manifest| folder(&manifest.path).to_owned()),
                header_folders: declared::header_folders(files),
            };
            let is_own = own_files(files, inventory, manifest);
            let has = |folder: &str| files.iter().any(|file| file.path().contains(folder));
            // Gems load `lib`, packages of Swift have their targets below `Sources`.
            let has_lib = has("lib/");
            let has_sources = has("Sources/");
            let is_product = |path: &str| match platform {
                "ruby" => !has_lib || path.starts_with("lib/") || path.contains("/lib/"),
                "swift" => !has_sources || path.contains("Sources/") && !path.contains("Test"),
                "kotlin" | "java" => !path.ends_with(".gradle.kts"),
                _ => true,
            };
            let is_own = |path: &str| is_product(path) && is_own(path);
            let mut selections = Vec::new();
            for (at, source) in files.iter().enumerate().filter(|(_, source)| is_own(source.path())) {
                if stop.is_set() {
                    return Err(StageError::cancelled());
                }
                declared::select(at, source, &names, &mut selections);
            }
            Ok(selections)
        }
    }
}

/// Which files belong to the package of a manifest: those below its folder, without the folders of other packages. A manifest without
/// sources of its own, such as that of a solution, stands for the others of its name. All files if there are none.
fn own_files<'a>(
    files: &[ParsedSource],
    inventory: &'a RepoInventory,
    manifest: Option<&'a PackageManifest>,
) -> impl Fn(&str) -> bool + use<'a> {
    let is_below = |path: &str, folder: &str| {
        folder.is_empty() || path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    let of_kind = inventory.manifests.iter().filter(|other| manifest.is_none_or(|own| own.kind == other.kind));
    let all: BTreeSet<&'a str> = of_kind.clone().map(|other| folder(&other.path)).collect();
    let name = manifest.and_then(|manifest| manifest.name.as_ref()).map(|name| name.text.as_str());
    let is_namesake = |other: &&PackageManifest| {
        let file = other.path.rsplit('/').next().unwrap_or_default();
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        name.is_some() && (Some(stem) == name || other.name.as_ref().map(|other| other.text.as_str()) == name)
    };
    let own: BTreeSet<&'a str> = manifest.map(|manifest| folder(&manifest.path)).into_iter().collect();
    let namesakes: BTreeSet<&'a str> = of_kind.filter(is_namesake).map(|other| folder(&other.path)).collect();
    let is_in = move |path: &str, chosen: &BTreeSet<&str>| {
        // The innermost package around a file.
        let inner = all.iter().filter(|folder| is_below(path, folder)).max_by_key(|folder| folder.len());
        inner.is_some_and(|inner| chosen.contains(inner))
    };
    let is_code = |path: &str| !path.ends_with(".gradle.kts");
    let has_any =
        |chosen: &BTreeSet<&str>| files.iter().any(|source| is_code(source.path()) && is_in(source.path(), chosen));
    let chosen = [own, namesakes].into_iter().find(has_any);
    move |path| chosen.as_ref().is_none_or(|chosen| is_in(path, chosen))
}

/// Packages of a repository whose names are resolved.
const MAX_PACKAGES: usize = 200;

/// The crates of the repository, the product's own first.
fn crates(
    inventory: &RepoInventory,
    manifest: Option<&PackageManifest>,
    reader: &ProductReader,
) -> Vec<rust_crates::CrateRoot> {
    let others = inventory.manifests.iter().filter(|other| Some(*other) != manifest);
    let manifests = manifest.into_iter().chain(others).filter(|manifest| manifest.kind == ManifestKind::Cargo);
    let root = |manifest: &PackageManifest| {
        let name = manifest.name.as_ref()?.text.replace('-', "_");
        let text = reader.text(&manifest.path, MAX_PACKAGE_MANIFEST_BYTES)?;
        let parsed = CargoManifest::parse(&text.text);
        let library = parsed.as_ref().map(CargoManifest::library).unwrap_or_default();
        let path = library.path.unwrap_or("src/lib.rs").trim_start_matches("./");
        let name = library.name.map_or(name, str::to_owned);
        Some(rust_crates::CrateRoot { name, path: join(folder(&manifest.path), path) })
    };
    manifests.take(MAX_PACKAGES).filter_map(root).collect()
}

fn npm_package(
    manifest: &PackageManifest,
    files: &[ParsedSource],
    reader: &ProductReader,
) -> Vec<npm_entries::PackageEntry> {
    let Some(text) = reader.text(&manifest.path, MAX_PACKAGE_MANIFEST_BYTES) else { return Vec::new() };
    let Some(parsed) = PackageJson::parse(&text.text) else { return Vec::new() };
    let paths = files.iter().map(ParsedSource::path).collect();
    npm_entries::entries(&parsed, folder(&manifest.path), &paths)
}

/// The attributes, annotations and decorators of a symbol, as they are written: in the lines above it, in the lines that belong to it, and
/// in front of its name. Comments are left out.
pub(crate) fn attributes_of(source: &ParsedSource, symbol: &Symbol) -> String {
    let first = symbol.line_start as usize;
    let name_line = symbol.name_line as usize;
    let mut top = first;
    while top > 1 && first - top < MAX_ATTRIBUTE_LINES && is_attribute_or_comment(source.source.line(top - 1)) {
        top -= 1;
    }
    let above = (top..name_line).map(|number| source.source.line(number));
    let mut text = above.filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let last = source.source.line(name_line);
    let column = last.char_indices().nth(symbol.name_column as usize).map_or(last.len(), |(at, _)| at);
    text.push('\n');
    text.push_str(&last[..column]);
    text
}

/// Lines of attributes and comments above one definition.
const MAX_ATTRIBUTE_LINES: usize = 60;

fn is_attribute_or_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("#[") || line.starts_with("//") || line.starts_with('@')
}

/// Whether a definition of Rust is left out of its documentation.
fn is_hidden_in_docs(source: &ParsedSource, symbol: &Symbol) -> bool {
    let attributes = attributes_of(source, symbol);
    attributes.contains("doc(hidden)") || attributes.contains("cfg(test)")
}

#[cfg(test)]
mod tests;
