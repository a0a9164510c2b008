//! Which specifiers may lead to a module, by their last part and by the manifests of packages.

use std::path::{Path, PathBuf};

use super::sources;
use codeyard_ecosystems::npm::{MANIFEST, PackageJson};
use codeyard_files::gate::Gate;

/// The modules that Node itself has, sorted; no other module can have their names.
const OF_NODE: [&str; 36] = [
    "assert", "async_hooks", "buffer", "child_process", "cluster", "console", "constants", "crypto", "dgram", "dns",
    "domain", "events", "fs", "http", "http2", "https", "inspector", "module", "net", "os", "path", "perf_hooks",
    "process", "querystring", "readline", "repl", "stream", "string_decoder", "timers", "tls", "tty", "url", "util",
    "v8", "vm", "zlib",
];

/// The last parts of specifiers that may lead to a module: its name, and the names of the folders and packages whose
/// module it may be.
pub(super) fn words(gate: &Gate, module: &Path) -> Vec<String> {
    let names = module.file_stem().into_iter().chain(module.file_name());
    let mut words: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    let typed = [("ts", "js"), ("tsx", "js"), ("mts", "mjs"), ("cts", "cjs")];
    if let Some((_, written)) =
        typed.iter().find(|(of, _)| module.extension().is_some_and(|extension| extension == *of))
    {
        words.extend(module.with_extension(written).file_name().map(|name| name.to_string_lossy().into_owned()));
    }
    let is_index = module.file_stem().is_some_and(|stem| stem == "index");
    let top = gate.root_set().root_of(module).map(Path::to_path_buf).unwrap_or_default();
    for folder in module.ancestors().skip(1).take_while(|folder| folder.starts_with(&top)) {
        let manifest = manifest(gate, folder);
        words.extend(manifest.iter().flat_map(|manifest| names_in(manifest, folder, module)));
        let is_own_index = is_index && module.parent().is_some_and(|own| own == folder || own == folder.join("src"));
        if is_own_index || manifest.as_ref().is_some_and(|manifest| is_main(manifest, folder, module)) {
            let name = manifest.as_ref().and_then(PackageJson::name).map(last_part);
            words.extend(name.map(str::to_owned));
            words.extend(folder.file_name().map(|name| name.to_string_lossy().into_owned()));
            words.extend([".".to_owned(), "..".to_owned()]);
        }
    }
    words.sort();
    words.dedup();
    words
}

/// Whether a manifest may name the module as that of the whole package.
fn is_main(manifest: &PackageJson, folder: &Path, module: &Path) -> bool {
    let named = manifest.mapped_modules().into_iter().chain(manifest.all_exports());
    let mut candidates = named.filter_map(|path| candidates_in(folder, path));
    candidates.any(|candidates| candidates.iter().any(|candidate| candidate == module))
}

/// The files that a path in a manifest may name.
pub(super) fn candidates_in(folder: &Path, path: &str) -> Option<Vec<PathBuf>> {
    sources::relative_candidates(&folder.join(MANIFEST), &format!("./{}", path.trim_start_matches("./")))
}

/// The manifest in a folder.
pub(super) fn manifest(gate: &Gate, folder: &Path) -> Option<PackageJson> {
    let uri = gate.path(&folder.join(MANIFEST)).ok()?;
    let (bytes, _) = gate.read(&uri, codeyard_lsp::limits::MAX_DOCUMENT_BYTES).ok()?;
    PackageJson::parse(&String::from_utf8_lossy(&bytes))
}

/// The last parts of the names that the `imports` and `exports` of a package give a module.
fn names_in(manifest: &PackageJson, folder: &Path, module: &Path) -> Vec<String> {
    let is_module = |path: &&str| folder.join(path.trim_start_matches("./")) == module;
    let of_module = manifest.names().filter(|(_, targets)| targets.iter().any(is_module));
    of_module.map(|(name, _)| last_part(name).to_owned()).collect()
}

/// Whether a specifier may lead to a module with these words.
pub(super) fn may_lead_to(specifier: &str, words: &[String]) -> bool {
    words.iter().any(|word| word == last_part(specifier))
}

fn last_part(specifier: &str) -> &str {
    specifier.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// Whether it names a module of Node itself.
pub(super) fn is_of_node(specifier: &str) -> bool {
    let first = specifier.split('/').next().unwrap_or_default();
    specifier.starts_with("node:") || OF_NODE.binary_search(&first).is_ok()
}

/// The file of JavaScript that a file of declarations describes.
pub(super) fn javascript_of(declarations: &Path) -> Option<PathBuf> {
    let name = declarations.file_name()?.to_str()?;
    let endings = [(".d.ts", ".js"), (".d.cts", ".cjs"), (".d.mts", ".mjs")];
    let described = endings.iter().find_map(|(from, to)| Some(format!("{}{to}", name.strip_suffix(from)?)))?;
    Some(declarations.with_file_name(described))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_node_are_known() {
        assert!(OF_NODE.is_sorted() && is_of_node("fs") && is_of_node("fs/promises") && is_of_node("node:test"));
        assert!(!is_of_node("fsx") && !is_of_node("./fs") && !is_of_node(""));
    }
}
