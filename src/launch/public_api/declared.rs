//! The public API of languages whose declarations say who may use them: Java, Kotlin, C#, Go, PHP, Ruby, Swift, C and C++.
//!
//! A file is read by itself; a type and its members may be in several files. Invariant: an item is listed only if all that surrounds it is
//! public too.

use codeyard_index::{Language, Symbol};
use codeyard_model::code::{SymbolKind, Visibility};

use super::Selection;
use crate::repository::product_sources::{ParsedSource, folder};

/// What the rules need to know of the package.
pub(super) struct PackageNames {
    /// The path of a Go module, the name of a Swift package.
    pub(super) name: Option<String>,
    /// The folder of its manifest.
    pub(super) folder: String,
    /// Folders whose headers are for users; empty if all are.
    pub(super) header_folders: Vec<String>,
}

/// The items of one file that users see.
pub(super) fn select(file: usize, source: &ParsedSource, names: &PackageNames, to: &mut Vec<Selection>) {
    let Some(module) = module_of(source, names) else { return };
    let is_internal = |symbol: &Symbol| {
        let is_package = symbol.kind == SymbolKind::Module && symbol.parent.is_none();
        is_package && symbol.name.to_lowercase().split('.').any(|part| part == "internal")
    };
    let has_packages = matches!(source.language, Language::JAVA | Language::KOTLIN | Language::CSHARP);
    if has_packages && source.symbols.iter().any(is_internal) {
        return;
    }
    let walk = Walk { file, source };
    walk.add_inner(None, &Place { module, owner: None, is_open: true, is_public_block: false, depth: 0 }, to);
}

/// What surrounds a symbol.
struct Place {
    module: String,
    /// The qualified name of the type around it.
    owner: Option<String>,
    /// Members are public without a modifier: those of an interface, an enumeration.
    is_open: bool,
    /// A `public extension` of Swift.
    is_public_block: bool,
    depth: usize,
}

struct Walk<'a> {
    file: usize,
    source: &'a ParsedSource,
}

impl Walk<'_> {
    fn add_inner(&self, parent: Option<u32>, place: &Place, to: &mut Vec<Selection>) {
        if place.depth > 8 {
            return;
        }
        for (at, symbol) in self.source.children(parent) {
            let Ok(number) = u32::try_from(at) else { return };
            match symbol.kind {
                SymbolKind::Use => {}
                SymbolKind::Module if self.source.language == Language::SWIFT => {}
                SymbolKind::Module => {
                    let Some(inner) = self.inner_module(symbol, place) else { continue };
                    self.add_inner(Some(number), &inner, to);
                }
                SymbolKind::Impl => {
                    let inner = Place {
                        module: place.module.clone(),
                        owner: Some(symbol.name.clone()),
                        is_open: false,
                        is_public_block: symbol.marker.contains("public"),
                        depth: place.depth + 1,
                    };
                    self.add_inner(Some(number), &inner, to);
                }
                _ if self.is_shown(symbol, place) => self.add(at, number, symbol, place, to),
                _ => {}
            }
        }
    }

    fn add(&self, at: usize, number: u32, symbol: &Symbol, place: &Place, to: &mut Vec<Selection>) {
        let language = self.source.language;
        let mut module = place.module.clone();
        let mut owner = place.owner.clone();
        if let (None, Some(scope)) = (&owner, &symbol.scope) {
            match language {
                Language::GO => owner = Some(scope.clone()),
                // A definition outside of its class or namespace repeats a declaration.
                Language::C | Language::CPP => return,
                _ => module.clone_from(scope),
            }
        }
        let is_static = symbol.marker.contains("static") || symbol.signature.starts_with("def self.");
        let separator = match language {
            Language::CPP | Language::PHP | Language::C => "::",
            Language::RUBY if symbol.kind == SymbolKind::Const || holds_members(symbol.kind) => "::",
            Language::RUBY if !is_static => "#",
            _ => ".",
        };
        let qualified = match &owner {
            Some(owner) => format!("{owner}{separator}{}", symbol.name),
            None => symbol.name.clone(),
        };
        match &owner {
            Some(owner) => to.push(Selection::member(self.file, at, &module, owner, &qualified)),
            None => to.push(Selection::top(self.file, at, &module, &qualified)),
        }
        if holds_members(symbol.kind) {
            let is_open = matches!(symbol.kind, SymbolKind::Interface | SymbolKind::Trait | SymbolKind::Enum);
            let depth = place.depth + 1;
            let inner = Place { module, owner: Some(qualified), is_open, is_public_block: false, depth };
            self.add_inner(Some(number), &inner, to);
        }
    }

    /// The inside of a namespace; `None` if it isn't for users.
    fn inner_module(&self, symbol: &Symbol, place: &Place) -> Option<Place> {
        let separator = match self.source.language {
            Language::CPP | Language::RUBY => "::",
            Language::PHP => "\\",
            _ => ".",
        };
        let is_internal = |part: &str| {
            let part = part.to_lowercase();
            matches!(part.as_str(), "detail" | "details" | "internal" | "impl" | "priv" | "private")
                || part.starts_with('_')
        };
        let is_cpp = self.source.language == Language::CPP;
        let is_hidden = symbol.doc.contains(":nodoc:") || symbol.doc.contains("@api private");
        if is_cpp && symbol.name.split("::").any(is_internal) || is_hidden {
            return None;
        }
        // An inline namespace of a version isn't written by users.
        let is_inline = symbol.marker.contains("inline") || symbol.signature.starts_with("inline ");
        let is_header_name = is_cpp && is_header(&place.module);
        let module = match place.module.as_str() {
            outer if is_inline && !is_header_name => outer.to_owned(),
            "" => symbol.name.clone(),
            _ if is_header_name => symbol.name.clone(),
            outer => format!("{outer}{separator}{}", symbol.name),
        };
        Some(Place { module, owner: None, is_open: true, is_public_block: false, depth: place.depth + 1 })
    }

    fn is_shown(&self, symbol: &Symbol, place: &Place) -> bool {
        let has = |word: &str| symbol.marker.split([' ', '(']).any(|marker| marker == word);
        let is_closed = has("private") || has("protected") || has("internal") || has("fileprivate");
        let is_top = place.owner.is_none();
        let doc = &symbol.doc;
        if ["@internal", ":nodoc:", "@api private", "@hide", "@exclude"].iter().any(|word| doc.contains(word)) {
            return false;
        }
        match self.source.language {
            Language::JAVA => has("public") || !is_top && place.is_open && !is_closed,
            Language::CSHARP => has("public") || !is_top && place.is_open && !is_closed,
            Language::KOTLIN => !is_closed && !has("override") && !symbol.name.starts_with('`'),
            Language::SWIFT => {
                let is_case = symbol.kind == SymbolKind::Const && place.is_open && !is_top;
                has("public")
                    || has("open")
                    || !is_top && (place.is_open || place.is_public_block) && !is_closed
                    || is_case
            }
            Language::GO => {
                let is_exported = |name: &str| name.starts_with(char::is_uppercase);
                is_exported(&symbol.name) && symbol.scope.as_deref().is_none_or(is_exported)
            }
            Language::PHP => {
                let is_free_value = is_top && symbol.kind == SymbolKind::Variable;
                symbol.visibility == Visibility::Public && !is_free_value
            }
            Language::RUBY => symbol.visibility == Visibility::Public && !symbol.name.starts_with(['@', '$', '_']),
            _ => self.is_shown_in_header(symbol, is_top),
        }
    }

    fn is_shown_in_header(&self, symbol: &Symbol, is_top: bool) -> bool {
        let is_forward = !symbol.is_definition && holds_members(symbol.kind);
        let is_inline = symbol.marker.contains("inline") || symbol.signature.contains("inline ");
        let is_static = symbol.marker.contains("static") && is_top && !is_inline;
        let is_macro = symbol.kind == SymbolKind::Macro;
        let has_value = symbol.signature.split_whitespace().count() > 2 || symbol.signature.contains('(');
        let is_guard = is_macro && !has_value;
        let is_public = symbol.visibility == Visibility::Public || is_top && is_inline;
        let is_reserved = symbol.name.starts_with('_') || symbol.name.starts_with('~');
        let is_cpp_macro = is_macro && self.source.language == Language::CPP && symbol.doc.is_empty();
        let is_keyword = matches!(symbol.name.as_str(), "namespace" | "class" | "struct" | "template");
        is_public && !is_keyword && !is_forward && !is_static && !is_guard && !is_reserved && !is_cpp_macro
    }
}

fn holds_members(kind: SymbolKind) -> bool {
    use SymbolKind::{Class, Enum, Interface, Struct, Trait};
    matches!(kind, Class | Enum | Interface | Struct | Trait)
}

fn is_header(path: &str) -> bool {
    let extension = path.rsplit('.').next().unwrap_or_default();
    path.contains('.') && matches!(extension, "h" | "hpp" | "hh" | "hxx" | "h++" | "H" | "cuh" | "inl" | "ipp" | "tpp")
}

/// What users import a file's items from, before its namespaces; `None` if the file isn't for users.
fn module_of(source: &ParsedSource, names: &PackageNames) -> Option<String> {
    let path = source.path();
    match source.language {
        Language::GO => {
            let package = source.symbols.iter().find(|symbol| symbol.kind == SymbolKind::Module);
            let is_command = package.is_some_and(|package| package.name == "main");
            let below = folder(path).strip_prefix(&names.folder).unwrap_or(folder(path)).trim_matches('/');
            let is_hidden = below
                .split('/')
                .any(|part| matches!(part, "internal" | "testdata" | "vendor") || part.starts_with('_'));
            if is_command || is_hidden || path.ends_with("_test.go") {
                return None;
            }
            let top = names.name.clone().unwrap_or_default();
            Some(if below.is_empty() { top } else { format!("{top}/{below}") })
        }
        Language::SWIFT => {
            let target = path.split_once("Sources/").and_then(|(_, rest)| rest.split_once('/'));
            Some(target.map(|(target, _)| target.to_owned()).or_else(|| names.name.clone()).unwrap_or_default())
        }
        Language::C | Language::CPP => {
            let inside = names.header_folders.iter().find_map(|folder| path.strip_prefix(&format!("{folder}/")));
            let is_internal = |part: &str| {
                matches!(
                    part,
                    "detail" | "details" | "internal" | "impl" | "private" | "priv" | "thirdparty" | "third_party"
                )
            };
            let shown =
                if names.header_folders.is_empty() { Some(path.strip_prefix("src/").unwrap_or(path)) } else { inside };
            shown.filter(|shown| is_header(shown) && !shown.split('/').any(is_internal)).map(str::to_owned)
        }
        // The package or namespace is in the file.
        _ => Some(String::new()),
    }
}

/// The folders whose headers are for users: those named `include`, the ones nearest to the top.
pub(super) fn header_folders(files: &[ParsedSource]) -> Vec<String> {
    let mut folders: Vec<String> = Vec::new();
    for path in files.iter().map(ParsedSource::path).filter(|path| is_header(path)) {
        let mut parts = path.split('/').collect::<Vec<_>>();
        parts.pop();
        if let Some(at) = parts.iter().position(|part| matches!(*part, "include" | "inc")) {
            folders.push(parts[..=at].join("/"));
        }
    }
    let least = folders.iter().map(|folder| folder.matches('/').count()).min().unwrap_or(0);
    folders.retain(|folder| folder.matches('/').count() == least);
    folders.sort();
    folders.dedup();
    folders
}
