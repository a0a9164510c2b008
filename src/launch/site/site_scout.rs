//! What a run needs to know of a documentation site: where its pages lie, what their addresses are, and how they are written.
//!
//! It reads the files of the pinned commit and builds nothing; templates aren't run. Invariants: a file is opened strictly below the folder, never
//! through a link; equal commits give equal contexts; counts and sizes are bounded. Source: `docs/internals/reference/contract-launch.md#sites`.

mod addresses;
mod front_matter_rules;
pub(crate) mod hugo_config;
mod layout;
mod pages;

use std::collections::BTreeMap;
use std::path::Path;

use codeyard_files::gate::RootReader;
use codeyard_runs::stage::{StageError, StopFlag};

use crate::artifacts::SCHEMA_VERSION;
use crate::artifacts::site::{FrontMatterRules, SiteContext, SitePage};
use crate::limits::{MAX_SITE_CONFIG_BYTES, MAX_SITE_PAGES};
use crate::repository::checkout::CheckedOut;
use crate::repository::git_errors::of_io;
use crate::repository::repo_scout::{TreeEntryKind, tree};
use crate::request::run_config::{RunConfig, Section, SiteKind};
use front_matter_rules::{PageKeys, rules_of, rules_of_archetype};
use hugo_config::HugoConfig;
use layout::SiteLayout;
use pages::ReadPage;

/// Files of a site besides pages that are listed.
const MAX_STATIC_FILES: usize = 20_000;

pub(crate) struct SiteFiles {
    /// Their paths, sorted.
    paths: Vec<String>,
    reader: RootReader,
}

/// All sections, with their names in artifacts.
pub(crate) const SECTIONS: [(Section, &str); 5] = [
    (Section::Products, "products"),
    (Section::Docs, "docs"),
    (Section::Reference, "reference"),
    (Section::Kb, "kb"),
    (Section::Blog, "blog"),
];

/// The context of the site in the folder `site`.
///
/// # Errors
/// `INVALID_INPUT` if its configuration can't be read (`reason` is `site_configuration`) or it has too many files, `CANCELLED` if the work has
/// to stop, `INTERNAL` if git or the file system fails.
pub fn site_context(
    site: &Path,
    checkout: &CheckedOut,
    config: &RunConfig,
    stop: &StopFlag,
) -> Result<SiteContext, StageError> {
    let files = SiteFiles::open(site, &checkout.commit, stop)?;
    let kind = config.site.as_ref().map_or(SiteKind::Hugo, |site| site.kind);
    let paths: Vec<&str> = files.paths.iter().map(String::as_str).collect();
    let hugo = match kind {
        SiteKind::Hugo => HugoConfig::read(&paths, &|path, max| files.read(path, max))?,
        SiteKind::Markdown => HugoConfig::of_plain_files(&config.locales),
    };
    let pages = pages::read(&files, &hugo, kind, stop)?;
    let layout = SiteLayout::of(&pages, &hugo, config, kind);
    let rules_of_section = |name: &str| match (kind, rules(name, &pages, &layout, &hugo, &files)) {
        // Pages that nothing builds need no front matter, unless others have one.
        (SiteKind::Markdown, rules) => rules,
        (SiteKind::Hugo, rules) => Some(hugo_rules(name, rules, &layout, &hugo)),
    };
    let front_matter: BTreeMap<String, FrontMatterRules> =
        SECTIONS.iter().filter_map(|(_, name)| Some(((*name).to_owned(), rules_of_section(name)?))).collect();
    Ok(SiteContext {
        schema_version: SCHEMA_VERSION.into(),
        commit: checkout.commit.clone(),
        commit_date: checkout.commit_date.clone(),
        branch: checkout.branch.clone(),
        kind: if kind == SiteKind::Hugo { "hugo" } else { "markdown" }.into(),
        static_files: static_files(&files, &hugo, kind),
        config_files: hugo.files,
        title: hugo.title,
        base_url: hugo.base_url,
        default_language: layout.default_language,
        content_dirs: layout.content_dirs,
        layout: layout.order.into(),
        has_locale_folders: layout.has_locale_folders,
        default_language_in_subdir: layout.default_language_in_subdir,
        section_dirs: layout.section_dirs,
        front_matter,
        bullet: bullet(&pages),
        pages: pages
            .into_iter()
            .take(MAX_SITE_PAGES)
            .map(|page| SitePage { path: page.path, url: page.url, title: page.title })
            .collect(),
    })
}

impl SiteFiles {
    fn open(site: &Path, commit: &str, stop: &StopFlag) -> Result<Self, StageError> {
        let root = site.canonicalize().map_err(|error| of_io("opening the site's working copy", &error))?;
        let entries = tree(&root, commit, stop)?.into_iter();
        let files = entries.filter(|entry| entry.kind == TreeEntryKind::File && entry.is_utf8).map(|entry| entry.path);
        Ok(Self { paths: files.collect(), reader: RootReader::open(&root) })
    }

    /// The content of a file; `None` if it can't be read or is larger than `max_bytes`.
    fn read(&self, path: &str, max_bytes: u64) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.reader.read(Path::new(path), max_bytes, &mut bytes).ok()?;
        Some(bytes)
    }

    /// The content of a file as text. Bytes that aren't UTF-8 are replaced.
    fn text(&self, path: &str, max_bytes: u64) -> Option<String> {
        self.read(path, max_bytes).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The rules of a section: of its pages in the default language, of all its pages, of its lists, or else of its archetype.
fn rules(
    section: &str,
    pages: &[ReadPage],
    layout: &SiteLayout,
    hugo: &HugoConfig,
    files: &SiteFiles,
) -> Option<FrontMatterRules> {
    let keys_of = |accept: &dyn Fn(&ReadPage) -> bool| -> Vec<&PageKeys> {
        let fitting = pages.iter().filter(|page| layout.section_of(page) == Some(section) && accept(page));
        fitting.filter_map(|page| page.front_matter.as_ref()).collect()
    };
    let in_default = |page: &ReadPage| layout.language_of(page) == layout.default_language;
    let of_pages = rules_of(&keys_of(&|page| !page.is_list && in_default(page)))
        .or_else(|| rules_of(&keys_of(&|page| !page.is_list)))
        .or_else(|| rules_of(&keys_of(&|_| true)));
    let of_archetype = || {
        let folder = layout.section_dirs.get(section).and_then(|dir| dir.split('/').next()).unwrap_or(section);
        let names = [format!("{folder}.md"), format!("{folder}/index.md"), "default.md".to_owned()];
        let text = |name: &String| files.text(&format!("{}/{name}", hugo.archetype_dir), MAX_SITE_CONFIG_BYTES);
        names.iter().find_map(|name| rules_of_archetype(&text(name)?))
    };
    of_pages.or_else(of_archetype)
}

/// The rules of a section of a site that Hugo builds.
fn hugo_rules(
    section: &str,
    found: Option<FrontMatterRules>,
    layout: &SiteLayout,
    hugo: &HugoConfig,
) -> FrontMatterRules {
    let none = || FrontMatterRules { form: "yaml".into(), required: BTreeMap::new(), constants: BTreeMap::new() };
    let mut rules = found.unwrap_or_else(none);
    if layout.has_other_addresses(section, hugo) {
        // A page that says its own address has the one that was planned, whatever the site makes of paths.
        rules.required.insert("url".into(), "string".into());
    }
    rules
}

/// Files besides pages, as the built site has them.
fn static_files(files: &SiteFiles, hugo: &HugoConfig, kind: SiteKind) -> Vec<String> {
    let is_page = |path: &str| addresses::place(path, hugo).is_some();
    let below = |path: &str, dir: &str| -> Option<String> {
        let rest = if dir.is_empty() { path } else { path.strip_prefix(dir)?.strip_prefix('/')? };
        Some(rest.to_owned())
    };
    let mut found: Vec<String> = match kind {
        SiteKind::Markdown => {
            files.paths.iter().filter(|path| !is_page(path) && !path.starts_with('.')).cloned().collect()
        }
        SiteKind::Hugo => {
            let of_static =
                files.paths.iter().filter_map(|path| hugo.static_dirs.iter().find_map(|dir| below(path, dir)));
            let beside = files.paths.iter().filter(|path| !is_page(path));
            let beside = beside.filter_map(|path| hugo.content_dirs.values().find_map(|dir| below(path, dir)));
            of_static.chain(beside).collect()
        }
    };
    found.sort();
    found.dedup();
    found.truncate(MAX_STATIC_FILES);
    found
}

/// The marker of most list items; `-` where none is used more.
fn bullet(pages: &[ReadPage]) -> char {
    let count = |marker: usize| pages.iter().map(|page| page.bullets[marker]).sum::<usize>();
    let counts: Vec<(usize, char)> =
        pages::BULLETS.iter().enumerate().map(|(index, marker)| (count(index), *marker)).collect();
    let most = counts.iter().map(|(count, _)| *count).max().unwrap_or_default();
    counts.iter().find(|(count, _)| *count == most).map_or('-', |(_, marker)| *marker)
}

#[cfg(test)]
mod tests;
