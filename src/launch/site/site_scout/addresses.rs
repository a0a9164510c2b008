//! The addresses that Hugo gives to pages.
//!
//! It follows Hugo's rules for regular pages, sections and bundles, with `url`, `slug` and the simple patterns of `permalinks`. Templates that
//! make other addresses aren't known.

use serde_json::{Map, Value};

use super::hugo_config::HugoConfig;

/// A file of a page, placed among the content folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlacedPage<'p> {
    pub(crate) language: String,
    /// The path below the content folder, without the ending and without a language before it.
    pub(crate) stem: &'p str,
}

/// Where the file at `path` belongs; `None` if it is no page.
pub(crate) fn place<'p>(path: &'p str, config: &HugoConfig) -> Option<PlacedPage<'p>> {
    let (stem, ending) = path.rsplit_once('.')?;
    // Hugo leaves these out.
    if path.rsplit('/').next().is_some_and(|name| name.starts_with(['.', '#'])) {
        return None;
    }
    if !matches!(ending, "md" | "markdown" | "html" | "htm" | "adoc" | "org" | "rst" | "pandoc") {
        return None;
    }
    let below = |dir: &str| match dir {
        "" => Some(stem),
        dir => stem.strip_prefix(dir)?.strip_prefix('/'),
    };
    let fitting = config.content_dirs.iter().filter_map(|(language, dir)| Some((dir.len(), language, below(dir)?)));
    let fitting: Vec<(usize, &String, &str)> = fitting.collect();
    let longest = fitting.iter().map(|(length, _, _)| *length).max()?;
    let owners = || fitting.iter().filter(|(length, _, _)| *length == longest);
    let (_, first, stem) = owners().next()?;
    let name = stem.rsplit('/').next().unwrap_or(stem);
    if let Some((_, suffix)) = name.rsplit_once('.')
        && config.content_dirs.contains_key(&suffix.to_lowercase())
    {
        return Some(PlacedPage { language: suffix.to_lowercase(), stem: &stem[..stem.len() - suffix.len() - 1] });
    }
    let is_default = owners().any(|(_, language, _)| **language == config.default_language);
    let language = if is_default { &config.default_language } else { *first };
    Some(PlacedPage { language: language.clone(), stem })
}

/// The path of a page's address.
pub(crate) fn address(page: &PlacedPage<'_>, keys: &Map<String, Value>, title: &str, config: &HugoConfig) -> String {
    let is_default = page.language == config.default_language;
    let prefix =
        if is_default && !config.default_language_in_subdir { String::new() } else { format!("/{}", page.language) };
    let text = |key: &str| keys.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    if let Some(url) = text("url") {
        // With a slash at its beginning it is below the top of the whole site.
        return if url.starts_with('/') { url.to_owned() } else { format!("{prefix}/{url}") };
    }
    let (folder, name) = page.stem.rsplit_once('/').unwrap_or(("", page.stem));
    if name == "_index" {
        let folder = urlized(folder, config);
        let is_file = config.has_ugly_urls && !folder.is_empty();
        return if is_file { format!("{prefix}/{folder}.html") } else { format!("{prefix}/{}", with_slash(&folder)) };
    }
    // The last part of the address: of a leaf bundle, the name of its folder.
    let (folder, name) = match name {
        "index" => folder.rsplit_once('/').unwrap_or(("", folder)),
        _ => (folder, name),
    };
    if name.is_empty() {
        return format!("{prefix}/");
    }
    let section = folder.split('/').next().unwrap_or_default();
    if let Some(pattern) = config.permalinks.get(section)
        && let Some(path) = by_pattern(pattern, section, folder, name, keys, title, config)
    {
        let path = path.trim_matches('/');
        return if config.has_ugly_urls {
            format!("{prefix}/{path}.html")
        } else {
            format!("{prefix}/{}", with_slash(path))
        };
    }
    let last = text("slug").map_or_else(|| urlized(name, config), |slug| urlized(slug, config));
    let folder = with_slash(&urlized(folder, config));
    match config.has_ugly_urls {
        true => format!("{prefix}/{folder}{last}.html"),
        false => format!("{prefix}/{folder}{last}/"),
    }
}

/// The address that a pattern of `permalinks` makes; `None` if it has a part that isn't known here.
fn by_pattern(
    pattern: &str,
    section: &str,
    folder: &str,
    name_of: &str,
    keys: &Map<String, Value>,
    title: &str,
    config: &HugoConfig,
) -> Option<String> {
    let slug = keys.get("slug").and_then(Value::as_str).filter(|slug| !slug.is_empty());
    let date = keys.get("date").and_then(Value::as_str).unwrap_or_default();
    let date_part = |range: std::ops::Range<usize>| {
        date.get(range).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit())).map(str::to_owned)
    };
    let word = |name: &str| match name {
        "section" => Some(section.to_owned()),
        "sections" => Some(urlized(folder, config)),
        "slug" => Some(urlized(slug.unwrap_or(title), config)),
        "slugorfilename" | "slugorcontentbasename" => Some(urlized(slug.unwrap_or(name_of), config)),
        "filename" | "contentbasename" => Some(urlized(name_of, config)),
        "title" => Some(urlized(title, config)),
        "year" => date_part(0..4),
        "month" => date_part(5..7),
        "day" => date_part(8..10),
        _ => None,
    };
    let mut pieces = pattern.split(':');
    let mut made = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(piece.len());
        made.push_str(&word(&piece[..end])?);
        made.push_str(&piece[end..]);
    }
    Some(made)
}

/// A path as Hugo writes it in addresses: letters, digits and some marks stay, blanks become hyphens, the rest goes away.
pub(crate) fn urlized(path: &str, config: &HugoConfig) -> String {
    let mut made = String::with_capacity(path.len());
    for c in path.trim().chars() {
        match c {
            ' ' | '\t' if !made.ends_with('-') => made.push('-'),
            ' ' | '\t' => {}
            c if c.is_alphanumeric() || matches!(c, '.' | '/' | '\\' | '_' | '#' | '+' | '~' | '-' | '@') => {
                made.push(c)
            }
            _ => {}
        }
    }
    if config.keeps_case { made } else { made.to_lowercase() }
}

fn with_slash(path: &str) -> String {
    if path.is_empty() || path.ends_with('/') { path.to_owned() } else { format!("{path}/") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(toml: &str) -> HugoConfig {
        HugoConfig::read(&["hugo.toml"], &|_, _| Some(toml.as_bytes().to_vec())).unwrap()
    }

    fn url(config: &HugoConfig, path: &str, keys: Value) -> String {
        let Value::Object(keys) = keys else { unreachable!() };
        let page = place(path, config).unwrap();
        address(&page, &keys, keys.get("title").and_then(Value::as_str).unwrap_or_default(), config)
    }

    #[test]
    fn pages_sections_and_bundles_have_hugos_addresses() {
        let plain = config("");
        for (path, expected) in [
            ("content/_index.md", "/"),
            ("content/about.md", "/about/"),
            ("content/docs/_index.md", "/docs/"),
            ("content/docs/Getting Started.md", "/docs/getting-started/"),
            ("content/docs/bundle/index.md", "/docs/bundle/"),
            ("content/docs/net/v1.0_a+b.md", "/docs/net/v1.0_a+b/"),
            ("content/docs/page.html", "/docs/page/"),
            ("content/index.md", "/"),
        ] {
            assert_eq!(url(&plain, path, json!({})), expected);
        }
        assert_eq!(url(&plain, "content/docs/a.md", json!({"slug": "Other Name"})), "/docs/other-name/");
        assert_eq!(url(&plain, "content/docs/a/index.md", json!({"slug": "b"})), "/docs/b/");
        assert_eq!(url(&plain, "content/docs/a.md", json!({"url": "/x/y.html"})), "/x/y.html");
        for (path, expected) in [("docs/a.md", "/docs/a.html"), ("docs/_index.md", "/docs.html"), ("_index.md", "/")] {
            assert_eq!(url(&config("uglyURLs = true"), &format!("content/{path}"), json!({})), expected);
        }
        assert_eq!(url(&config("disablePathToLower = true"), "content/Docs/A.md", json!({})), "/Docs/A/");
        assert_eq!(place("content/img.png", &plain), None);
        assert_eq!(place("archetypes/default.md", &plain), None);
        assert_eq!(place("contents/a.md", &plain), None);
        assert_eq!(place("content/docs/.hidden.md", &plain), None);
    }

    #[test]
    fn languages_have_folders_in_addresses() {
        let shared = config("[languages.en]\n[languages.de]\n");
        assert_eq!(url(&shared, "content/docs/a.de.md", json!({})), "/de/docs/a/");
        assert_eq!(url(&shared, "content/docs/a.md", json!({})), "/docs/a/");
        assert_eq!(url(&shared, "content/docs/_index.de.md", json!({})), "/de/docs/");
        assert_eq!(url(&shared, "content/docs/a.xx.md", json!({})), "/docs/a.xx/", "no language of the site");
        let own = config(
            "defaultContentLanguageInSubdir = true\n[languages.en]\ncontentDir = \"content/en\"\n[languages.de]\ncontentDir = \"content/de\"\n",
        );
        assert_eq!(url(&own, "content/en/docs/a.md", json!({})), "/en/docs/a/");
        assert_eq!(url(&own, "content/de/docs/a.md", json!({"url": "x/"})), "/de/x/");
        assert_eq!(place("content/fr/a.md", &own), None);
        let nested = config("[languages.en]\ncontentDir = \"content\"\n[languages.de]\ncontentDir = \"content/de\"\n");
        assert_eq!(url(&nested, "content/de/a.md", json!({})), "/de/a/");
        assert_eq!(url(&nested, "content/a.md", json!({})), "/a/");
    }

    #[test]
    fn patterns_of_permalinks_apply_to_their_section() {
        let blog = config(
            "[permalinks]\nblog = \"/:year/:month/:slug/\"\nposts = \":year-:month/x-:filename\"\nnews = \"/:unknown/\"\n",
        );
        let keys = json!({"title": "New Release", "date": "2026-01-21"});
        assert_eq!(url(&blog, "content/blog/a.md", keys.clone()), "/2026/01/new-release/");
        assert_eq!(url(&blog, "content/blog/_index.md", keys.clone()), "/blog/");
        assert_eq!(url(&blog, "content/posts/A b.md", keys.clone()), "/2026-01/x-a-b/");
        assert_eq!(url(&blog, "content/news/a.md", keys), "/news/a/");
        assert_eq!(url(&blog, "content/blog/a.md", json!({"title": "x"})), "/blog/a/", "no date");
    }
}
