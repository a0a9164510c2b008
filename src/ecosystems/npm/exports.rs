//! The modules that a `package.json` names: of the whole package, of paths below its name (`exports`), and of names for its own files (`imports`).
//!
//! A target is a path as the manifest writes it, relative to the manifest's folder. Whether it leads to a file isn't known here.

use serde_json::Value;

use super::PackageJson;

/// Longest specifier of a module that is looked up, and longest path that a manifest gives it, in bytes.
pub const MAX_SPECIFIER_BYTES: usize = 4_096;

/// Members that may name the module of the whole package.
const MODULES: [&str; 4] = ["main", "module", "browser", "types"];
/// Members that name the module with the types of the whole package. The first one counts.
const TYPED_MODULES: [&str; 3] = ["types", "typings", "main"];
/// How deep conditions of `exports` are nested at most.
const MAX_CONDITIONS_DEPTH: usize = 16;
/// How deep conditions are nested at most where the best target is looked for.
const MAX_RANKED_DEPTH: usize = 6;
/// Conditions, those that lead to the best description of a module first.
const RANKED_CONDITIONS: [&str; 8] = ["types", "source", "import", "module", "default", "require", "node", "browser"];

impl PackageJson {
    /// The module of the whole package for Node.
    pub fn main(&self) -> Option<&str> {
        self.text("main")
    }

    /// The module with the types of the whole package.
    pub fn typed_main(&self) -> Option<&str> {
        TYPED_MODULES.iter().find_map(|member| self.text(member).filter(|target| !target.is_empty()))
    }

    /// The modules that members name as the whole package, without its exports and without maps of replacements.
    pub fn modules(&self) -> Vec<&str> {
        MODULES.iter().filter_map(|member| self.text(member)).collect()
    }

    /// All files that members may mean by the whole package, those of maps among them, without its exports.
    pub fn mapped_modules(&self) -> Vec<&str> {
        MODULES.iter().filter_map(|member| self.0.get(*member)).flat_map(targets).collect()
    }

    /// All targets of its exports.
    pub fn all_exports(&self) -> Vec<&str> {
        self.0.get("exports").map(targets).unwrap_or_default()
    }

    /// What an import of the package's name leads to first: the module with the types, and the one that is exported.
    pub fn whole_package(&self) -> Vec<String> {
        let exported = self.chosen_export("", "import", &[]);
        self.typed_main().map(str::to_owned).into_iter().chain(exported).collect()
    }

    /// Whether it says which of its modules can be imported.
    pub fn has_exports(&self) -> bool {
        !self.0["exports"].is_null()
    }

    /// What it exports under exactly this path below its name.
    fn exact_export(&self, path: &str) -> Option<&Value> {
        match self.export_map().any(|(key, _)| key.starts_with('.')) {
            true => self.0["exports"].get(subpath(path)),
            false => self.0.get("exports").filter(|_| path.is_empty()),
        }
    }

    /// Whether its types depend on the version of TypeScript.
    pub fn has_versioned_types(&self) -> bool {
        self.has("typesVersions")
    }

    /// The targets of a path below the package's name, of all conditions. The empty path is the package itself.
    pub fn export_targets(&self, path: &str) -> Vec<String> {
        self.0.get("exports").map(|exports| named_targets(exports, &subpath(path))).unwrap_or_default()
    }

    /// The targets of a name for its own files, `#name`, of all conditions.
    pub fn import_targets(&self, name: &str) -> Vec<String> {
        self.0.get("imports").map(|imports| named_targets(imports, name)).unwrap_or_default()
    }

    /// Every name of its `imports` and `exports`, with the targets of all conditions.
    pub fn names(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        let maps = ["imports", "exports"].into_iter().filter_map(|member| self.0.get(member)?.as_object());
        maps.flatten().map(|(name, target)| (name.as_str(), targets(target)))
    }

    /// The paths that it exports below its name, with their targets under all conditions. `*` stays in both.
    pub fn exported_paths(&self) -> Vec<(&str, Vec<String>)> {
        let paths = self.export_map().filter_map(|(key, target)| Some((key.strip_prefix("./")?, target)));
        let with_targets = paths.map(|(path, target)| {
            let mut targets = filled_targets(target, "*");
            targets.retain(|target| target.matches('*').count() == path.matches('*').count());
            (path, targets)
        });
        with_targets.collect()
    }

    fn export_map(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.get("exports").and_then(Value::as_object).into_iter().flatten()
    }

    /// What a path below the package's name stands for, where patterns don't count. Without a target it is a path in the package's folder.
    pub fn plain_targets<'a>(&'a self, path: &'a str) -> Vec<&'a str> {
        let found = self.exact_export(path).map(targets).unwrap_or_default();
        match found.is_empty() {
            true if path.is_empty() => vec![self.main().unwrap_or("index")],
            true => vec![path],
            false => found,
        }
    }

    /// The target of a path below the package's name for a kind of import, with further conditions. `None` if it isn't exported.
    pub fn chosen_export(&self, path: &str, kind: &str, added: &[String]) -> Option<String> {
        let name = subpath(path);
        if let Some(target) = self.exact_export(path).filter(|_| !path.contains('*')) {
            return chosen(target, "", kind, added, 0);
        }
        let patterns =
            self.export_map().filter(|(pattern, _)| pattern.starts_with('.')).filter_map(|(pattern, target)| {
                let before = pattern.find('*')?;
                Some((before, matched(pattern, &name)?, target))
            });
        let (_, middle, target) = patterns.max_by_key(|(before, ..)| *before)?;
        chosen(target, middle, kind, added, 0)
    }

    /// The targets of the package's name, the one that describes it best first.
    pub fn ranked_targets(&self) -> Vec<&str> {
        let mut found: Vec<&str> = ["types", "typings"].iter().filter_map(|member| self.text(member)).collect();
        if let Some(own) = self.exact_export("") {
            add_ranked(own, &mut found, 0);
        }
        found.extend(["source", "module", "main"].iter().filter_map(|member| self.text(member)));
        found
    }

    /// The keys of `exports` with their targets, the one that describes the module best first.
    pub fn ranked_exports(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.export_map().map(|(key, target)| {
            let mut found = Vec::new();
            add_ranked(target, &mut found, 0);
            (key.as_str(), found)
        })
    }
}

/// The key of `exports` for a path below the package's name.
fn subpath(path: &str) -> String {
    if path.is_empty() { ".".to_owned() } else { format!("./{path}") }
}

/// The name of the package that a specifier names, and the path in it. `None` for other specifiers.
pub fn split_package(specifier: &str) -> Option<(&str, &str)> {
    if specifier.starts_with(['.', '/', '#']) {
        return None;
    }
    let depth = usize::from(specifier.starts_with('@'));
    let end = specifier.match_indices('/').nth(depth).map_or(specifier.len(), |(at, _)| at);
    Some((&specifier[..end], specifier[end..].trim_start_matches('/')))
}

/// What `*` in a pattern stands for. Without `*` it is empty.
pub fn matched<'n>(pattern: &str, name: &'n str) -> Option<&'n str> {
    match pattern.split_once('*') {
        None => (pattern == name).then_some(""),
        Some((before, after)) => name.strip_prefix(before)?.strip_suffix(after),
    }
}

/// The targets of a name in `imports` or `exports`, of all conditions.
fn named_targets(map: &Value, name: &str) -> Vec<String> {
    let keys = map.as_object().filter(|map| map.keys().any(|key| key.starts_with(['.', '#'])));
    let Some(keys) = keys else { return if name == "." { filled_targets(map, "") } else { vec![] } };
    let of_name = keys.iter().filter_map(|(pattern, target)| Some(filled_targets(target, matched(pattern, name)?)));
    of_name.flatten().collect()
}

/// The targets in nested conditions, with `middle` in place of `*`.
fn filled_targets(target: &Value, middle: &str) -> Vec<String> {
    targets(target).into_iter().filter_map(|path| filled(path, middle)).collect()
}

/// A path with `middle` in place of `*`; `None` if it would become huge.
fn filled(path: &str, middle: &str) -> Option<String> {
    let length = path.len() + path.matches('*').count() * middle.len();
    (length <= MAX_SPECIFIER_BYTES).then(|| path.replace('*', middle))
}

/// All targets in nested conditions.
fn targets(target: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    let mut waiting = vec![target];
    while let Some(next) = waiting.pop() {
        match next {
            Value::String(path) => found.push(path.as_str()),
            Value::Array(all) => waiting.extend(all),
            Value::Object(conditions) => waiting.extend(conditions.values()),
            _ => {}
        }
    }
    found
}

/// The target that conditions lead to: added ones first, then `types`, which manifests must write first, and `default` last.
fn chosen(target: &Value, middle: &str, kind: &str, added: &[String], depth: usize) -> Option<String> {
    let next = |target: &Value| chosen(target, middle, kind, added, depth + 1);
    match target {
        _ if depth > MAX_CONDITIONS_DEPTH => None,
        Value::String(path) => filled(path, middle),
        Value::Array(all) => all.iter().find_map(next),
        Value::Object(conditions) => {
            let order = added.iter().map(String::as_str).chain(["types", kind, "node", "default"]);
            order.into_iter().find_map(|condition| next(conditions.get(condition)?))
        }
        _ => None,
    }
}

/// Adds the targets in nested conditions in the order of [`RANKED_CONDITIONS`].
fn add_ranked<'v>(target: &'v Value, found: &mut Vec<&'v str>, depth: usize) {
    match target {
        Value::String(text) => found.push(text),
        Value::Array(list) => list.iter().for_each(|target| add_ranked(target, found, depth + 1)),
        Value::Object(map) if depth < MAX_RANKED_DEPTH => {
            let inner = RANKED_CONDITIONS.iter().filter_map(|condition| map.get(*condition));
            inner.for_each(|target| add_ranked(target, found, depth + 1));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn specifiers_are_split() {
        assert_eq!(split_package("@x/w/a/b"), Some(("@x/w", "a/b")));
        assert_eq!((split_package("w"), split_package("w/")), (Some(("w", "")), Some(("w", ""))));
        assert_eq!((split_package("./w"), split_package("#w"), split_package("/w")), (None, None, None));
    }

    #[test]
    fn targets_by_conditions() {
        let manifest = PackageJson(
            json!({"main": "m.js", "types": "t.d.ts", "imports": {"#a/*": ["./src/*.js", null]}, "exports": {
                ".": {"require": "./r.cjs", "import": {"types": "./i.d.ts", "default": "./i.js"}}, "./p/*": "./dist/*.js", "./q": {"x": "./q.js"},
            }}),
        );
        assert_eq!(manifest.whole_package(), ["t.d.ts", "./i.d.ts"]);
        assert_eq!(manifest.chosen_export("p/a", "require", &[]).as_deref(), Some("./dist/a.js"));
        let x = manifest.chosen_export("q", "require", &["x".to_owned()]);
        assert_eq!((x.as_deref(), manifest.chosen_export("q", "import", &[])), (Some("./q.js"), None));
        assert_eq!(manifest.import_targets("#a/b"), ["./src/b.js"]);
        assert_eq!(
            manifest.exported_paths(),
            [("p/*", vec!["./dist/*.js".to_owned()]), ("q", vec!["./q.js".to_owned()])]
        );
        assert_eq!((manifest.plain_targets("q"), manifest.plain_targets("p/a")), (vec!["./q.js"], vec!["p/a"]));
        assert_eq!(manifest.ranked_targets(), ["t.d.ts", "./i.d.ts", "./i.js", "./r.cjs", "m.js"]);
        let huge = PackageJson(json!({"imports": {"#x/*": "*".repeat(1_000_000)}}));
        assert_eq!(huge.import_targets(&format!("#x/{}", "y".repeat(1_000_000))), [""; 0]);
        assert_eq!(PackageJson(json!({"exports": "./a.js"})).plain_targets(""), ["./a.js"]);
    }
}
