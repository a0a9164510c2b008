//! The configuration of a Hugo site, as far as paths, addresses and languages need it.
//!
//! It reads what Hugo would read for a build of the environment `production`, themes and modules aside. Keys count without regard to case, as Hugo
//! has them. Invariant: no folder that it names lies outside the site.

use std::collections::BTreeMap;

use codeyard_runs::stage::StageError;
use serde_json::{Map, Value};

use crate::limits::MAX_SITE_CONFIG_BYTES;

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HugoConfig {
    /// The files, in the order in which they apply.
    pub(crate) files: Vec<String>,
    pub(crate) title: String,
    pub(crate) base_url: String,
    pub(crate) default_language: String,
    pub(crate) default_language_in_subdir: bool,
    /// The content folder of each language.
    pub(crate) content_dirs: BTreeMap<String, String>,
    /// Folders whose files are copied to the top of the built site.
    pub(crate) static_dirs: Vec<String>,
    /// The folder with the templates of new pages.
    pub(crate) archetype_dir: String,
    /// Patterns of addresses by the section at the top of the content folder.
    pub(crate) permalinks: BTreeMap<String, String>,
    /// Whether a page is a file instead of a folder in its address.
    pub(crate) has_ugly_urls: bool,
    /// Whether addresses keep the case of paths.
    pub(crate) keeps_case: bool,
}

/// Where Hugo looks for the file at the top, the first one that exists counts.
const TOP_FILES: [&str; 8] =
    ["hugo.toml", "hugo.yaml", "hugo.yml", "hugo.json", "config.toml", "config.yaml", "config.yml", "config.json"];
/// Folders with further files, in their order.
const FOLDERS: [&str; 2] = ["config/_default/", "config/production/"];

impl HugoConfig {
    /// The configuration among `paths`, the site's files, sorted. `read` gives the content of one.
    ///
    /// # Errors
    /// `INVALID_INPUT` if there is none, or it can't be read.
    pub(crate) fn read(paths: &[&str], read: &dyn Fn(&str, u64) -> Option<Vec<u8>>) -> Result<Self, StageError> {
        let top =
            TOP_FILES.iter().filter(|name| paths.binary_search(name).is_ok()).take(1).map(|name| (*name).to_owned());
        let mut files: Vec<String> = top.collect();
        for folder in FOLDERS {
            let in_folder = |path: &&&str| {
                path.strip_prefix(folder).is_some_and(|name| !name.contains('/') && form_of(name).is_some())
            };
            files.extend(paths.iter().filter(in_folder).map(|path| (*path).to_owned()));
        }
        if files.is_empty() {
            return Err(invalid(
                "the site has no configuration of Hugo at its top; set `site.kind` to `markdown` if nothing builds it",
            ));
        }
        let mut merged = Map::new();
        for file in &files {
            let bytes = read(file, MAX_SITE_CONFIG_BYTES)
                .ok_or_else(|| invalid(&format!("{file} can't be read, or is too large")))?;
            let text = String::from_utf8_lossy(&bytes);
            let value = parse(file, text.strip_prefix('\u{feff}').unwrap_or(&text))
                .map_err(|reason| invalid(&format!("{file} can't be read: {reason}")))?;
            merge(&mut merged, placed(file, value));
        }
        Self::of(files, &Value::Object(merged))
    }

    /// The configuration of a site that nothing builds: its files are its pages.
    pub(crate) fn of_plain_files(locales: &[String]) -> Self {
        let languages = if locales.is_empty() { vec!["en".to_owned()] } else { locales.to_vec() };
        Self {
            files: Vec::new(),
            title: String::new(),
            base_url: String::new(),
            default_language: languages[0].clone(),
            default_language_in_subdir: false,
            content_dirs: languages.into_iter().map(|language| (language, String::new())).collect(),
            static_dirs: Vec::new(),
            archetype_dir: "archetypes".into(),
            permalinks: BTreeMap::new(),
            has_ugly_urls: false,
            keeps_case: true,
        }
    }

    fn of(files: Vec<String>, config: &Value) -> Result<Self, StageError> {
        let text = |key: &str| config[key].as_str().map(str::trim).filter(|text| !text.is_empty());
        let default_language = text("defaultcontentlanguage").unwrap_or("en").to_lowercase();
        let content_dir = inside(text("contentdir").unwrap_or("content"))?;
        let default = &config["languages"][&default_language];
        let title = text("title").or_else(|| default["title"].as_str()).unwrap_or_default().to_owned();
        Ok(Self {
            files,
            title,
            base_url: text("baseurl").or_else(|| default["baseurl"].as_str()).unwrap_or_default().to_owned(),
            default_language_in_subdir: config["defaultcontentlanguageinsubdir"].as_bool() == Some(true),
            content_dirs: content_dirs(config, &default_language, &content_dir)?,
            static_dirs: static_dirs(config)?,
            archetype_dir: inside(text("archetypedir").unwrap_or("archetypes"))?,
            permalinks: permalinks(&config["permalinks"]),
            has_ugly_urls: config["uglyurls"].as_bool() == Some(true),
            keeps_case: config["disablepathtolower"].as_bool() == Some(true),
            default_language,
        })
    }
}

/// The content folder of each language: what mounts say, or else each language, or else all.
fn content_dirs(config: &Value, default: &str, dir: &str) -> Result<BTreeMap<String, String>, StageError> {
    let mut dirs = BTreeMap::new();
    let disabled: Vec<&str> =
        config["disablelanguages"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, language) in config["languages"].as_object().into_iter().flatten() {
        if language["disabled"].as_bool() != Some(true) && !disabled.contains(&name.as_str()) {
            let own = language["contentdir"].as_str().map(inside).transpose()?;
            dirs.insert(name.clone(), own.unwrap_or_else(|| dir.to_owned()));
        }
    }
    if dirs.is_empty() {
        dirs.insert(default.to_owned(), dir.to_owned());
    }
    for mount in mounts(config, "content") {
        let language = mount["lang"].as_str().unwrap_or(default).to_lowercase();
        // The first mount of a language is the one that new pages go to.
        if let Some(source) = mount["source"].as_str()
            && config["languages"][&language]["contentdir"].is_null()
            && dirs.get(&language).is_none_or(|known| known == dir)
        {
            dirs.insert(language, inside(source)?);
        }
    }
    Ok(dirs)
}

fn static_dirs(config: &Value) -> Result<Vec<String>, StageError> {
    let mut dirs: Vec<String> = match &config["staticdir"] {
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(inside).collect::<Result<_, _>>()?,
        Value::String(dir) => vec![inside(dir)?],
        _ => vec!["static".into()],
    };
    for mount in mounts(config, "static") {
        if let Some(source) = mount["source"].as_str() {
            dirs.push(inside(source)?);
        }
    }
    dirs.dedup();
    Ok(dirs)
}

/// The mounts on the top of `target`.
fn mounts<'c>(config: &'c Value, target: &'static str) -> impl Iterator<Item = &'c Value> {
    let all = config["module"]["mounts"].as_array().into_iter().flatten();
    all.filter(move |mount| mount["target"].as_str().is_some_and(|found| found.trim_matches('/') == target))
}

/// The patterns of pages: directly below `permalinks`, or below `permalinks.page`.
fn permalinks(value: &Value) -> BTreeMap<String, String> {
    let direct = value.as_object().into_iter().flatten();
    let of_pages = value["page"].as_object().into_iter().flatten();
    let pattern = |(section, pattern): (&String, &Value)| Some((section.clone(), pattern.as_str()?.to_owned()));
    direct.chain(of_pages).filter_map(pattern).collect()
}

/// A folder below the top of the site, without a slash at its end.
fn inside(dir: &str) -> Result<String, StageError> {
    let dir = dir.trim().trim_start_matches("./").trim_end_matches('/');
    let is_outside = dir.starts_with('/') || dir.contains('\\') || dir.split('/').any(|part| part == "..");
    if is_outside {
        Err(invalid(&format!("the site's configuration names the folder {dir:?}, which is outside of the site")))
    } else {
        Ok(dir.to_owned())
    }
}

/// The ending of a name that is a form of configurations.
pub(crate) fn form_of(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(_, form)| form).filter(|form| matches!(*form, "toml" | "yaml" | "yml" | "json"))
}

/// The content of a file, with all keys in lower case.
///
/// # Errors
/// What is wrong with it, in one line.
pub(crate) fn parse(file: &str, text: &str) -> Result<Value, String> {
    let first_line = |error: String| error.lines().next().unwrap_or_default().to_owned();
    let value = match form_of(file) {
        Some("toml") => {
            toml::from_str(text).map_err(|error: toml::de::Error| first_line(error.message().to_owned()))?
        }
        Some("json") => serde_json::from_str(text).map_err(|error| first_line(error.to_string()))?,
        _ if text.trim().is_empty() => Value::Object(Map::new()),
        _ => serde_saphyr::from_str_with_options(text, serde_saphyr::options! { strict_booleans: true })
            .map_err(|error| first_line(error.to_string()))?,
    };
    Ok(lowered(value))
}

/// The value with all keys in lower case.
fn lowered(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(key, value)| (key.to_lowercase(), lowered(value))).collect())
        }
        Value::Array(items) => items.into_iter().map(lowered).collect(),
        other => other,
    }
}

/// The content of a file with the keys that its name stands for: `config/_default/languages.toml` holds `languages`.
pub(crate) fn placed(file: &str, value: Value) -> Value {
    let name = file.rsplit('/').next().unwrap_or(file);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_lowercase();
    let (section, language) =
        stem.split_once('.').map_or((stem.as_str(), None), |(section, rest)| (section, Some(rest)));
    match (section, language) {
        ("hugo" | "config", None) => value,
        (section, None) => serde_json::json!({ section: value }),
        (section, Some(language)) => serde_json::json!({ "languages": { language: { section: value } } }),
    }
}

fn merge(into: &mut Map<String, Value>, from: Value) {
    let Value::Object(members) = from else { return };
    for (key, value) in members {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(known)), value @ Value::Object(_)) => merge(known, value),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

fn invalid(message: &str) -> StageError {
    StageError::new("INVALID_INPUT", message).with("reason", "site_configuration")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(files: &[(&str, &str)]) -> Result<HugoConfig, StageError> {
        let mut paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
        paths.sort_unstable();
        let read =
            |path: &str, _| files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec());
        HugoConfig::read(&paths, &read)
    }

    fn dirs(config: &HugoConfig) -> Vec<(&str, &str)> {
        config.content_dirs.iter().map(|(language, dir)| (language.as_str(), dir.as_str())).collect()
    }

    #[test]
    fn all_forms_say_the_same() {
        let toml = "baseURL = \"https://x.example/\"\ntitle = \"T\"\ndefaultContentLanguage = \"de\"\n[permalinks]\nblog = \"/:slug/\"\n";
        let yaml = "baseURL: https://x.example/\ntitle: T\ndefaultContentLanguage: de\npermalinks:\n  blog: /:slug/\n";
        let json = r#"{"BaseURL": "https://x.example/", "title": "T", "defaultcontentlanguage": "de", "permalinks": {"blog": "/:slug/"}}"#;
        for (file, text) in
            [("hugo.toml", toml), ("hugo.yaml", yaml), ("hugo.json", json), ("config.toml", toml), ("config.yml", yaml)]
        {
            let found = config(&[(file, text)]).unwrap();
            assert_eq!(
                (found.base_url.as_str(), found.title.as_str(), dirs(&found)),
                ("https://x.example/", "T", vec![("de", "content")])
            );
            assert_eq!(
                (found.permalinks["blog"].as_str(), found.static_dirs.as_slice()),
                ("/:slug/", &["static".to_owned()][..])
            );
        }
    }

    #[test]
    fn folders_of_files_are_merged_in_their_order() {
        let found = config(&[
            ("config/_default/hugo.toml", "title = \"Default\"\nbaseURL = \"https://a.example/\""),
            ("config/_default/languages.yaml", "en:\n  contentDir: content/en\nde:\n  contentDir: content/de\n"),
            ("config/_default/params.toml", "x = 1"),
            ("config/_default/menus.en.toml", "x = 1"),
            ("config/production/hugo.toml", "baseURL = \"https://b.example/\""),
            ("config/staging/hugo.toml", "title = \"Staging\""),
        ])
        .unwrap();
        assert_eq!((found.title.as_str(), found.base_url.as_str()), ("Default", "https://b.example/"));
        assert_eq!(dirs(&found), [("de", "content/de"), ("en", "content/en")]);
        assert_eq!(found.files.len(), 5);
        let both = config(&[("hugo.toml", "title = \"First\""), ("config.toml", "title = \"Never\"")]).unwrap();
        assert_eq!((both.title.as_str(), both.files.as_slice()), ("First", &["hugo.toml".to_owned()][..]));
    }

    #[test]
    fn languages_come_from_tables_and_mounts() {
        let shared =
            config(&[("hugo.toml", "[languages.en]\n[languages.DE]\n[languages.fr]\ndisabled = true\n")]).unwrap();
        assert_eq!(dirs(&shared), [("de", "content"), ("en", "content")]);
        let mounted = "[languages.en]\n[languages.de]\n[[module.mounts]]\nsource = \"docs/en\"\ntarget = \"content\"\nlang = \"en\"\n\
                       [[module.mounts]]\nsource = \"docs/de\"\ntarget = \"content\"\nlang = \"de\"\n[[module.mounts]]\nsource = \"img\"\ntarget = \"static\"\n";
        let mounted = config(&[("hugo.toml", mounted)]).unwrap();
        assert_eq!(dirs(&mounted), [("de", "docs/de"), ("en", "docs/en")]);
        assert_eq!(mounted.static_dirs, ["static", "img"]);
    }

    #[test]
    fn faults_are_named_with_the_file() {
        let of = |files: &[(&str, &str)]| {
            let error = config(files).unwrap_err();
            assert_eq!(
                (error.code, &error.details["reason"]),
                ("INVALID_INPUT", &serde_json::json!("site_configuration"))
            );
            error.message
        };
        assert!(of(&[("index.md", "")]).contains("no configuration of Hugo at its top"));
        for (file, text) in [("hugo.toml", "title = "), ("hugo.yaml", "a: [1"), ("hugo.json", "{")] {
            assert!(of(&[(file, text)]).starts_with(file), "{file}");
        }
        for dir in ["../x", "/etc", "a/../../b"] {
            assert!(of(&[("hugo.toml", &format!("contentDir = \"{dir}\""))]).contains("outside of the site"), "{dir}");
        }
    }
}
