//! Where a site keeps the pages of each section and language.
//!
//! The configuration decides where it says something, the existing pages otherwise. Invariant: what a run's configuration orders explicitly wins.

use std::collections::{BTreeMap, BTreeSet};

use super::SECTIONS;
use super::hugo_config::HugoConfig;
use super::pages::ReadPage;
use crate::request::run_config::{LayoutMode, RunConfig, SiteKind};
use crate::request::sites::Sites;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SiteLayout {
    pub(super) default_language: String,
    pub(super) content_dirs: BTreeMap<String, String>,
    pub(super) section_dirs: BTreeMap<String, String>,
    /// `v1` or `v2`.
    pub(super) order: &'static str,
    pub(super) has_locale_folders: bool,
    pub(super) default_language_in_subdir: bool,
    /// The languages that are folders directly below the content folder of the configuration, although that doesn't say so.
    top_locales: BTreeSet<String>,
    locales: BTreeSet<String>,
}

/// Names of the folders of the sections, the usual one first.
const FOLDERS: [(&str, &[&str]); 5] = [
    ("products", &["products", "product", "families", "family"]),
    ("docs", &["docs", "doc", "documentation", "guides", "guide", "manual"]),
    ("reference", &["reference", "references", "api-reference", "apireference", "api"]),
    ("kb", &["kb", "knowledge-base", "knowledgebase", "how-to", "howto", "faq"]),
    ("blog", &["blog", "blogs", "posts", "post", "news"]),
];

/// Where a section has the folders of languages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct LocaleVotes {
    /// Directly below the section.
    above: usize,
    /// Deeper.
    below: usize,
    none: usize,
}

impl LocaleVotes {
    fn has_folders(self) -> bool {
        self.above + self.below > self.none
    }
}

impl SiteLayout {
    pub(super) fn of(pages: &[ReadPage], hugo: &HugoConfig, config: &RunConfig, kind: SiteKind) -> Self {
        let locales: BTreeSet<String> = Sites::builtin()
            .locales
            .into_iter()
            .chain(config.locales.iter().cloned())
            .chain(hugo.content_dirs.keys().cloned())
            .collect();
        let (default_language, mut content_dirs) = languages(hugo, config, kind);
        let is_shared = content_dirs.values().collect::<BTreeSet<_>>().len() == 1;
        let top_locales = if is_shared { top_locales(pages, &locales) } else { BTreeSet::new() };
        let mut layout = Self {
            default_language_in_subdir: hugo.default_language_in_subdir || !top_locales.is_empty(),
            order: "v2",
            has_locale_folders: false,
            section_dirs: BTreeMap::new(),
            content_dirs: BTreeMap::new(),
            default_language,
            top_locales,
            locales,
        };
        if !layout.top_locales.is_empty() {
            let dir = content_dirs.values().next().cloned().unwrap_or_default();
            let folder = |locale: &String| if dir.is_empty() { locale.clone() } else { format!("{dir}/{locale}") };
            content_dirs = layout
                .top_locales
                .iter()
                .chain(&config.locales)
                .map(|locale| (locale.clone(), folder(locale)))
                .collect();
            if !layout.top_locales.contains(&layout.default_language) {
                layout.default_language = config.locales.first().cloned().unwrap_or_default();
            }
        }
        layout.section_dirs = section_dirs(pages, &layout, config);
        let votes = layout.votes(pages);
        let has_own_dirs = content_dirs.len() > 1 && content_dirs.values().collect::<BTreeSet<_>>().len() > 1;
        let has_own_dirs = has_own_dirs || !layout.top_locales.is_empty();
        let is_explicit = config.layout_mode != LayoutMode::Auto;
        let needs_folders = kind == SiteKind::Markdown && config.locales.len() > 1;
        layout.has_locale_folders = !has_own_dirs && (votes.has_folders() || is_explicit || needs_folders);
        layout.order = match config.layout_mode {
            LayoutMode::V1 => "v1",
            LayoutMode::V2 => "v2",
            LayoutMode::Auto if has_own_dirs || votes.above > votes.below => "v1",
            LayoutMode::Auto => "v2",
        };
        if layout.has_locale_folders {
            let dir = content_dirs.values().next().cloned().unwrap_or_default();
            let known: Vec<String> = pages.iter().filter_map(|page| layout.locale_folder(page)).collect();
            for locale in known.into_iter().chain(config.locales.iter().cloned()) {
                content_dirs.entry(locale).or_insert_with(|| dir.clone());
            }
        }
        layout.content_dirs = content_dirs;
        layout
    }

    /// The section that a page belongs to.
    pub(super) fn section_of(&self, page: &ReadPage) -> Option<&'static str> {
        let stem = self.below_locale(page);
        let fits = |dir: &str| dir.is_empty() || stem.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
        let fitting = SECTIONS.iter().filter(|(_, name)| self.section_dirs.get(*name).is_some_and(|dir| fits(dir)));
        fitting.max_by_key(|(_, name)| self.section_dirs[*name].len()).map(|(_, name)| *name)
    }

    /// Whether the site's configuration gives pages of the section other addresses than those of their paths.
    pub(super) fn has_other_addresses(&self, section: &str, hugo: &HugoConfig) -> bool {
        let dir = self.section_dirs.get(section).map_or("", String::as_str);
        let top = dir.split('/').next().unwrap_or_default();
        let has_pattern = match (top, self.top_locales.is_empty()) {
            ("", _) => !hugo.permalinks.is_empty(),
            (top, true) => hugo.permalinks.contains_key(&top.to_lowercase()),
            // To Hugo the folder of the language is the section.
            (_, false) => self.top_locales.iter().any(|locale| hugo.permalinks.contains_key(locale)),
        };
        has_pattern || hugo.has_ugly_urls || hugo.keeps_case && dir.chars().any(char::is_uppercase)
    }

    /// The language of a page: of its folder, or else what the configuration says.
    pub(super) fn language_of(&self, page: &ReadPage) -> String {
        let top = page.stem.split('/').next().filter(|top| self.top_locales.contains(*top)).map(str::to_owned);
        let own = if self.has_locale_folders { self.locale_folder(page) } else { None };
        top.or(own).unwrap_or_else(|| match self.content_dirs.contains_key(&page.language) {
            true => page.language.clone(),
            false => self.default_language.clone(),
        })
    }

    /// The path of a page below the folder of its language.
    fn below_locale<'p>(&self, page: &'p ReadPage) -> &'p str {
        match page.stem.split_once('/') {
            Some((top, rest)) if self.top_locales.contains(top) => rest,
            _ => &page.stem,
        }
    }

    /// The folders of a page below its section, without the page itself.
    fn folders<'p>(&self, page: &'p ReadPage) -> Option<impl Iterator<Item = &'p str>> {
        let dir = &self.section_dirs[self.section_of(page)?];
        let rest = self.below_locale(page).strip_prefix(dir.as_str())?.trim_start_matches('/');
        let (folders, _) = rest.rsplit_once('/')?;
        Some(folders.split('/'))
    }

    fn locale_folder(&self, page: &ReadPage) -> Option<String> {
        self.folders(page)?.find(|part| self.locales.contains(*part)).map(str::to_owned)
    }

    /// What the sections of the site do, one vote each: a blog of thousands of posts doesn't decide for the documents.
    fn votes(&self, pages: &[ReadPage]) -> LocaleVotes {
        let mut sections: BTreeMap<&str, LocaleVotes> = BTreeMap::new();
        for page in pages {
            let (Some(section), Some(mut folders)) = (self.section_of(page), self.folders(page)) else { continue };
            let votes = sections.entry(section).or_default();
            match folders.position(|part| self.locales.contains(part)) {
                Some(0) => votes.above += 1,
                Some(_) => votes.below += 1,
                None => votes.none += 1,
            }
        }
        let mut all = LocaleVotes::default();
        for votes in sections.into_values() {
            match votes {
                votes if !votes.has_folders() => all.none += 1,
                votes if votes.above > votes.below => all.above += 1,
                _ => all.below += 1,
            }
        }
        all
    }
}

/// The default language and the content folders that the configuration gives.
fn languages(hugo: &HugoConfig, config: &RunConfig, kind: SiteKind) -> (String, BTreeMap<String, String>) {
    match (kind, hugo.content_dirs.len(), config.locales.as_slice()) {
        // Without languages the only one is whatever the run calls it.
        (SiteKind::Hugo, 1, [only]) if !hugo.content_dirs.contains_key(only) => {
            let dir = hugo.content_dirs.values().next().cloned().unwrap_or_default();
            (only.clone(), BTreeMap::from([(only.clone(), dir)]))
        }
        _ => (hugo.default_language.clone(), hugo.content_dirs.clone()),
    }
}

/// The languages that are folders directly below the content folder: at least one, with more pages in them than beside them.
fn top_locales(pages: &[ReadPage], locales: &BTreeSet<String>) -> BTreeSet<String> {
    let top = |page: &ReadPage| page.stem.split_once('/').map(|(top, _)| top.to_owned());
    let inner: Vec<String> = pages.iter().filter_map(top).collect();
    let in_locales = inner.iter().filter(|top| locales.contains(*top)).count();
    if in_locales * 2 <= inner.len() {
        return BTreeSet::new();
    }
    inner.into_iter().filter(|top| locales.contains(top)).collect()
}

/// The folder of each section: one that exists and has a usual name, else the top if the site is for one section alone, else the section's name.
fn section_dirs(pages: &[ReadPage], layout: &SiteLayout, config: &RunConfig) -> BTreeMap<String, String> {
    let tops: BTreeSet<&str> =
        pages.iter().filter_map(|page| layout.below_locale(page).split_once('/')).map(|(top, _)| top).collect();
    let existing = |name: &str, usual: &[&str]| {
        let by_name = usual.iter().find_map(|usual| tops.iter().find(|top| top.eq_ignore_ascii_case(usual)));
        // `docs.example.org`: the pages of several hosts in one site.
        let by_host = || tops.iter().find(|top| top.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')));
        by_name.or_else(by_host).map(|top| (*top).to_owned())
    };
    let found: BTreeMap<&str, Option<String>> =
        FOLDERS.iter().map(|(name, usual)| (*name, existing(name, usual))).collect();
    let is_for_one = config.required_sections.len() == 1 && !tops.is_empty() && found.values().all(Option::is_none);
    let required: Vec<&str> = SECTIONS
        .iter()
        .filter(|(section, _)| config.required_sections.contains(section))
        .map(|(_, name)| *name)
        .collect();
    let folder = |(name, folder): (&str, Option<String>)| {
        let is_top = is_for_one && required.contains(&name);
        let folder = folder.unwrap_or_else(|| if is_top { String::new() } else { name.to_owned() });
        (name.to_owned(), folder)
    };
    found.into_iter().map(folder).collect()
}
