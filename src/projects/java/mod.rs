//! Java: a project for the server that holds every source folder, in the cache folder.
//!
//! The server doesn't import Maven and Gradle projects here, because that runs their builds, and without an import it knows no file of a
//! folder that has a build file. So it gets a project of Eclipse that links the source folders. A file of the package `a.b` in a folder that
//! ends in `a/b` gives one: what is above. Jars are those that a build has copied beside it. Files in other folders and the packages of
//! dependencies are reported. Invariant: the same files give the same project.

mod eclipse_project;
mod source_header;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use codeyard_base::digest::sha256;
use codeyard_lsp::registry::{DiskFiles, MarkerFiles};
use codeyard_model::coverage::Hidden;
use codeyard_model::uri::encode_path;
use serde_json::json;

use self::source_header::SourceHeader;
use crate::changed_file::write_if_changed;
use crate::info::{ProjectInfo, ProjectSource, UnresolvedNames};
use crate::limits::{MAX_EXAMPLES, MAX_SOURCE_FOLDERS, MAX_UNKNOWN_FILES};
use crate::prepare::{PreparedProject, ProjectRequest};
use crate::unwatched_folder::UnwatchedFolder;

/// Folders of a project that no watcher follows and that are looked at from time to time.
const MAX_UNWATCHED_FOLDERS: usize = 3_000;

/// Files that describe a build, and the command that copies the project's dependencies to one of [`LIBRARIES`].
const BUILD_FILES: [(&str, Option<&str>); 3] =
    [("pom.xml", Some("mvn dependency:copy-dependencies")), ("build.gradle", None), ("build.gradle.kts", None)];
/// Folders of a project or of one of its modules that hold the jars of dependencies.
const LIBRARIES: [&str; 3] = ["lib", "libs", "target/dependency"];
/// The folder of the server's project in the cache folder.
const PROJECT: &str = "project";
/// Packages of the Java runtime, with those below them.
const RUNTIME: [&str; 8] =
    ["java", "jdk", "sun", "com.sun", "org.w3c.dom", "org.xml.sax", "org.ietf.jgss", "netscape.javascript"];
/// The packages of the Java runtime below `javax`; others of that name are libraries.
const RUNTIME_EXTENSIONS: [&str; 19] = [
    "accessibility", "annotation.processing", "crypto", "imageio", "lang.model", "management", "naming", "net",
    "print", "rmi", "script", "security", "smartcardio", "sound", "sql", "swing", "tools", "transaction.xa", "xml",
];
/// Packages below `javax.xml` that left the runtime.
const FORMER_EXTENSIONS: [&str; 3] = ["javax.xml.bind", "javax.xml.ws", "javax.xml.soap"];
/// Before the package of a file in what is remembered of it, to tell it from an import.
const PACKAGE: &str = "package ";

#[derive(Debug, Default)]
struct Sources<'a> {
    /// The folders that hold packages, sorted.
    folders: BTreeSet<&'a Path>,
    /// Files in none of them, sorted: their folders don't end in their packages.
    elsewhere: Vec<&'a PathBuf>,
    packages: BTreeSet<String>,
    imports: BTreeSet<String>,
    /// Classes that several folders hold.
    repeated: BTreeSet<String>,
}

/// The jars in these folders. Of several with one name the first is taken.
fn jars(libraries: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut by_name: BTreeMap<String, PathBuf> = BTreeMap::new();
    for folder in libraries {
        for name in DiskFiles.entries(folder).iter().filter(|name| name.ends_with(".jar")) {
            by_name.entry(name.clone()).or_insert_with(|| folder.join(name));
        }
    }
    by_name.into_values().collect()
}

/// Prepares the project. Reads the files; blocks.
///
/// # Errors
/// Errors of the file system, when the cache folder can't be written.
pub(crate) fn prepare(request: &ProjectRequest<'_>) -> io::Result<PreparedProject> {
    let mut sources = Sources::of(request);
    let mut problems = Vec::new();
    if sources.folders.len() > MAX_SOURCE_FOLDERS {
        problems.push(format!("the project has more than {MAX_SOURCE_FOLDERS} source folders"));
        let left_out = sources.folders.iter().skip(MAX_SOURCE_FOLDERS).copied().collect();
        sources.leave_out(&left_out, request.files);
    } else if !sources.elsewhere.is_empty() {
        problems.push("the folders of the others don't end in their packages".to_owned());
    }
    let libraries = sources.libraries(request.root);
    // Before they are read, so that no later change is missed.
    let unwatched = libraries.iter().take(MAX_UNWATCHED_FOLDERS).cloned().map(UnwatchedFolder::look).collect();
    let jars = jars(&libraries);
    let project = request.cache.join(PROJECT);
    let files = [
        (".project", eclipse_project::description(&sources.folders)),
        (".classpath", eclipse_project::class_path(&sources.folders, &jars)),
    ];
    for (name, text) in &files {
        write_if_changed(&project.join(name), text)?;
    }
    let unknown = sources.elsewhere.len();
    let missing = sources.missing_libraries(request.root).filter(|_| jars.is_empty());
    let info = ProjectInfo {
        source: ProjectSource::Inferred { from: "the packages of its files".to_owned() },
        files_total: request.files.len(),
        files_known: Some(request.files.len() - unknown),
        unknown_files: sources.elsewhere.iter().take(MAX_UNKNOWN_FILES).map(|file| (*file).clone()).collect(),
        unresolved: sources.repeated_classes().into_iter().chain(missing).collect(),
        problems,
        cache_files: files.iter().map(|(name, _)| project.join(name)).collect(),
        ..ProjectInfo::default()
    };
    Ok(PreparedProject {
        info,
        // They come before the project root, which isn't looked at then.
        initialization_options: Some(json!({"workspaceFolders": [encode_path(&project)]})),
        unwatched,
        digest: sha256(files.map(|(_, text)| text).concat().as_bytes()),
        ..PreparedProject::default()
    })
}

/// The package and the imports of a file.
pub(crate) fn read_header(file: &Path, top: &Path) -> BTreeSet<String> {
    let SourceHeader { package, mut imports } = SourceHeader::of(&DiskFiles.read_text(file, top));
    imports.insert(format!("{PACKAGE}{package}"));
    imports
}

impl<'a> Sources<'a> {
    fn of(request: &ProjectRequest<'a>) -> Self {
        let mut sources = Self::default();
        let mut unpackaged: Vec<(&Path, &str)> = Vec::new();
        let mut placed: Vec<(&Path, &Path)> = Vec::new();
        let mut classes: BTreeMap<(String, &str), usize> = BTreeMap::new();
        request.memory.with_imports(|remembered| {
            for file in request.files {
                let names = remembered.entry(file.clone()).or_insert_with(|| read_header(file, request.top));
                let package = names.iter().find_map(|name| name.strip_prefix(PACKAGE)).unwrap_or_default();
                sources.imports.extend(names.iter().filter(|name| !name.starts_with(PACKAGE)).cloned());
                let folder = file.parent().filter(|folder| folder.starts_with(request.root));
                match folder.and_then(|folder| source_folder(folder, package, request.root)) {
                    Some(folder) if package.is_empty() => unpackaged.push((folder, stem_of(file))),
                    Some(folder) => {
                        placed.push((file, folder));
                        sources.folders.insert(folder);
                        sources.packages.insert(package.to_owned());
                        *classes.entry((package.to_owned(), stem_of(file))).or_default() += 1;
                    }
                    None => sources.elsewhere.push(file),
                }
            }
        });
        sources.leave_out_misplaced(&placed);
        // What is inside a folder with packages is read with it, whatever its own package is.
        let packaged = sources.folders.clone();
        let is_inside = |path: &Path| path.ancestors().skip(1).any(|above| packaged.contains(above));
        for (folder, stem) in unpackaged.into_iter().filter(|(folder, _)| !is_inside(folder)) {
            sources.folders.insert(folder);
            *classes.entry((String::new(), stem)).or_default() += 1;
        }
        sources.elsewhere.retain(|file| !is_inside(file));
        let is_class = |stem: &str| stem != "package-info" && stem != "module-info";
        let repeated = classes.into_iter().filter(|((_, stem), count)| *count > 1 && is_class(stem));
        sources.repeated = repeated
            .map(|((package, stem), _)| if package.is_empty() { stem.to_owned() } else { format!("{package}.{stem}") })
            .collect();
        sources
    }

    /// Leaves out source folders that are inside the packages of another one, such as one of a file whose package lacks its first part.
    /// `placed` are the files with their folders.
    fn leave_out_misplaced(&mut self, placed: &[(&'a Path, &'a Path)]) {
        let is_inner = |folder: &Path| folder.ancestors().skip(1).any(|above| self.folders.contains(above));
        let inner: Vec<&Path> = self.folders.iter().copied().filter(|folder| is_inner(folder)).collect();
        for folder in inner {
            let below = placed.iter().filter(|(file, _)| file.starts_with(folder));
            let (own, others) = below.fold((0, 0), |(own, others), (_, source)| match source.starts_with(folder) {
                true => (own + 1, others),
                false => (own, others + 1),
            });
            if others >= own && others > 0 {
                self.folders.remove(folder);
            }
        }
    }

    /// Takes these folders out, and the files that are only there.
    fn leave_out(&mut self, folders: &BTreeSet<&'a Path>, files: &'a [PathBuf]) {
        self.folders.retain(|folder| !folders.contains(folder));
        let innermost = |file: &&'a PathBuf| {
            let mut above = file.ancestors().skip(1);
            above.find(|folder| self.folders.contains(folder) || folders.contains(folder))
        };
        self.elsewhere
            .extend(files.iter().filter(|file| innermost(file).is_some_and(|folder| folders.contains(folder))));
        self.elsewhere.sort();
        self.elsewhere.dedup();
    }

    /// The folders that may hold jars beside the sources: those in the root, and in folders between it and a source folder.
    fn libraries(&self, root: &Path) -> Vec<PathBuf> {
        let modules: BTreeSet<&Path> = self
            .folders
            .iter()
            .flat_map(|folder| folder.ancestors().take_while(|above| above.starts_with(root)))
            .collect();
        modules.into_iter().flat_map(|folder| LIBRARIES.map(|name| folder.join(name))).collect()
    }

    /// Classes whose uses the server finds of one of several only.
    fn repeated_classes(&self) -> Option<UnresolvedNames> {
        (!self.repeated.is_empty()).then(|| UnresolvedNames {
            what: "several source folders hold classes of these names".to_owned(),
            count: self.repeated.len(),
            examples: self.repeated.iter().take(MAX_EXAMPLES).cloned().collect(),
            remedy: None,
            hides: Hidden::Uses,
        })
    }

    /// Imports from packages that neither the project nor the runtime holds, if there are some.
    fn missing_libraries(&self, root: &Path) -> Option<UnresolvedNames> {
        let missing: BTreeSet<&str> =
            self.imports.iter().map(|name| package_of(name)).filter(|package| !self.holds(package)).collect();
        let build = BUILD_FILES.iter().find(|(name, _)| DiskFiles.exists(&root.join(name)));
        let what = match build {
            Some((name, _)) => format!("the build of `{name}` isn't run, so dependencies are unknown"),
            None => format!("no folder `{}` holds their jars", LIBRARIES[0]),
        };
        (!missing.is_empty()).then(|| UnresolvedNames {
            what,
            count: missing.len(),
            examples: missing.into_iter().take(MAX_EXAMPLES).map(str::to_owned).collect(),
            remedy: build.and_then(|(_, command)| *command).map(str::to_owned),
            hides: Hidden::Nothing,
        })
    }

    /// Whether the project or the runtime holds the package, or the class that the name was of.
    fn holds(&self, package: &str) -> bool {
        let is_below =
            |above: &&str| package.strip_prefix(*above).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let extension = package.strip_prefix("javax.").unwrap_or_default();
        let is_extension = RUNTIME_EXTENSIONS
            .iter()
            .any(|name| extension.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')));
        RUNTIME.iter().any(is_below)
            || is_extension && !FORMER_EXTENSIONS.iter().any(is_below)
            || package.is_empty()
            || self.packages.contains(package)
    }
}

/// The name of the class that a file is for.
fn stem_of(file: &Path) -> &str {
    file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

/// The package of an imported name: what is before its first part that begins with a capital letter, or before its last part.
fn package_of(name: &str) -> &str {
    let mut end = 0;
    for part in name.split('.') {
        if part == "*" || part.starts_with(char::is_uppercase) {
            break;
        }
        end += part.len() + 1;
    }
    let package = &name[..end.saturating_sub(1).min(name.len())];
    // `import a.b.c`: the last part is a class with an unusual name.
    if package.len() == name.len() { name.rsplit_once('.').map_or("", |(package, _)| package) } else { package }
}

/// The folder above the folders of the package; `None` if the folder of the file doesn't end in them below the root.
fn source_folder<'a>(folder: &'a Path, package: &str, root: &Path) -> Option<&'a Path> {
    let mut above = folder;
    for part in package.rsplit('.').filter(|part| !part.is_empty()) {
        if above.file_name()?.to_str()? != part {
            return None;
        }
        above = above.parent()?;
    }
    above.starts_with(root).then_some(above)
}

#[cfg(test)]
mod tests;
