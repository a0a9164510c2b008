//! The rules for a whole registry. Each error names the wrong key.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use globset::Glob;

use super::install_source::InstallSource;
use super::loader::RegistryError;
use super::schema::{LanguageSpec, MultiRoot, ProjectInference, Registry, ServerRole, ServerSpec};

const PLACEHOLDERS: [&str; 6] = ["{state}", "{root}", "{rooturi}", "{cache}", "{bin}", "{install}"];
const ENCODINGS: [&str; 3] = ["utf-8", "utf-16", "utf-32"];

/// Checks all rules that the types alone don't enforce.
pub(super) fn validate(registry: &Registry) -> Result<(), RegistryError> {
    languages(&registry.languages)?;
    for (kind, server) in &registry.servers {
        let key =
            |field: &str| if field.is_empty() { format!("servers.{kind}") } else { format!("servers.{kind}.{field}") };
        name(kind).map_err(|why| invalid(&key(""), why))?;
        check_languages(registry, server).map_err(|why| invalid(&key("languages"), why))?;
        command(server).map_err(|why| invalid(&key("command"), why))?;
        if server.group.is_empty() {
            return Err(invalid(&key("group"), "a group is needed".into()));
        }
        packages(server).map_err(|why| invalid(&key("install.packages"), why))?;
        root(server).map_err(|(field, why)| invalid(&key(&format!("root.{field}")), why))?;
        quirks(server).map_err(|(field, why)| invalid(&key(&format!("quirks.{field}")), why))?;
        multi_root(server).map_err(|why| invalid(&key("multi_root"), why))?;
    }
    groups(registry)
}

fn invalid(key: &str, why: String) -> RegistryError {
    RegistryError::Entry { key: key.into(), why }
}

/// A kind is a folder name and an argument of commands.
fn name(kind: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match kind.chars().next() {
        Some(first) if first.is_ascii_lowercase() && kind.len() <= 64 && kind.chars().all(fits) => Ok(()),
        _ => Err("a server's name has lower case letters, digits and `-` only".into()),
    }
}

fn languages(languages: &BTreeMap<String, LanguageSpec>) -> Result<(), RegistryError> {
    let mut extensions: BTreeMap<&str, &str> = BTreeMap::new();
    let mut interpreters: BTreeMap<&str, &str> = BTreeMap::new();
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    for (id, language) in languages {
        for extension in &language.extensions {
            let key = format!("languages.{id}.extensions");
            if extension.is_empty()
                || extension.starts_with('.')
                || extension.contains('/')
                || *extension != extension.to_lowercase()
            {
                return Err(invalid(&key, format!("`{extension}` must be lower case, without the leading dot")));
            }
            if let Some(other) = extensions.insert(extension, id) {
                return Err(invalid(&key, format!("`{extension}` is also an extension of `{other}`")));
            }
        }
        for program in &language.interpreters {
            let key = format!("languages.{id}.interpreters");
            if program.is_empty()
                || program.contains('/')
                || program.ends_with(|c: char| c.is_ascii_digit() || c == '.')
            {
                return Err(invalid(
                    &key,
                    format!("`{program}` must be the name of a program, without its folder and version"),
                ));
            }
            if let Some(other) = interpreters.insert(program, id) {
                return Err(invalid(&key, format!("`{program}` is also an interpreter of `{other}`")));
            }
        }
        for file_name in &language.file_names {
            let key = format!("languages.{id}.file_names");
            if file_name.trim_matches('*').is_empty() || file_name.contains('/') {
                return Err(invalid(&key, format!("`{file_name}` is not a file name")));
            }
            if file_name.matches('*').count() > 1 {
                return Err(invalid(&key, format!("`{file_name}` has more than one `*`")));
            }
            if let Some(other) = names.insert(file_name, id) {
                return Err(invalid(&key, format!("`{file_name}` is also a file name of `{other}`")));
            }
        }
    }
    Ok(())
}

fn check_languages(registry: &Registry, server: &ServerSpec) -> Result<(), String> {
    if server.languages.is_empty() {
        return Err("at least one language is needed".into());
    }
    let used = server.uses.iter().flat_map(|used| &used.languages);
    match server.languages.iter().chain(used).find(|id| !registry.languages.contains_key(*id)) {
        Some(unknown) => Err(format!("unknown language `{unknown}`")),
        None => Ok(()),
    }
}

fn command(server: &ServerSpec) -> Result<(), String> {
    if server.command.first().is_none_or(String::is_empty) {
        return Err("a program is needed".into());
    }
    for word in server.command.iter().chain(&server.quirks.copy_args).chain(server.env.values()) {
        if let Some(unknown) = unknown_placeholder(word) {
            return Err(format!("unknown placeholder `{unknown}`"));
        }
    }
    Ok(())
}

/// The first `{word}` that isn't a placeholder.
fn unknown_placeholder(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let close = rest[open..].find('}')? + open + 1;
        let found = &rest[open..close];
        let word = &found[1..found.len() - 1];
        let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
        if is_word && !PLACEHOLDERS.contains(&found) {
            return Some(found);
        }
        rest = &rest[close..];
    }
    None
}

fn packages(server: &ServerSpec) -> Result<(), String> {
    let (packages, mark) = match &server.install {
        None | Some(InstallSource::Manual { .. } | InstallSource::Builtin {}) => return Ok(()),
        Some(InstallSource::Pypi { packages, .. }) => (packages, "=="),
        Some(InstallSource::Npm { packages } | InstallSource::Cargo { packages, .. }) => (packages, "@"),
        Some(InstallSource::Go { packages }) => (packages, "@v"),
    };
    if packages.is_empty() {
        return Err("at least one package is needed".into());
    }
    match packages.iter().find(|package| !pinned(package, mark)) {
        Some(unpinned) => Err(format!("`{unpinned}` is not pinned; write name{mark}version")),
        None => Ok(()),
    }
}

/// `name<mark>version` with a complete version. The name can't be an option of the package tool.
fn pinned(package: &str, mark: &str) -> bool {
    let Some((name, version)) = package.rsplit_once(mark) else { return false };
    let name_fits = |c: char| c.is_ascii_alphanumeric() || "@/._-[]".contains(c);
    let version_fits = |c: char| c.is_ascii_alphanumeric() || ".+-".contains(c);
    !name.is_empty()
        && !name.starts_with('-')
        && name.chars().all(name_fits)
        && version.starts_with(|c: char| c.is_ascii_digit())
        && version.contains('.')
        && version.chars().all(version_fits)
}

fn root(server: &ServerSpec) -> Result<(), (&'static str, String)> {
    let rule = &server.root;
    let fields = [
        ("markers", &rule.markers),
        ("workspace_markers", &rule.workspace_markers),
        ("excluded_by", &rule.excluded_by),
    ];
    for (field, markers) in fields {
        for marker in markers {
            let path = marker.split_once(" ~ ").map_or(marker.as_str(), |(path, _)| path);
            if !is_inside(path) {
                return Err((field, format!("`{marker}` must be a relative path without `..`")));
            }
            Glob::new(path).map_err(|e| (field, format!("`{marker}` is not a glob: {}", e.kind())))?;
        }
    }
    if let Some(bad) = server.needs.iter().find(|path| !is_inside(path)) {
        return Err(("needs", format!("`{bad}` must be a relative path without `..`")));
    }
    if !server.needs.is_empty() && server.role != ServerRole::Linter {
        return Err(("needs", "only linters may need a library of the project".into()));
    }
    if rule.required && rule.markers.is_empty() && rule.workspace_markers.is_empty() && rule.manifests.is_empty() {
        return Err(("required", "there are no markers".into()));
    }
    Ok(())
}

fn quirks(server: &ServerSpec) -> Result<(), (&'static str, String)> {
    let quirks = &server.quirks;
    for (field, paths) in [("cache_dirs", &quirks.cache_dirs), ("copy_to_cache", &quirks.copy_to_cache)] {
        if let Some(bad) = paths.iter().find(|path| !is_inside(path)) {
            return Err((field, format!("`{bad}` must be a relative path without `..`")));
        }
    }
    match quirks.encodings.iter().find(|name| !ENCODINGS.contains(&name.as_str())) {
        Some(bad) => Err(("encodings", format!("`{bad}` is not one of utf-8, utf-16, utf-32"))),
        None => Ok(()),
    }
}

/// A process for several project roots can't be started with the path of one of them. Settings may hold it: they are requested by project.
fn multi_root(server: &ServerSpec) -> Result<(), String> {
    if server.multi_root == MultiRoot::No {
        return Ok(());
    }
    if !server.quirks.copy_to_cache.is_empty() {
        return Err("`quirks.copy_to_cache` copies the files of one project root; use \"no\"".into());
    }
    if server.project == Some(ProjectInference::CompileDatabase) {
        return Err("`project = \"compile-database\"` prepares one project root; use \"no\"".into());
    }
    let options = server.initialization_options.as_ref().map(ToString::to_string);
    let words = server.command.iter().chain(server.env.values()).chain(&options);
    match words.into_iter().find(|word| ["{root}", "{rooturi}"].iter().any(|name| word.contains(name))) {
        Some(word) => Err(format!("`{word}` holds the path of one project root; use \"no\"")),
        None => Ok(()),
    }
}

/// A relative path without `..`.
fn is_inside(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// All primary servers of a language must be of one group and have distinct priorities.
fn groups(registry: &Registry) -> Result<(), RegistryError> {
    for id in registry.languages.keys() {
        let mut priorities: BTreeMap<u32, &str> = BTreeMap::new();
        let mut group: Option<(&str, &str)> = None;
        for (kind, server) in &registry.servers {
            if server.role != ServerRole::Primary || !server.languages.contains(id) {
                continue;
            }
            match group {
                Some((name, first)) if name != server.group => {
                    let why = format!(
                        "`{}` differs from the group `{name}` of `{first}`, which serves `{id}` too",
                        server.group
                    );
                    return Err(invalid(&format!("servers.{kind}.group"), why));
                }
                _ => group = Some((&server.group, kind)),
            }
            if let Some(other) = priorities.insert(server.priority, kind) {
                let why = format!("{} is also the priority of `{other}`, which serves `{id}` too", server.priority);
                return Err(invalid(&format!("servers.{kind}.priority"), why));
            }
        }
    }
    Ok(())
}
