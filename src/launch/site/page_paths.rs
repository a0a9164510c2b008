//! Where a page of the product lies on the site, and what its address is.
//!
//! It follows the site's own folders. Invariants: equal inputs give equal paths; two pages never share a path, whatever the case of its letters; a page
//! that exists keeps its path and its address. Source: `docs/internals/reference/contract-launch.md#pages`.

use std::collections::{BTreeMap, BTreeSet};

use crate::artifacts::site::SiteContext;
use crate::request::run_config::{RunConfig, section_name};

/// The paths of a run's pages.
pub(crate) struct PagePaths<'p> {
    site: &'p SiteContext,
    config: &'p RunConfig,
    /// The existing files by their addresses.
    existing: BTreeMap<&'p str, &'p str>,
    /// The addresses of the existing files.
    addresses: BTreeMap<&'p str, &'p str>,
    used: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PagePlace {
    /// The file, relative to the top.
    pub(crate) path: String,
    /// The path of its address.
    pub(crate) url: String,
    /// Whether its front matter has to name that.
    pub(crate) has_own_url: bool,
}

/// Longest name of a file, in bytes, without its ending.
const MAX_SLUG_BYTES: usize = 80;

impl<'p> PagePaths<'p> {
    /// The paths on `site`.
    pub(crate) fn new(site: &'p SiteContext, config: &'p RunConfig) -> Self {
        let pairs = || site.pages.iter().map(|page| (page.url.as_str(), page.path.as_str()));
        let addresses = pairs().map(|(url, path)| (path, url)).collect();
        Self { site, config, existing: pairs().collect(), addresses, used: BTreeSet::new() }
    }

    /// The place of the page `name` of a section; `None` for the page of the folder itself. `name` is a slug.
    pub(crate) fn place(&mut self, section: &str, locale: &str, name: Option<&str>) -> PagePlace {
        let folder = self.folder(section, locale);
        let mut number = 1;
        loop {
            let slug = name.map(|name| if number == 1 { name.to_owned() } else { format!("{name}-{number}") });
            let place = self.place_in(&folder, locale, slug.as_deref());
            if self.used.insert(place.path.to_lowercase()) {
                return place;
            }
            number += 1;
        }
    }

    fn place_in(&self, folder: &str, locale: &str, slug: Option<&str>) -> PagePlace {
        let is_hugo = self.site.kind == "hugo";
        let below = match slug {
            Some(slug) => format!("{folder}/{slug}"),
            None => folder.to_owned(),
        };
        let url = format!("{}/{}/", self.language_prefix(locale), below.trim_matches('/'));
        let url = if is_hugo { url.to_lowercase() } else { url };
        let suffix = if self.needs_suffix(locale) { format!(".{locale}") } else { String::new() };
        let content = self.content_dir(locale);
        let file = |stem: &str| {
            let file = format!("{stem}{suffix}.md");
            if content.is_empty() { file } else { format!("{content}/{file}") }
        };
        let [page, list, leaf] = [file(&below), file(&format!("{below}/_index")), file(&format!("{below}/index"))];
        if let Some(path) = self.existing.get(url.as_str()) {
            let leads_there = [&page, &list, &leaf].into_iter().any(|file| file.eq_ignore_ascii_case(path));
            return PagePlace { path: (*path).to_owned(), url, has_own_url: is_hugo && !leads_there };
        }
        let path = match slug {
            Some(_) => page,
            None if is_hugo => list,
            None => leaf,
        };
        // The page that is rewritten keeps the address under which others link to it.
        match self.addresses.get(path.as_str()) {
            Some(own) => PagePlace { url: (*own).to_owned(), path, has_own_url: is_hugo },
            None => PagePlace { path, url, has_own_url: false },
        }
    }

    /// The product's folder of a section, below the content folder.
    fn folder(&self, section: &str, locale: &str) -> String {
        let dir = self.site.section_dirs.get(section).map_or("", String::as_str);
        // Sections that share a folder are apart below the product.
        let shared = self.config.required_sections.iter().map(|section| section_name(*section));
        let is_shared = section != "products"
            && shared
                .filter(|other| *other != section)
                .any(|other| self.site.section_dirs.get(other).map_or("", String::as_str) == dir);
        let product = self.config.product_slug.as_str();
        let platform = self.config.target_platform.as_str();
        let locale = if self.site.has_locale_folders { locale } else { "" };
        let parts = match self.site.layout.as_str() {
            "v1" => [dir, locale, product, platform],
            _ => [dir, product, locale, platform],
        };
        let parts = parts.into_iter().chain([if is_shared { section } else { "" }]);
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    }

    fn content_dir(&self, locale: &str) -> &str {
        let own = self.site.content_dirs.get(locale);
        own.or_else(|| self.site.content_dirs.get(&self.site.default_language)).map_or("content", String::as_str)
    }

    /// Whether the language is in the name of the file.
    fn needs_suffix(&self, locale: &str) -> bool {
        locale != self.site.default_language
            && !self.site.has_locale_folders
            && self.content_dir(locale) == self.content_dir(&self.site.default_language)
    }

    fn language_prefix(&self, locale: &str) -> String {
        let is_plain = self.site.has_locale_folders
            || (locale == self.site.default_language && !self.site.default_language_in_subdir);
        if is_plain { String::new() } else { format!("/{locale}") }
    }
}

/// `text` as a part of a path: letters and digits of ASCII in lower case, other runs of characters as one hyphen. A text without letters and
/// digits of ASCII becomes a name made from its digest.
pub(crate) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let digest = || codeyard_base::digest::sha256hex(text)[..8].to_owned();
    let trimmed = slug.trim_end_matches('-');
    match trimmed.len() {
        0 => format!("page-{}", digest()),
        length if length > MAX_SLUG_BYTES => {
            format!("{}-{}", trimmed[..MAX_SLUG_BYTES].trim_end_matches('-'), digest())
        }
        _ => trimmed.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_ascii_and_never_empty() {
        for (text, expected) in [
            ("Getting Started", "getting-started"),
            ("tidy.core::Table<T>", "tidy-core-table-t"),
            ("--a--b--", "a-b"),
            ("1.2.0", "1-2-0"),
            ("../../etc", "etc"),
        ] {
            assert_eq!(slug(text), expected, "{text}");
        }
        assert!(slug("日本語").starts_with("page-"));
        assert_ne!(slug("日本語"), slug("日本"));
        let long = slug(&"x".repeat(500));
        assert!(long.len() <= MAX_SLUG_BYTES + 9, "{long}");
    }
}
