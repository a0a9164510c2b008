//! One configuration of TypeScript or JavaScript: which files it lists, and which configurations it references.
//!
//! It is read as TypeScript reads it: comments and trailing commas are allowed, `extends` is followed, and lists are relative to the
//! file that they are written in. Only files inside the workspace root are read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_ecosystems::jsonc;
use codeyard_files::gate::normal;
use codeyard_lsp::registry::MarkerFiles;
use serde_json::{Map, Value};

use super::file_patterns::{FilePattern, PatternUse};

/// Configurations that one configuration extends, directly or not.
const MAX_EXTENDED_CONFIGURATIONS: usize = 32;

/// Extensions that every configuration lists.
const TYPESCRIPT: [&str; 4] = ["ts", "tsx", "mts", "cts"];
/// Extensions that a configuration lists with `allowJs`.
const JAVASCRIPT: [&str; 4] = ["js", "jsx", "mjs", "cjs"];
/// Extensions of components, which servers that know them list as TypeScript.
pub(super) const COMPONENTS: [&str; 4] = ["vue", "svelte", "astro", "mdx"];
/// What is excluded when a configuration says nothing.
const EXCLUDED_BY_DEFAULT: [&str; 3] = ["node_modules", "bower_components", "jspm_packages"];

/// By name pattern, where imports of such names are looked for, absolute.
pub(super) type Aliases = BTreeMap<String, Vec<PathBuf>>;

/// A configuration, with what it extends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Configuration {
    pub path: PathBuf,
    /// Whether it lists files of JavaScript.
    pub allows_javascript: bool,
    pub references: Vec<PathBuf>,
    /// Configurations that it extends or references by their paths and that don't exist.
    pub missing: BTreeSet<PathBuf>,
    /// Those of `paths` and `baseUrl`.
    pub aliases: Aliases,
    /// The conditions of `exports` that it adds: `customConditions`.
    pub conditions: Vec<String>,
    /// Where its build writes declarations.
    pub outputs: Outputs,
    files: BTreeSet<PathBuf>,
    include: Vec<FilePattern>,
    exclude: Vec<FilePattern>,
}

/// Where the build of a configuration writes the declarations of its sources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Outputs {
    /// The folder of the declarations: `declarationDir`, else `outDir`, else that of the configuration.
    pub folder: PathBuf,
    /// The folder of the sources that this one stands for: `rootDir`.
    pub root: Option<PathBuf>,
    /// Whether it is `composite`, so that without `rootDir` the folder of the configuration is meant.
    pub is_composite: bool,
}

/// The settings that are inherited, with the folder that their paths are relative to.
#[derive(Default)]
struct Settings {
    files: Option<(PathBuf, Vec<String>)>,
    include: Option<(PathBuf, Vec<String>)>,
    exclude: Option<(PathBuf, Vec<String>)>,
    out_folders: Vec<(PathBuf, String)>,
    out_dir: Option<(PathBuf, String)>,
    declaration_dir: Option<(PathBuf, String)>,
    root_dir: Option<(PathBuf, String)>,
    composite: Option<bool>,
    base_url: Option<PathBuf>,
    paths: Option<(PathBuf, Map<String, Value>)>,
    conditions: Vec<String>,
    allow_js: Option<bool>,
    check_js: Option<bool>,
    missing: BTreeSet<PathBuf>,
}

/// Reads files inside one workspace root.
#[derive(Clone, Copy)]
pub(super) struct ConfigurationReader<'a> {
    /// The view of the file system.
    pub disk: &'a dyn MarkerFiles,
    pub top: &'a Path,
}

impl ConfigurationReader<'_> {
    /// The configuration in the file `path`; one that lists everything if the file can't be parsed, as in TypeScript.
    pub(super) fn read(self, path: &Path) -> Configuration {
        let folder = path.parent().unwrap_or(path);
        let mut settings = Settings::default();
        let mut budget = MAX_EXTENDED_CONFIGURATIONS;
        let own = self.merge(path, &mut settings, &mut budget);
        let references = own.get("references").and_then(Value::as_array).into_iter().flatten();
        let references = references.filter_map(|reference| self.reference(folder, reference.get("path")?.as_str()?));
        let (references, gone): (Vec<PathBuf>, Vec<PathBuf>) = references.partition(|path| self.disk.exists(path));
        // Tools generate them into folders of their own; other files of a missing configuration are in the inferred project.
        let is_made = |path: &PathBuf| path.strip_prefix(self.top).is_ok_and(is_hidden);
        settings.missing.extend(gone.into_iter().filter(is_made));
        let is_jsconfig = path.file_name().is_some_and(|name| name == "jsconfig.json");
        let allows_javascript = settings.allow_js.or(settings.check_js).unwrap_or(is_jsconfig);
        let absolute = |(base, texts): &(PathBuf, Vec<String>)| -> BTreeSet<PathBuf> {
            texts.iter().map(|text| normal(&base.join(with_folder(text, folder)))).collect()
        };
        let patterns = |list: &(PathBuf, Vec<String>), usage: PatternUse| -> Vec<FilePattern> {
            list.1.iter().filter_map(|text| FilePattern::new(&list.0, &with_folder(text, folder), usage)).collect()
        };
        let everything = (folder.to_path_buf(), vec!["**/*".to_owned()]);
        let include = match (&settings.include, &settings.files) {
            (Some(include), _) => patterns(include, PatternUse::Include),
            (None, Some(_)) => vec![],
            (None, None) => patterns(&everything, PatternUse::Include),
        };
        let exclude = match &settings.exclude {
            Some(exclude) => patterns(exclude, PatternUse::Exclude),
            None => {
                let names = EXCLUDED_BY_DEFAULT.map(|name| (folder.to_path_buf(), name.to_owned()));
                let all = names.into_iter().chain(settings.out_folders.clone());
                all.filter_map(|(base, name)| FilePattern::new(&base, &with_folder(&name, folder), PatternUse::Exclude))
                    .collect()
            }
        };
        let files = settings.files.as_ref().map(absolute).unwrap_or_default();
        let aliases = aliases(&settings, folder);
        let outputs = outputs(&settings, folder);
        let conditions = settings.conditions;
        let path = path.to_path_buf();
        let missing = settings.missing;
        Configuration {
            path,
            allows_javascript,
            references,
            missing,
            aliases,
            conditions,
            outputs,
            files,
            include,
            exclude,
        }
    }

    /// Merges the configuration `path`, after those that it extends, into `settings`. Returns its own text as a value.
    fn merge(self, path: &Path, settings: &mut Settings, budget: &mut usize) -> Value {
        let text = if self.disk.exists(path) { self.disk.read_text(path, self.top) } else { String::new() };
        let own = jsonc::parse_object(&text).unwrap_or_default();
        let folder = path.parent().unwrap_or(path);
        for base in strings(own.get("extends")) {
            let Some(left) = budget.checked_sub(1) else { break };
            *budget = left;
            match self.extended(folder, &base) {
                Some(base) => drop(self.merge(&base, settings, budget)),
                None if is_path(&base) => {
                    let place = normal(&folder.join(&base));
                    let is_json = place.extension().is_some_and(|extension| extension == "json");
                    let file = if is_json { place } else { PathBuf::from(format!("{}.json", place.display())) };
                    settings.missing.extend(Some(file).filter(|file| file.starts_with(self.top)));
                }
                None => {}
            }
        }
        for (key, list) in
            [("files", &mut settings.files), ("include", &mut settings.include), ("exclude", &mut settings.exclude)]
        {
            if own.get(key).is_some_and(Value::is_array) {
                *list = Some((folder.into(), strings(own.get(key))));
            }
        }
        let options = own.get("compilerOptions");
        let flag = |name: &str| options?.get(name)?.as_bool();
        settings.allow_js = flag("allowJs").or(settings.allow_js);
        settings.check_js = flag("checkJs").or(settings.check_js);
        if let Some(base) = options.and_then(|options| options.get("baseUrl")?.as_str()) {
            settings.base_url = Some(folder.join(base));
        }
        if let Some(paths) = options.and_then(|options| options.get("paths")?.as_object()) {
            settings.paths = Some((folder.into(), paths.clone()));
        }
        if let Some(conditions) = options.and_then(|options| options.get("customConditions")) {
            settings.conditions = strings(Some(conditions));
        }
        settings.composite = flag("composite").or(settings.composite);
        for (name, place) in [
            ("outDir", &mut settings.out_dir),
            ("declarationDir", &mut settings.declaration_dir),
            ("rootDir", &mut settings.root_dir),
        ] {
            if let Some(named) = options.and_then(|options| options.get(name)?.as_str()) {
                *place = Some((folder.to_path_buf(), named.to_owned()));
            }
        }
        let out = ["outDir", "declarationDir"].iter().filter_map(|name| options?.get(*name)?.as_str());
        settings.out_folders.extend(out.map(|name| (folder.to_path_buf(), name.to_owned())));
        own
    }

    /// The file that `extends` names: a path, or a package below `node_modules`.
    fn extended(self, folder: &Path, name: &str) -> Option<PathBuf> {
        let candidates = |base: PathBuf| -> Option<PathBuf> {
            let with_extension = PathBuf::from(format!("{}.json", base.display()));
            let inside = base.join("tsconfig.json");
            let is_json = base.extension().is_some_and(|extension| extension == "json");
            let all = if is_json { vec![base] } else { vec![with_extension, inside] };
            all.into_iter().find(|path| path.starts_with(self.top) && self.disk.exists(path))
        };
        if is_path(name) {
            return candidates(normal(&folder.join(name)));
        }
        let folders = folder.ancestors().take_while(|folder| folder.starts_with(self.top));
        folders.into_iter().find_map(|folder| candidates(normal(&folder.join("node_modules").join(name))))
    }

    /// The configuration that `references` names, whether it exists or not. A folder means the `tsconfig.json` in it.
    fn reference(self, folder: &Path, path: &str) -> Option<PathBuf> {
        let target = normal(&folder.join(path));
        let is_file = target.extension().is_some_and(|extension| extension == "json");
        let target = if is_file { target } else { target.join("tsconfig.json") };
        target.starts_with(self.top).then_some(target)
    }
}

impl Configuration {
    pub(super) fn lists(&self, file: &Path) -> bool {
        if self.files.contains(file) {
            return true;
        }
        let has_extension = file.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| {
            TYPESCRIPT.contains(&extension)
                || COMPONENTS.contains(&extension)
                || self.allows_javascript && JAVASCRIPT.contains(&extension)
        });
        has_extension
            && self.include.iter().any(|pattern| file.starts_with(pattern.base()) && pattern.matches(file))
            && !self.exclude.iter().any(|pattern| pattern.matches(file))
    }
}

fn is_hidden(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
}

/// Whether `extends` names a path, not a package.
fn is_path(name: &str) -> bool {
    ["./", "../", "/"].iter().any(|start| name.starts_with(start)) || name == "." || name == ".."
}

fn outputs(settings: &Settings, folder: &Path) -> Outputs {
    let absolute = |place: &Option<(PathBuf, String)>| {
        let (base, name) = place.as_ref()?;
        Some(normal(&base.join(with_folder(name, folder))))
    };
    let written = absolute(&settings.declaration_dir).or_else(|| absolute(&settings.out_dir));
    Outputs {
        folder: written.unwrap_or_else(|| folder.into()),
        root: absolute(&settings.root_dir),
        is_composite: settings.composite.unwrap_or_default(),
    }
}

/// The names of `paths`, and with `baseUrl` all names. Patterns of `paths` are relative to `baseUrl`, else to the file that has them.
fn aliases(settings: &Settings, folder: &Path) -> Aliases {
    let mut aliases = Aliases::new();
    if let Some((own, paths)) = &settings.paths {
        let base = settings.base_url.as_ref().unwrap_or(own);
        for (name, places) in paths {
            let places = strings(Some(places));
            let absolute = places.iter().map(|place| normal(&base.join(with_folder(place, folder))));
            aliases.insert(name.clone(), absolute.collect());
        }
    }
    if let Some(base) = &settings.base_url {
        aliases.entry("*".to_owned()).or_insert_with(|| vec![normal(base).join("*")]);
    }
    aliases
}

fn strings(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(all)) => all.iter().filter_map(|value| Some(value.as_str()?.to_owned())).collect(),
        _ => vec![],
    }
}

/// `${configDir}` means the folder of the configuration that is read, not of the one that it extends.
fn with_folder(text: &str, folder: &Path) -> String {
    match text.strip_prefix("${configDir}") {
        Some(rest) => format!("{}{rest}", folder.display()),
        None => text.to_owned(),
    }
}
