//! The public API of a Python package: `__all__`, names without an underscore, and what `__init__.py` imports from its own package.
//!
//! It runs nothing: an `__all__` that is computed is read as far as its literals go. Invariant: an item is listed once, under its shortest
//! public module.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use codeyard_index::Symbol;
use codeyard_model::code::SymbolKind;
use codeyard_runs::stage::{StageError, StopFlag};

use super::python_imports::{ImportFrom, exported_names, imports};
use super::{Selection, attributes_of};
use crate::limits::MAX_REEXPORT_STEPS;
use crate::repository::product_sources::{ParsedSource, folder};

/// Steps of name resolution in one repository.
const MAX_STEPS: u32 = 1_000_000;
/// Folders at the top that aren't the product.
const NOT_PACKAGES: [&str; 12] =
    ["test", "tests", "testing", "doc", "docs", "example", "examples", "benchmarks", "scripts", "tools", "tasks", "ci"];
/// Files that aren't modules for users.
const NOT_MODULES: [&str; 6] = ["setup", "conftest", "__main__", "conf", "noxfile", "tasks"];

struct PythonModule {
    file: usize,
    is_package: bool,
    /// The names in `__all__`; `None` without one.
    all: Option<BTreeSet<String>>,
    imports: Vec<ImportFrom>,
    /// The symbols at its top, by name; the last definition of a name counts.
    names: BTreeMap<String, usize>,
}

struct PackageGraph<'a> {
    files: &'a [ParsedSource],
    modules: BTreeMap<String, PythonModule>,
    /// The names of the packages that users import, in lower case; empty if that is unknown.
    own: BTreeSet<String>,
    stop: &'a StopFlag,
    /// Steps of name resolution that are left.
    steps: Cell<u32>,
}

/// The items that users of the package `name` import.
///
/// # Errors
/// If the work has to stop.
pub(super) fn select(
    files: &[ParsedSource],
    name: Option<&str>,
    stop: &StopFlag,
) -> Result<Vec<Selection>, StageError> {
    let graph = PackageGraph::new(files, name, stop);
    let mut found: BTreeMap<(usize, usize), (String, String)> = BTreeMap::new();
    for (path, module) in &graph.modules {
        if stop.is_set() {
            break;
        }
        if !graph.is_own(path) || path.split('.').any(|part| part.starts_with('_')) {
            continue;
        }
        for (name, item) in graph.public_names(path, module) {
            let rank = |path: &str| (path.matches('.').count(), path.to_owned());
            if found.get(&item).is_none_or(|(known, _)| rank(path) < rank(known)) {
                found.insert(item, (path.clone(), name));
            }
        }
    }
    let mut selections = Vec::new();
    for ((file, at), (module, name)) in found {
        selections.push(Selection::top(file, at, &module, &name));
        add_members(&files[file], file, at, &module, &name, &mut selections);
    }
    if stop.is_set() { Err(StageError::cancelled()) } else { Ok(selections) }
}

/// The members of a class that users see: public names and the constructor.
fn add_members(source: &ParsedSource, file: usize, at: usize, module: &str, owner: &str, to: &mut Vec<Selection>) {
    let is_class = matches!(source.symbols[at].kind, SymbolKind::Class);
    if !is_class || owner.matches('.').count() > 4 {
        return;
    }
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    for (member, symbol) in source.children(u32::try_from(at).ok()) {
        let is_shown = symbol.name == "__init__" || !symbol.name.starts_with('_');
        let is_value = matches!(symbol.kind, SymbolKind::Variable | SymbolKind::Field);
        let is_described = !is_value || symbol.signature.contains(':') || !symbol.doc.is_empty();
        if is_shown && is_described && symbol.kind != SymbolKind::Use && !is_repeated(source, symbol) {
            last.insert(&symbol.name, member);
        }
    }
    for (name, member) in last {
        let qualified = format!("{owner}.{name}");
        to.push(Selection::member(file, member, module, owner, &qualified));
        add_members(source, file, member, module, &qualified, to);
    }
}

/// Whether it only adds a signature, a setter or a deleter to another definition.
fn is_repeated(source: &ParsedSource, symbol: &Symbol) -> bool {
    let above = attributes_of(source, symbol);
    above.contains(".setter") || above.contains(".deleter") || above.contains("overload")
}

impl<'a> PackageGraph<'a> {
    fn new(files: &'a [ParsedSource], name: Option<&str>, stop: &'a StopFlag) -> Self {
        let packages: BTreeSet<&str> =
            files.iter().filter(|file| is_init(file.path())).map(|file| folder(file.path())).collect();
        let mut modules = BTreeMap::new();
        for (at, file) in files.iter().enumerate().take_while(|_| !stop.is_set()) {
            let Some(path) = module_path(file.path(), &packages) else { continue };
            // A stub beside a module that exists says the same again.
            let is_stub = file.path().ends_with(".pyi");
            if is_stub && modules.contains_key(&path) {
                continue;
            }
            modules.insert(path, PythonModule::read(at, file));
        }
        let wanted = name.map(normal_name);
        let has_wanted = modules.keys().any(|path: &String| Some(top_package(path)) == wanted);
        let own = wanted.filter(|_| has_wanted).into_iter().collect();
        Self { files, modules, own, stop, steps: Cell::new(MAX_STEPS) }
    }

    /// Whether a module belongs to the product: to the package of its name if there is one.
    fn is_own(&self, path: &str) -> bool {
        let top = top_package(path);
        if self.own.is_empty() { !NOT_PACKAGES.contains(&top.as_str()) } else { self.own.contains(&top) }
    }

    /// The public names of a module and what they are.
    fn public_names(&self, path: &str, module: &PythonModule) -> Vec<(String, (usize, usize))> {
        let mut public = BTreeMap::new();
        let source = &self.files[module.file];
        if let Some(all) = &module.all {
            for name in all {
                if let Some(item) = self.resolve(path, name, 0) {
                    public.insert(name.clone(), item);
                }
            }
            return public.into_iter().collect();
        }
        for (name, at) in &module.names {
            let symbol = &source.symbols[*at];
            let is_constant = name.chars().all(|c| c.is_uppercase() || c.is_numeric() || c == '_');
            let is_shown = symbol.kind != SymbolKind::Variable || is_constant || is_type(&symbol.signature);
            if !name.starts_with('_') && is_shown {
                public.insert(name.clone(), (module.file, *at));
            }
        }
        if module.is_package {
            for import in module.imports.iter().filter(|import| !import.is_star) {
                let from = self.absolute(path, module, &import.module);
                let is_own = from != path && !import.alias.starts_with('_');
                if let Some(item) = self.resolve(&from, &import.name, 0).filter(|_| is_own) {
                    public.insert(import.alias.clone(), item);
                }
            }
            for import in module.imports.iter().filter(|import| import.is_star) {
                let from = self.absolute(path, module, &import.module);
                for name in self.star_names(&from, 0) {
                    public.extend(self.resolve(&from, &name, 0).map(|item| (name, item)));
                }
            }
        }
        public.into_iter().collect()
    }

    /// Takes the steps that reading a module's imports costs.
    fn may_read(&self, module: &PythonModule) -> bool {
        let cost = u32::try_from(1 + module.imports.len() / 16).unwrap_or(u32::MAX);
        let left = self.steps.get().checked_sub(cost);
        self.steps.set(left.unwrap_or(0));
        left.is_some() && !self.stop.is_set()
    }

    /// The names that `from module import *` takes.
    fn star_names(&self, path: &str, step: usize) -> BTreeSet<String> {
        let may_read = |module: &&PythonModule| step <= MAX_REEXPORT_STEPS && self.may_read(module);
        let Some(module) = self.modules.get(path).filter(may_read) else {
            return BTreeSet::new();
        };
        if let Some(all) = &module.all {
            return all.clone();
        }
        let mut names: BTreeSet<String> = module.names.keys().filter(|name| !name.starts_with('_')).cloned().collect();
        for import in module.imports.iter().filter(|import| import.is_star) {
            names.extend(self.star_names(&self.absolute(path, module, &import.module), step + 1));
        }
        names
    }

    /// The symbol that a name in a module means, if it is in this repository.
    fn resolve(&self, path: &str, name: &str, step: usize) -> Option<(usize, usize)> {
        let module = self.modules.get(path).filter(|module| step <= MAX_REEXPORT_STEPS && self.may_read(module))?;
        if let Some(at) = module.names.get(name) {
            return Some((module.file, *at));
        }
        // The last import of a name counts.
        for import in module.imports.iter().rev() {
            let from = self.absolute(path, module, &import.module);
            if from == path || !(import.is_star || import.alias == name) {
                continue;
            }
            let wanted = if import.is_star { name } else { &import.name };
            let found = self.resolve(&from, wanted, step + if import.is_star { 4 } else { 1 });
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The full name of a module that is named in another one, with leading dots if it is relative.
    fn absolute(&self, path: &str, module: &PythonModule, name: &str) -> String {
        let dots = name.len() - name.trim_start_matches('.').len();
        if dots == 0 {
            return name.to_owned();
        }
        let mut parts: Vec<&str> = path.split('.').collect();
        let up = dots - usize::from(module.is_package);
        parts.truncate(parts.len().saturating_sub(up));
        let rest = &name[dots..];
        if !rest.is_empty() {
            parts.push(rest);
        }
        parts.join(".")
    }
}

impl PythonModule {
    fn read(at: usize, file: &ParsedSource) -> Self {
        let mut names = BTreeMap::new();
        for (symbol_at, symbol) in file.children(None) {
            if symbol.kind != SymbolKind::Use && !is_repeated(file, symbol) {
                names.insert(symbol.name.clone(), symbol_at);
            }
        }
        let imports = file
            .children(None)
            .filter(|(_, symbol)| symbol.kind == SymbolKind::Use)
            .flat_map(|(_, symbol)| imports(file.text_of(symbol)))
            .collect();
        let all = exported_names(&file.source.text);
        Self { file: at, is_package: is_init(file.path()), all, imports, names }
    }
}

/// `Alias = Union[…]` and the like.
fn is_type(signature: &str) -> bool {
    let value = signature.split_once('=').map_or("", |(_, value)| value.trim());
    ["Union[", "Optional[", "TypeVar(", "Literal[", "Callable[", "NewType("].iter().any(|start| {
        value.strip_prefix("typing.").or_else(|| value.strip_prefix("t.")).unwrap_or(value).starts_with(start)
    })
}

/// A name as package indexes compare it.
fn normal_name(name: &str) -> String {
    name.to_lowercase().replace(['-', '.'], "_")
}

/// The outermost package of a module.
fn top_package(path: &str) -> String {
    normal_name(path.split('.').next().unwrap_or_default())
}

fn is_init(path: &str) -> bool {
    matches!(path.rsplit('/').next(), Some("__init__.py" | "__init__.pyi"))
}

/// The dotted name of the module in a file; `None` if it is none for users.
fn module_path(path: &str, packages: &BTreeSet<&str>) -> Option<String> {
    let (stem, _) = path.rsplit_once('.')?;
    let name = stem.rsplit('/').next()?;
    // The folders from the outermost package on.
    let mut top = folder(path);
    while packages.contains(top) && packages.contains(folder(top)) && !folder(top).is_empty() {
        top = folder(top);
    }
    let is_inside = packages.contains(top);
    let below = if is_inside { stem.strip_prefix(folder(top)).unwrap_or(stem) } else { stem };
    let below = below.trim_start_matches('/');
    let below =
        match below.strip_prefix("src/").or_else(|| below.strip_prefix("lib/")).or(below.strip_prefix("python/")) {
            Some(rest) if !is_inside => rest,
            _ => below,
        };
    let is_module_at_top = !below.contains('/');
    if (!is_inside || is_module_at_top) && NOT_MODULES.contains(&name) || name == "__main__" {
        return None;
    }
    let dotted = below.strip_suffix("/__init__").unwrap_or(below).replace('/', ".");
    let is_name = |part: &str| {
        part.chars().all(|c| c.is_alphanumeric() || c == '_') && part.starts_with(|c: char| !c.is_numeric())
    };
    // Folders without `__init__.py` are namespace packages only if they are at the top or below `src`.
    let is_plausible = is_inside || is_module_at_top || path.starts_with("src/");
    (is_plausible && dotted.split('.').all(is_name)).then_some(dotted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_named_as_users_import_them() {
        let packages: BTreeSet<&str> = ["src/pkg", "src/pkg/sub", "other", "a/b"].into();
        for (path, expected) in [
            ("src/pkg/__init__.py", Some("pkg")),
            ("src/pkg/sub/x.py", Some("pkg.sub.x")),
            ("other/y.pyi", Some("other.y")),
            ("a/b/c.py", Some("b.c")),
            ("six.py", Some("six")),
            ("src/single.py", Some("single")),
            ("setup.py", None),
            ("src/pkg/__main__.py", None),
            ("scripts/run.py", None),
            ("odd-name.py", None),
        ] {
            assert_eq!(module_path(path, &packages).as_deref(), expected, "{path}");
        }
    }
}
