//! Settings of a site by which Hugo would read files outside of it, or write there.
//!
//! Hugo has no policy for folders, so they are checked before a build: in the site's configuration and in those of its themes and vendored
//! modules, which Hugo merges into it. Invariant: a configuration that can't be read is refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::limits::MAX_SITE_CONFIG_BYTES;
use crate::site::site_scout::hugo_config::{form_of, parse, placed};

/// Themes and modules of a site whose configurations are checked.
const MAX_SITE_MODULES: usize = 200;

/// A setting that a site can't be built with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RefusedSetting {
    /// The file, relative to the top of the site.
    pub(crate) file: String,
    /// The key; empty if the file can't be read.
    pub(crate) key: String,
    pub(crate) reason: String,
}

/// What a configuration of the site or of a module says.
#[derive(Default)]
struct Found {
    refused: BTreeSet<RefusedSetting>,
    theme_dirs: BTreeSet<String>,
    /// Themes and modules.
    names: BTreeSet<String>,
}

/// The settings of the site in this folder that are refused, sorted.
pub(crate) fn refused(site: &Path) -> Vec<RefusedSetting> {
    let mut found = Found::default();
    found.theme_dirs.insert("themes".into());
    let mut seen = BTreeSet::new();
    let mut open = vec![String::new()];
    while let Some(root) = open.pop() {
        if !seen.insert(root.clone()) {
            continue;
        }
        if seen.len() > MAX_SITE_MODULES {
            let reason = format!("the site has more than {MAX_SITE_MODULES} themes and modules");
            found.refused.insert(RefusedSetting { file: root, key: String::new(), reason });
            break;
        }
        for file in config_files(site, &root) {
            read(site, &root, &file, &mut found);
        }
        let folders = found.theme_dirs.iter().map(String::as_str).chain(["_vendor"]);
        for folder in folders {
            for name in &found.names {
                let module = format!("{folder}/{name}/");
                if !seen.contains(&module) && is_own_folder(site, &module) {
                    open.push(module);
                }
            }
        }
    }
    found.refused.into_iter().collect()
}

/// The files that Hugo takes for the configuration of the site or module at `root`, which is empty or ends with `/`.
fn config_files(site: &Path, root: &str) -> Vec<String> {
    let mut files = Vec::new();
    for name in ["hugo", "config"] {
        for form in ["toml", "yaml", "yml", "json"] {
            let file = format!("{root}{name}.{form}");
            if fs::symlink_metadata(site.join(&file)).is_ok() {
                files.push(file);
            }
        }
    }
    let mut open = ["_default", "production"].map(|name| format!("{root}config/{name}/")).to_vec();
    open.retain(|folder| is_own_folder(site, folder));
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(site.join(&folder)).into_iter().flatten().filter_map(Result::ok) {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(format!("{folder}{name}/"));
            } else if form_of(&name).is_some() {
                files.push(format!("{folder}{name}"));
            }
        }
    }
    files.sort_unstable();
    files
}

/// Whether a path is a folder of the site, not one that links lead to: those aren't built.
fn is_own_folder(site: &Path, path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let mut folder = site.to_owned();
    parts.all(|part| {
        folder.push(part);
        fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir())
    })
}

fn read(site: &Path, root: &str, file: &str, found: &mut Found) {
    let path = site.join(file);
    let size = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file).map(|meta| meta.len());
    let text = size.filter(|size| *size <= MAX_SITE_CONFIG_BYTES).and_then(|_| fs::read_to_string(&path).ok());
    let parsed = text.and_then(|text| parse(file, text.strip_prefix('\u{feff}').unwrap_or(&text)).ok());
    let Some(value) = parsed else {
        let reason = "it can't be read, so nobody can say what it makes Hugo read".to_owned();
        found.refused.insert(RefusedSetting { file: file.to_owned(), key: String::new(), reason });
        return;
    };
    let is_whole = !file[root.len()..].starts_with("config/");
    let config = if is_whole { value } else { placed(file, value) };
    folders(&config, "", file, found);
}

/// Looks at all keys that name folders or modules.
fn folders(config: &Value, at: &str, file: &str, found: &mut Found) {
    match config {
        Value::Object(members) => {
            for (key, value) in members {
                let here = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                // Templates read parameters, and templates read no files outside of the site.
                if key == "params" {
                    continue;
                }
                let is_module = at == "module" || at.starts_with("module.");
                let is_folder = key.ends_with("dir")
                    || (is_module && matches!(key.as_str(), "source" | "path" | "workspace" | "replacements"))
                    || (at.is_empty() && key == "theme");
                if is_folder {
                    folder(key, &here, value, file, found);
                }
                folders(value, &here, file, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| folders(item, at, file, found)),
        _ => {}
    }
}

fn folder(key: &str, here: &str, value: &Value, file: &str, found: &mut Found) {
    let texts = value.as_str().into_iter().chain(value.as_array().into_iter().flatten().filter_map(Value::as_str));
    for text in texts {
        let is_outside = |text: &str| {
            text.trim().starts_with(['/', '~', '\\']) || text.split(['/', '\\']).any(|part| part.trim() == "..")
        };
        // Replacements are written as `module -> folder, module -> folder`.
        if text.split(',').flat_map(|part| part.split("->")).any(is_outside) || is_outside(text) {
            let reason = format!("{here} = {text:?} makes Hugo use files outside of the site");
            found.refused.insert(RefusedSetting { file: file.to_owned(), key: here.to_owned(), reason });
        } else if key == "themesdir" {
            found.theme_dirs.insert(text.trim_end_matches('/').to_owned());
        } else if matches!(key, "theme" | "path") {
            found.names.insert(text.trim_matches('/').to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused_of(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let file = dir.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        refused(dir.path()).into_iter().map(|refused| (refused.file, refused.key)).collect()
    }

    #[test]
    fn folders_outside_of_the_site_are_refused_wherever_a_configuration_names_them() {
        let mount = "[[module.mounts]]\nsource = '../x'\ntarget = 'content'\n";
        for (files, file, key) in [
            (vec![("hugo.toml", mount)], "hugo.toml", "module.mounts.source"),
            (vec![("config.toml", "ContentDir = '/etc'")], "config.toml", "contentdir"),
            (
                vec![("hugo.yaml", "languages:\n  de:\n    contentDir: a/../../x\n")],
                "hugo.yaml",
                "languages.de.contentdir",
            ),
            (vec![("hugo.toml", "staticDir = ['static', '/srv']")], "hugo.toml", "staticdir"),
            (vec![("hugo.toml", "theme = ['a', '../b']")], "hugo.toml", "theme"),
            (vec![("hugo.toml", "themesDir = '../..'")], "hugo.toml", "themesdir"),
            (vec![("hugo.toml", "[caches.images]\ndir = ':resourceDir/../../x'")], "hugo.toml", "caches.images.dir"),
            (
                vec![("hugo.json", "{\"module\": {\"replacements\": \"a.b/c -> ../c\"}}")],
                "hugo.json",
                "module.replacements",
            ),
            (vec![("hugo.toml", "[module]\nworkspace = '/w'")], "hugo.toml", "module.workspace"),
            (vec![("hugo.toml", "[[module.imports]]\npath = '/etc'")], "hugo.toml", "module.imports.path"),
            (
                vec![("config/_default/module.toml", "[[mounts]]\nsource = '/etc'\ntarget = 'static'")],
                "config/_default/module.toml",
                "module.mounts.source",
            ),
            (
                vec![("config/_default/a/module.yaml", "mounts:\n- source: ..\n")],
                "config/_default/a/module.yaml",
                "module.mounts.source",
            ),
            (vec![("config/production/hugo.toml", mount)], "config/production/hugo.toml", "module.mounts.source"),
            (
                vec![("hugo.toml", "theme = 't'"), ("themes/t/hugo.toml", mount)],
                "themes/t/hugo.toml",
                "module.mounts.source",
            ),
            (
                vec![("hugo.toml", "theme = 'a/b'"), ("themes/a/b/config.toml", mount)],
                "themes/a/b/config.toml",
                "module.mounts.source",
            ),
            (
                vec![("hugo.toml", "theme = 't'\nthemesDir = 'x/y'"), ("x/y/t/hugo.toml", mount)],
                "x/y/t/hugo.toml",
                "module.mounts.source",
            ),
            (
                vec![
                    ("hugo.toml", "theme = 't'"),
                    ("themes/t/hugo.toml", "[[module.imports]]\npath = 'u'"),
                    ("themes/u/config/_default/module.toml", "[[mounts]]\nsource = '../../../x'"),
                ],
                "themes/u/config/_default/module.toml",
                "module.mounts.source",
            ),
            (
                vec![("hugo.toml", "[[module.imports]]\npath = 'a.b/c'"), ("_vendor/a.b/c/hugo.toml", mount)],
                "_vendor/a.b/c/hugo.toml",
                "module.mounts.source",
            ),
            (vec![("hugo.toml", "a = = b")], "hugo.toml", ""),
        ] {
            assert_eq!(refused_of(&files), [(file.to_owned(), key.to_owned())], "{files:?}");
        }
    }

    #[test]
    fn what_reads_no_folder_is_allowed() {
        let cascade = "[[cascade]]\n[cascade._target]\npath = '/blog/**'\n[params]\nlogoDir = '/x'\n[languages.de.params]\ndataDir = '/y'\n";
        let found = refused_of(&[
            ("hugo.toml", cascade),
            ("config/_default/params.toml", "path = '/images'\nsource = '..'\n"),
            ("config/_default/menus.toml", "[[main]]\nurl = '/a'\n"),
            ("config/staging/hugo.toml", "contentDir = '/x'"),
            ("themes/unused/hugo.toml", "contentDir = '/x'"),
            ("static/config.json", "{\"contentDir\": \"/x\"}"),
            ("config/_default/module.toml", "[[mounts]]\nsource = 'docs'\ntarget = 'content'\n"),
        ]);
        assert_eq!(found, []);
    }

    #[test]
    fn a_link_as_configuration_is_refused_and_linked_folders_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("site")).unwrap();
        fs::write(dir.path().join("x.toml"), "").unwrap();
        std::os::unix::fs::symlink("../x.toml", dir.path().join("site/hugo.toml")).unwrap();
        assert_eq!(refused(&dir.path().join("site")).len(), 1);
        // Linked folders aren't built, so they aren't read.
        fs::create_dir_all(dir.path().join("t/config")).unwrap();
        fs::write(dir.path().join("t/hugo.toml"), "contentDir = '/x'").unwrap();
        let site = dir.path().join("other");
        fs::create_dir_all(site.join("themes")).unwrap();
        fs::write(site.join("hugo.toml"), "theme = 't'").unwrap();
        std::os::unix::fs::symlink("../../t", site.join("themes/t")).unwrap();
        assert_eq!(refused(&site), []);
    }
}
