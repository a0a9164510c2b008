//! The full name of a symbol: the module or package of its file, the names of the symbols around it, and its own name, with the
//! separators of the language.
//!
//! The index stores only names that the source spells, because a content may have several paths. The module that follows from a path is
//! computed for each answer: it isn't searched, no handle depends on it, and it doesn't change the order of rows.

use crate::facts::Facts;
use crate::language::Language;
use crate::manifest::{Manifest, ManifestEntry};
use codeyard_model::code::SymbolKind;

/// Symbols around a symbol whose names are shown.
const MAX_NAMES: usize = 64;
/// Folders whose files are crates of their own.
const CRATE_FOLDERS: [&str; 4] = ["bin", "tests", "benches", "examples"];

/// The full name of a symbol, and its first part if that follows from the path of the file alone. `package` is the package that a file of Go names.
pub(super) fn qualified_name(
    facts: &Facts,
    at: usize,
    manifest: &Manifest,
    entry: &ManifestEntry,
    package: Option<&str>,
) -> (String, Option<String>) {
    let language = entry.language;
    let is_import = facts.symbols.get(at).is_some_and(|symbol| symbol.kind == SymbolKind::Use);
    let module = match language {
        _ if is_import => Vec::new(),
        Some(Language::RUST) => rust_module(manifest, &entry.path),
        Some(Language::PYTHON) => python_module(manifest, &entry.path),
        _ => Vec::new(),
    };
    let module = Some(module.join(separator(language))).filter(|module| !module.is_empty());
    let mut name = String::new();
    let mut is_namespace = false;
    let mut add = |part: &str, is_module: bool| {
        if !name.is_empty() {
            // PHP separates namespaces, and what is in them, differently from members.
            name += if language == Some(Language::PHP) && is_namespace { "\\" } else { separator(language) };
        }
        name += part;
        is_namespace = is_module;
    };
    let package = package.filter(|_| language == Some(Language::GO) && !is_import && !is_package(facts, at));
    for part in module.as_deref().into_iter().chain(package) {
        add(part, true);
    }
    for (part, is_module) in names(facts, at) {
        add(part, is_module);
    }
    (name, module)
}

/// The names of a symbol's containers and its own name, outermost first, and whether each is one of a module.
fn names(facts: &Facts, at: usize) -> Vec<(&str, bool)> {
    let mut names = Vec::new();
    let mut next = Some(at);
    while let Some(symbol) = next.and_then(|at| facts.symbols.get(at)) {
        names.push((symbol.name.as_str(), symbol.kind == SymbolKind::Module));
        if let Some(scope) = &symbol.scope {
            // Of a symbol at the top of a file, the scope is its package or namespace.
            names.push((scope, symbol.parent.is_none() && symbol.kind != SymbolKind::Method));
        }
        // Ends, because a parent precedes its children.
        let at = next.unwrap_or_default();
        next = symbol.parent.map(|parent| parent as usize).filter(|parent| names.len() < MAX_NAMES && *parent < at);
    }
    names.reverse();
    names
}

fn is_package(facts: &Facts, at: usize) -> bool {
    facts.symbols.get(at).is_some_and(|symbol| symbol.kind == SymbolKind::Module)
}

fn separator(language: Option<Language>) -> &'static str {
    match language {
        Some(
            Language::PYTHON
            | Language::GO
            | Language::JAVA
            | Language::KOTLIN
            | Language::SCALA
            | Language::CSHARP
            | Language::SWIFT
            | Language::TYPESCRIPT
            | Language::TSX
            | Language::JAVASCRIPT
            | Language::VUE
            | Language::SVELTE
            | Language::LUA
            | Language::ZIG
            | Language::DART
            | Language::HASKELL
            | Language::ELIXIR
            | Language::OCAML
            | Language::OCAML_INTERFACE
            | Language::HCL
            | Language::NIX
            | Language::JULIA
            | Language::ELM
            | Language::GRAPHQL
            | Language::SOLIDITY
            | Language::PROTO,
        ) => ".",
        _ => "::",
    }
}

fn has_file(manifest: &Manifest, folders: &[&str], file: &str) -> bool {
    let path: Vec<&str> = folders.iter().copied().chain([file]).collect();
    manifest.find(&path.join("/")).is_some()
}

/// The module of a file of Rust, from the top of its crate. Empty for the file of the crate itself, and if the path names no crate.
fn rust_module<'p>(manifest: &Manifest, path: &'p str) -> Vec<&'p str> {
    let mut folders: Vec<&str> = path.split('/').collect();
    let Some(stem) = folders.pop().and_then(|file| file.strip_suffix(".rs")) else { return Vec::new() };
    let is_top = |length: &usize| {
        let top = &folders[..*length];
        has_file(manifest, top, "lib.rs") || has_file(manifest, top, "main.rs")
    };
    let named = |names: &[&str]| folders.iter().rposition(|folder| names.contains(folder)).map(|at| at + 1);
    let has_top = (0..=folders.len()).rev().find(is_top);
    let Some(top) = has_top.or_else(|| named(&["src"])).or_else(|| named(&CRATE_FOLDERS)) else { return Vec::new() };
    // `src/bin/tool.rs`, `tests/all.rs`
    let is_crate = match folders.get(top..) {
        Some([]) => has_top.is_none() && named(&CRATE_FOLDERS) == Some(top),
        Some(["bin"]) => true,
        _ => false,
    };
    if is_crate {
        return Vec::new();
    }
    let mut module: Vec<&str> = folders.drain(top..).collect();
    let is_top_file = module.is_empty() && matches!(stem, "lib" | "main" | "build");
    if stem != "mod" && !is_top_file {
        module.push(stem);
    }
    module
}

/// The module of a file of Python: the packages around it, which have an `__init__.py`, and its own name.
fn python_module<'p>(manifest: &Manifest, path: &'p str) -> Vec<&'p str> {
    let mut folders: Vec<&str> = path.split('/').collect();
    let file = folders.pop().unwrap_or_default();
    let Some(stem) = file.strip_suffix(".py").or_else(|| file.strip_suffix(".pyi")) else { return Vec::new() };
    let is_package =
        |length: usize| ["__init__.py", "__init__.pyi"].iter().any(|file| has_file(manifest, &folders[..length], file));
    let top = (1..=folders.len()).rev().take_while(|length| is_package(*length)).last().map(|length| length - 1);
    let mut module: Vec<&str> = folders.get(top.unwrap_or(folders.len())..).unwrap_or_default().to_vec();
    if stem != "__init__" {
        module.push(stem);
    }
    let is_name = |part: &&str| part.chars().all(|c| c.is_alphanumeric() || c == '_');
    if module.iter().all(is_name) { module } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::FileClass;

    fn manifest(paths: &[&str]) -> Manifest {
        let entry = |path: &&str| ManifestEntry {
            path: (*path).into(),
            content: 1,
            language: Language::of_file(path, b""),
            size: 1,
            class: FileClass::of(path),
        };
        Manifest::new(paths.iter().map(entry).collect())
    }

    #[test]
    fn modules_of_rust_begin_at_the_top_of_their_crate() {
        let files = manifest(&["engine/lib.rs", "tests/cli/main.rs", "app/src/main.rs", "app/src/bin/tool/main.rs"]);
        for (path, module) in [
            ("src/auth/jwt.rs", "auth::jwt"),
            ("src/auth/mod.rs", "auth"),
            ("src/lib.rs", ""),
            ("crates/vault/src/key/mod.rs", "key"),
            ("engine/lib.rs", ""),
            ("engine/server/life.rs", "server::life"),
            ("app/src/bin/other.rs", ""),
            ("app/src/bin/tool/parts.rs", "parts"),
            ("tests/cli/main.rs", ""),
            ("tests/cli/search.rs", "search"),
            ("tests/all.rs", ""),
            ("tests/common/mod.rs", "common"),
            ("build.rs", ""),
            ("loose/file.rs", ""),
        ] {
            assert_eq!(rust_module(&files, path).join("::"), module, "{path}");
        }
    }

    #[test]
    fn modules_of_python_begin_at_the_outermost_package() {
        let files = manifest(&["src/app/__init__.py", "src/app/auth/__init__.py", "stubs/x/__init__.pyi"]);
        for (path, module) in [
            ("src/app/auth/jwt.py", "app.auth.jwt"),
            ("src/app/__init__.py", "app"),
            ("src/app/__main__.py", "app.__main__"),
            ("src/app/data/load.py", "load"),
            ("stubs/x/y.pyi", "x.y"),
            ("setup.py", "setup"),
            ("bin/run-me.py", ""),
            ("SConstruct", ""),
        ] {
            assert_eq!(python_module(&files, path).join("."), module, "{path}");
        }
    }
}
