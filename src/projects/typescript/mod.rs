//! TypeScript and JavaScript: the files that no configuration lists become one inferred project.
//!
//! A server knows a file only if it is open, or if a project that has an open document lists or imports it. So every project gets one
//! open document, and the files of no project get a configuration of their own: a document that is open at the server and exists nowhere
//! on disk. `docs/internals/decisions/inferred-projects.md` says why it is done this way. Invariants: nothing is written; the same files
//! give the same documents; each file that codeyard lists is in a project, or counted as not known.

pub(crate) mod components;
mod configuration;
mod file_patterns;
mod generated;
mod javascript_imports;
mod module_names;
pub(crate) mod modules;
mod package_entries;
mod package_imports;
#[cfg(test)]
mod package_tests;
mod packages;
mod platforms;
mod projects;
mod separate_projects;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codeyard_ecosystems::npm::PNPM_WORKSPACE;
use codeyard_lsp::registry::{CachedFiles, MarkerFiles, ProjectInference};
use codeyard_model::coverage::Hidden;
use serde_json::{Value, json};

use self::generated::WithGenerated;
use self::javascript_imports::UnknownImports;
use self::javascript_imports::is_javascript;
pub(crate) use self::javascript_imports::read_specifiers;
use self::module_names::ModuleNames;
use self::package_imports::ImportedPackages;
use self::platforms::PlatformModules;
use self::projects::AssignedFiles;
use crate::info::{ProjectInfo, ProjectSource, UnresolvedNames};
use crate::limits::{MAX_EXAMPLES, MAX_INFERRED_FILES, MAX_OPENED_PROJECTS, MAX_UNKNOWN_FILES};
use crate::prepare::{PreparedProject, ProjectCommand, ProjectDocument, ProjectRequest};

/// The name of the inferred configuration.
const NAME: &str = "tsconfig.json";
/// The name of a document that is in no other project, where all files have a configuration. It comes behind [`NAME`], because documents are
/// opened in the order of their paths.
const PLACEHOLDER: &str = "tsconfig.placeholder.ts";

/// Prepares the project of a server of this language. Reads the configurations and `package.json` files; blocks.
pub(crate) fn prepare(request: &ProjectRequest<'_>, inference: ProjectInference) -> PreparedProject {
    let disk = CachedFiles::default();
    let mut assigned = projects::assign(request.files, request.top, &disk);
    let is_document = inference == ProjectInference::TypescriptDocument;
    let missing = std::mem::take(&mut assigned.missing);
    let known = if is_document { &missing } else { &BTreeMap::new() };
    let generated = WithGenerated::new(&disk, known, request.top);
    if !generated.is_empty() {
        assigned = projects::assign(request.files, request.top, &generated);
    }
    let packages = packages::read(request.files, request.top, &disk);
    let mut opened: Vec<PathBuf> =
        assigned.by_configuration.values().filter_map(|files| representative(files)).collect();
    opened.truncate(MAX_OPENED_PROJECTS);
    let mut inferred = inferred_files(&assigned);
    let names = ModuleNames::new(request.files.iter().map(PathBuf::as_path), &assigned.aliases, &packages);
    let importers = javascript_imports::find(&assigned, &packages, &names, request.top, &disk, request.memory);
    let mut prepared = PreparedProject { documents: generated.documents().collect(), ..PreparedProject::default() };
    let platforms = PlatformModules::of(request.files);
    let mut options = with_aliases(packages.add_to(compiler_options(), &names, &disk), &assigned);
    if !platforms.is_empty() {
        options["moduleSuffixes"] = json!(platforms::SUFFIXES);
    }
    match (inference, inferred_path(request.top, &disk)) {
        _ if inferred.is_empty() && importers.files.is_empty() => {}
        (ProjectInference::TypescriptDocument, Some(path)) => {
            let mut files: Vec<&Path> = inferred.iter().chain(&importers.files).copied().collect();
            // The server loads the project with an open document that no other configuration lists.
            let own = path.with_file_name(PLACEHOLDER);
            if inferred.is_empty() {
                files.push(&own);
            }
            files.sort();
            let text = json!({"compilerOptions": options, "files": files}).to_string();
            let placeholder = inferred.is_empty().then(|| ProjectDocument {
                path: own.clone(),
                language: "typescript".into(),
                text: "export {};\n".into(),
            });
            opened.extend(representative(&inferred));
            prepared.documents.push(ProjectDocument { path, language: "jsonc".into(), text });
            prepared.documents.extend(placeholder);
        }
        (ProjectInference::TypescriptExternal, _) => {
            // That server looks for no configuration of a file that this project reaches by an import, so it gets all files.
            let listed = assigned.by_configuration.values().flatten().copied();
            let mut files: Vec<&Path> = inferred.iter().copied().chain(listed.take(MAX_INFERRED_FILES)).collect();
            files.sort();
            prepared.commands.push(external(request.top, &files, options));
            opened.extend(representative(&inferred));
        }
        _ => inferred.clear(),
    }
    if is_document {
        prepared.configurations = assigned.by_configuration.keys().cloned().collect();
    }
    opened.sort();
    prepared.open = opened;
    if !is_document {
        prepared.modules = modules::of(request);
    }
    prepared.info = info(request, &assigned, &inferred);
    prepared.info.unresolved = packages.not_installed(&disk).into_iter().collect();
    let imported = ImportedPackages {
        assigned: &assigned,
        packages: &packages,
        names: &names,
        top: request.top,
        disk: &disk,
        is_one_project: !prepared.commands.is_empty(),
        is_older: inference == ProjectInference::TypescriptExternal,
    };
    prepared.info.unresolved.extend(imported.unresolved(request.root, request.memory));
    let mut files = request.files.iter().map(PathBuf::as_path);
    prepared
        .info
        .unresolved
        .extend(generated::unresolved(&missing, &generated, &mut files, request.top, request.memory));
    prepared.info.unresolved.extend(platforms.unresolved(&assigned, request.top, request.memory));
    prepared.unwatched = generated::folders(&missing).into();
    if is_document {
        prepared.info.unresolved.extend(unknown_javascript(&importers, request.root));
    } else {
        prepared.info.unresolved.extend(ambiguous_aliases(&assigned));
    }
    prepared
}

/// The options with the name patterns of the configurations, so that files outside of them import as those inside do.
fn with_aliases(mut options: Value, assigned: &AssignedFiles<'_>) -> Value {
    if let Some(members) = options.as_object_mut()
        && !assigned.aliases.is_empty()
    {
        let paths = members.entry("paths").or_insert_with(|| json!({}));
        if let Some(paths) = paths.as_object_mut() {
            for (name, places) in &assigned.aliases {
                paths.insert(name.clone(), json!(places));
            }
        }
    }
    options
}

/// Modules of JavaScript that the configuration of their importers leaves out.
fn unknown_javascript(importers: &UnknownImports<'_>, root: &Path) -> Option<UnresolvedNames> {
    let examples = importers.modules.iter().take(MAX_EXAMPLES).map(|module| {
        let shown = module.strip_prefix(root).unwrap_or(module);
        shown.display().to_string()
    });
    (!importers.modules.is_empty()).then(|| UnresolvedNames {
        what: "the tsconfig.json of TypeScript that imports JavaScript has no `allowJs`".into(),
        count: importers.modules.len(),
        examples: examples.collect(),
        remedy: None,
        hides: Hidden::Nothing,
    })
}

/// Names that several configurations look for in different folders: one project can't tell which is meant.
fn ambiguous_aliases(assigned: &AssignedFiles<'_>) -> Option<UnresolvedNames> {
    let is_ambiguous = |name: &&String| assigned.ambiguous_aliases.contains(*name);
    let names: Vec<&String> = assigned.aliases.keys().filter(is_ambiguous).collect();
    (!names.is_empty()).then(|| UnresolvedNames {
        what: "`paths` of several tsconfig.json give the same names different folders".into(),
        count: names.len(),
        examples: names.into_iter().take(MAX_EXAMPLES).cloned().collect(),
        remedy: None,
        hides: Hidden::Uses,
    })
}

/// Whether a change of this file's text, not only its existence, may change what [`prepare`] returns.
pub(crate) fn reads(file: &Path) -> bool {
    // Configurations may extend files of any name.
    file.extension().is_some_and(|extension| extension == "json")
        || file.file_name().is_some_and(|name| name == PNPM_WORKSPACE)
}

/// The files of the inferred project: those nearest to the root first, at most [`MAX_INFERRED_FILES`], sorted by path.
fn inferred_files<'a>(assigned: &AssignedFiles<'a>) -> Vec<&'a Path> {
    let mut files = assigned.unassigned.clone();
    if files.len() > MAX_INFERRED_FILES {
        files.sort_by_key(|file| file.components().count());
        files.truncate(MAX_INFERRED_FILES);
        files.sort();
    }
    files
}

/// The file whose open document makes the server load its project: the one nearest to the root.
fn representative(files: &[&Path]) -> Option<PathBuf> {
    files.iter().min_by_key(|file| (file.components().count(), **file)).map(|file| file.to_path_buf())
}

/// Where the server finds the inferred configuration after all real ones: in the root, or above it if the root has a configuration.
fn inferred_path(top: &Path, disk: &dyn MarkerFiles) -> Option<PathBuf> {
    if !projects::has_configuration(top, disk) {
        return Some(top.join(NAME));
    }
    Some(top.parent()?.join(NAME))
}

/// The options that the most code is read right with, as in the implicit projects of editors.
fn compiler_options() -> Value {
    json!({
        "allowImportingTsExtensions": true,
        "allowJs": true,
        "allowSyntheticDefaultImports": true,
        "customConditions": ["node"],
        "disableSizeLimit": true,
        "experimentalDecorators": true,
        "jsx": "preserve",
        "module": "preserve",
        "moduleResolution": "bundler",
        "noEmit": true,
        "resolveJsonModule": true,
        "skipLibCheck": true,
        "strict": true,
        "target": "esnext",
    })
}

/// The request that makes the server on Node load the files as a project.
fn external(top: &Path, files: &[&Path], options: Value) -> ProjectCommand {
    let files: Vec<Value> = files.iter().map(|file| json!({"fileName": file})).collect();
    let project = json!({
        "projectFileName": top.join("codeyard-inferred-project"),
        "rootFiles": files,
        "options": options,
        "typeAcquisition": {"enable": false},
    });
    ProjectCommand {
        method: "workspace/executeCommand",
        params: json!({"command": "typescript.tsserverRequest", "arguments": ["openExternalProject", project]}),
    }
}

/// What the project covers. `inferred` are the files of the inferred project.
fn info(request: &ProjectRequest<'_>, assigned: &AssignedFiles<'_>, inferred: &[&Path]) -> ProjectInfo {
    let unopened = assigned.by_configuration.values().skip(MAX_OPENED_PROJECTS).flatten();
    let inside: BTreeSet<&Path> = inferred.iter().copied().collect();
    let left_out = assigned.unassigned.iter().filter(|file| !inside.contains(**file));
    let mut unknown: Vec<PathBuf> = unopened.chain(left_out).map(|file| file.to_path_buf()).collect();
    unknown.sort();
    let known = request.files.len() - unknown.len();
    unknown.truncate(MAX_UNKNOWN_FILES);
    ProjectInfo {
        source: source(assigned, request.root),
        files_total: request.files.len(),
        files_known: Some(known),
        problems: problems(assigned, inferred.len()),
        remedy: remedy(assigned),
        unknown_files: unknown,
        ..ProjectInfo::default()
    }
}

fn source(assigned: &AssignedFiles<'_>, root: &Path) -> ProjectSource {
    let relative = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_path_buf();
    let listed: usize = assigned.by_configuration.values().map(Vec::len).sum();
    let unlisted = assigned.unassigned.len();
    match assigned.by_configuration.keys().next() {
        Some(first) if unlisted == 0 => ProjectSource::Found { path: relative(first) },
        None if unlisted == 0 => ProjectSource::Server,
        _ if assigned.has_configuration => {
            let total = listed + unlisted;
            ProjectSource::Inferred { from: format!("{unlisted} of {total} files, which no tsconfig.json lists") }
        }
        _ => ProjectSource::Inferred { from: format!("all {unlisted} files, without a tsconfig.json") },
    }
}

fn problems(assigned: &AssignedFiles<'_>, inferred: usize) -> Vec<String> {
    let mut problems = Vec::new();
    let projects = assigned.by_configuration.len();
    if assigned.unassigned.len() > inferred {
        problems.push(format!("the inferred project has at most {MAX_INFERRED_FILES} files"));
    }
    if projects > MAX_OPENED_PROJECTS {
        problems.push(format!("{MAX_OPENED_PROJECTS} of {projects} projects are loaded"));
    }
    if assigned.skipped > 0 {
        problems.push(format!("{} configurations are not read", assigned.skipped));
    }
    problems
}

fn remedy(assigned: &AssignedFiles<'_>) -> Option<String> {
    let are_javascript = || assigned.unassigned.iter().map(|file| is_javascript(file));
    if assigned.unassigned.is_empty() {
        return None;
    }
    if assigned.has_configuration {
        return Some("add them to `include` of a tsconfig.json, with `allowJs` for JavaScript".into());
    }
    // The package `tsc` is another one; without `allowJs`, the configuration would list no file of JavaScript.
    let command = match (are_javascript().all(|is| is), are_javascript().any(|is| is)) {
        (true, _) => "echo '{}' > jsconfig.json",
        (false, true) => "npx -p typescript tsc --init --allowJs",
        (false, false) => "npx -p typescript tsc --init",
    };
    Some(format!("run `{command}`"))
}
