//! Which specifiers of `require` may lead to a module, by their last part. The server decides whether they do.

use std::path::{Path, PathBuf};

use codeyard_files::gate::Gate;
use codeyard_index::commonjs::RequireCall;
use serde_json::Value;

/// Quotes of a specifier.
const QUOTES: [char; 3] = ['\'', '"', '`'];

/// The last parts of specifiers that may lead to a module: its name, and the names of the folders and packages that it may stand for.
pub(super) fn words(gate: &Gate, module: &Path) -> Vec<String> {
    let names = module.file_stem().into_iter().chain(module.file_name());
    let mut words: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    let top = gate.root_set().root_of(module).map(Path::to_path_buf).unwrap_or_default();
    for folder in module.ancestors().skip(1).take_while(|folder| folder.starts_with(&top)) {
        words.extend(folder.file_name().map(|name| name.to_string_lossy().into_owned()));
        words.extend(package_name(gate, folder));
    }
    words.extend([".".to_owned(), "..".to_owned()]);
    words.sort();
    words.dedup();
    words
}

/// The last part of the name of the package in a folder.
fn package_name(gate: &Gate, folder: &Path) -> Option<String> {
    let uri = gate.path(&folder.join("package.json")).ok()?;
    let (bytes, _) = gate.read(&uri, codeyard_lsp::limits::MAX_DOCUMENT_BYTES).ok()?;
    let manifest: Value = serde_json::from_slice(&bytes).ok()?;
    let name = manifest.get("name")?.as_str()?;
    Some(name.rsplit('/').next().unwrap_or(name).to_owned())
}

/// How the text of a file that has such a specifier goes on behind it.
pub(super) fn ends(words: &[String]) -> Vec<String> {
    let quoted = |word: &String| QUOTES.map(|quote| [format!("{word}{quote}"), format!("{word}/{quote}")]).concat();
    words.iter().flat_map(quoted).collect()
}

/// Whether a specifier may lead to a module with these words.
pub(super) fn may_lead_to(call: &RequireCall, words: &[String]) -> bool {
    let text = call.specifier.name.trim_end_matches('/');
    let last = text.rsplit('/').next().unwrap_or_default();
    words.iter().any(|word| word == last)
}

/// The file of JavaScript that a file of declarations describes.
pub(super) fn javascript_of(declarations: &Path) -> Option<PathBuf> {
    let name = declarations.file_name()?.to_str()?;
    let endings = [(".d.ts", ".js"), (".d.cts", ".cjs"), (".d.mts", ".mjs")];
    let described = endings.iter().find_map(|(from, to)| Some(format!("{}{to}", name.strip_suffix(from)?)))?;
    Some(declarations.with_file_name(described))
}
