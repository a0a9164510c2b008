//! Which pages a run writes: for each required section and language, from what is known of the product.
//!
//! It writes no text. Invariants: equal inputs give equal plans; every path is allowed; identifiers, paths and addresses are unique. Source:
//! `docs/internals/reference/contract-launch.md#pages`.

use codeyard_runs::stage::StageError;

use crate::artifacts::SCHEMA_VERSION;
use crate::artifacts::facts::{ApiItem, ExampleProgram, ProductFacts};
use crate::artifacts::page_plan::{PagePlan, PageTemplate, PlannedPage};
use crate::artifacts::site::SiteContext;
use crate::artifacts::snippets::{Snippet, SnippetCatalog};
use crate::markdown::safe_markdown;
use crate::request::allowed_paths::AllowedPaths;
use crate::request::run_config::{RunConfig, Section, section_name};
use crate::site::page_paths::{PagePaths, slug};
use crate::writing::section_writer;

/// Example programs that get a page of their own.
const MAX_PLANNED_EXAMPLES: usize = 20;
/// Snippets of the README on the page for beginners.
const MAX_README_SNIPPETS: usize = 3;

/// Lines of a page of the API besides its items: front matter, introduction, links.
const API_PAGE_FRAME_LINES: usize = 60;
/// Lines of an item besides its signature and its doc comment: heading, fence, source, blank lines.
const API_ITEM_FRAME_LINES: usize = 12;

/// The pages of one language while they are planned.
struct Planner<'p> {
    config: &'p RunConfig,
    facts: &'p ProductFacts,
    snippets: &'p SnippetCatalog,
    paths: PagePaths<'p>,
    pages: Vec<PlannedPage>,
}

/// Items of one module that are on one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ApiPart<'f> {
    module: &'f str,
    /// The items among those of the module, from the first to before the last.
    items: (usize, usize),
    /// Which part of how many.
    number: (usize, usize),
}

/// The pages of a run.
///
/// # Errors
/// `ALLOWED_PATHS_VIOLATION` if a page may not be written; `INVALID_INPUT` if there are more pages than the run may change, or a section has nothing
/// to show.
pub fn plan(
    config: &RunConfig,
    site: &SiteContext,
    facts: &ProductFacts,
    snippets: &SnippetCatalog,
) -> Result<PagePlan, StageError> {
    for locale in &config.locales {
        if !section_writer::locales().contains(&locale.as_str()) {
            return Err(section_writer::unknown_locale(locale));
        }
    }
    let mut planner = Planner { config, facts, snippets, paths: PagePaths::new(site, config), pages: Vec::new() };
    let mut sections = config.required_sections.clone();
    sections.sort_unstable();
    for section in sections {
        for locale in &config.locales {
            planner.section(section, locale);
        }
    }
    planner.link();
    let pages = planner.pages;
    check_budget(config, &pages)?;
    check_paths(config, &pages)?;
    Ok(PagePlan { schema_version: SCHEMA_VERSION.into(), commit: facts.commit.clone(), pages })
}

/// The items that a page of the API shows: those of its module, or the part of them that its subject names after `#`.
pub fn items_of<'f>(page: &PlannedPage, facts: &'f ProductFacts) -> Vec<&'f ApiItem> {
    let (module, range) = match page.subject.rsplit_once('#') {
        Some((module, range)) => (module, range.split_once('-')),
        None => (page.subject.as_str(), None),
    };
    let items: Vec<&ApiItem> = facts.api.iter().filter(|item| item.module == module).collect();
    let bound = |text: &str| text.parse::<usize>().ok();
    match range.and_then(|(first, last)| Some((bound(first)?, bound(last)?))) {
        Some((first, last)) if first >= 1 && first <= last && last <= items.len() => items[first - 1..last].to_vec(),
        _ => items,
    }
}

/// The module of a page of the API, as users import it; empty for the top.
pub fn module_of(page: &PlannedPage) -> &str {
    page.subject.rsplit_once('#').map_or(&page.subject, |(module, _)| module)
}

impl Planner<'_> {
    fn section(&mut self, section: Section, locale: &str) {
        let name = section_name(section);
        match section {
            Section::Products => self.add(name, locale, PageTemplate::Product, None, &self.config.product_name.clone()),
            Section::Docs => {
                self.add(name, locale, PageTemplate::GettingStarted, Some("getting-started"), "Getting started");
            }
            Section::Reference => self.reference(name, locale),
            Section::Kb => self.examples(name, locale),
            Section::Blog => {
                let version = self.facts.version.as_ref().map(|version| version.text.clone());
                let title = match &version {
                    Some(version) => format!("{} {version}", self.config.product_name),
                    None => self.config.product_name.clone(),
                };
                let file = match version {
                    Some(version) => format!("release-{}", slug(&version)),
                    // The release has no other name.
                    None => format!("release-{}", &self.facts.commit[..self.facts.commit.len().min(12)]),
                };
                self.add(name, locale, PageTemplate::Release, Some(&file), &title);
            }
        }
    }

    fn reference(&mut self, section: &str, locale: &str) {
        let title = format!("{} API reference", self.config.product_name);
        self.add(section, locale, PageTemplate::ApiIndex, None, &title);
        let facts = self.facts;
        for part in api_parts(facts, self.config.budgets.max_lines_per_file) {
            let module = if part.module.is_empty() { self.config.product_name.as_str() } else { part.module };
            let (title, file) = match part.number {
                (_, 1) => (module.to_owned(), slug(module)),
                (number, count) => (format!("{module} ({number} of {count})"), format!("{}-{number}", slug(module))),
            };
            self.add(section, locale, PageTemplate::ApiModule, Some(&file), &title);
            if let Some(page) = self.pages.last_mut() {
                page.subject = match part.number {
                    (_, 1) => part.module.to_owned(),
                    _ => format!("{}#{}-{}", part.module, part.items.0 + 1, part.items.1),
                };
            }
        }
    }

    fn examples(&mut self, section: &str, locale: &str) {
        let title = format!("{} examples", self.config.product_name);
        self.add(section, locale, PageTemplate::ExampleIndex, None, &title);
        let facts = self.facts;
        // An example whose code can't be shown has no page.
        let shown: Vec<&ExampleProgram> =
            facts.examples.iter().filter(|example| self.snippets_of(&example.path).next().is_some()).collect();
        for example in shown.into_iter().take(MAX_PLANNED_EXAMPLES) {
            let ids: Vec<String> = self.snippets_of(&example.path).map(|snippet| snippet.id.clone()).collect();
            let stem = example.path.rsplit('/').next().unwrap_or(&example.path);
            let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
            self.add(section, locale, PageTemplate::Example, Some(&slug(stem)), &safe_markdown::title(&example.title));
            if let Some(page) = self.pages.last_mut() {
                page.subject.clone_from(&example.path);
                page.snippets = ids;
            }
        }
    }

    fn snippets_of(&self, path: &str) -> impl Iterator<Item = &Snippet> {
        self.snippets.snippets.iter().filter(move |snippet| snippet.path == path)
    }

    /// The first snippets of the README that are no commands. What only configures something is no example of the product.
    fn readme_snippets(&self, count: usize, has_settings: bool) -> Vec<String> {
        let is_left_out = |snippet: &Snippet| match snippet.language.as_str() {
            "sh" | "bash" | "shell" | "console" => true,
            "toml" | "json" | "jsonc" | "yaml" | "yml" | "ini" | "xml" | "gradle" | "properties" => !has_settings,
            _ => false,
        };
        let is_wanted = |snippet: &&Snippet| {
            !snippet.path.contains('/')
                && snippet.path.to_ascii_lowercase().starts_with("readme")
                && !is_left_out(snippet)
        };
        self.snippets.snippets.iter().filter(is_wanted).take(count).map(|snippet| snippet.id.clone()).collect()
    }

    fn add(&mut self, section: &str, locale: &str, template: PageTemplate, file: Option<&str>, title: &str) {
        let place = self.paths.place(section, locale, file);
        let name = place.path.rsplit('/').next().unwrap_or_default();
        let name = name.split('.').next().unwrap_or_default();
        let snippets = match template {
            PageTemplate::Product => self.readme_snippets(1, false),
            PageTemplate::GettingStarted => self.readme_snippets(MAX_README_SNIPPETS, true),
            _ => Vec::new(),
        };
        let siblings = self.pages.iter().filter(|page| page.section == section && page.locale == locale).count();
        let id = format!("{section}/{locale}/{}", if name.is_empty() { "page" } else { name });
        self.pages.push(PlannedPage {
            id: self.unique(id),
            section: section.to_owned(),
            locale: locale.to_owned(),
            template,
            path: place.path,
            url: place.url,
            has_own_url: place.has_own_url,
            title: title.to_owned(),
            weight: u32::try_from(siblings + 1).unwrap_or(u32::MAX),
            subject: String::new(),
            snippets,
            links: Vec::new(),
        });
    }

    fn unique(&self, id: String) -> String {
        let is_used = |id: &str| self.pages.iter().any(|page| page.id == id);
        let numbered = (2..).map(|number| format!("{id}-{number}"));
        std::iter::once(id.clone()).chain(numbered).find(|id| !is_used(id)).unwrap_or(id)
    }

    /// Links the pages of each language: the main ones with each other, lists with what they list.
    fn link(&mut self) {
        let known: Vec<(String, String, PageTemplate, String)> = self
            .pages
            .iter()
            .map(|page| (page.id.clone(), page.locale.clone(), page.template, page.section.clone()))
            .collect();
        for page in &mut self.pages {
            let is_wanted = |template: PageTemplate| match (page.template, template) {
                (PageTemplate::ApiIndex, PageTemplate::ApiModule)
                | (PageTemplate::ExampleIndex, PageTemplate::Example) => true,
                (_, PageTemplate::ApiModule | PageTemplate::Example) => false,
                (PageTemplate::ApiModule, other) => matches!(other, PageTemplate::ApiIndex | PageTemplate::Product),
                (PageTemplate::Example, other) => {
                    matches!(other, PageTemplate::ExampleIndex | PageTemplate::GettingStarted | PageTemplate::ApiIndex)
                }
                (own, other) => own != other,
            };
            let linked = known
                .iter()
                .filter(|(id, locale, template, _)| *id != page.id && *locale == page.locale && is_wanted(*template));
            page.links = linked.map(|(id, ..)| id.clone()).collect();
        }
    }
}

/// The pages of the API: one for a module, or several where one would be too long. Items stay with the item around them, unless that alone is too long.
fn api_parts(facts: &ProductFacts, max_lines: usize) -> Vec<ApiPart<'_>> {
    let room = max_lines.saturating_sub(API_PAGE_FRAME_LINES).max(1);
    let mut parts = Vec::new();
    let mut rest = facts.api.as_slice();
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|item| item.module == first.module).count();
        let (items, after) = rest.split_at(count);
        rest = after;
        let mut bounds = vec![0];
        let mut lines = 0;
        let mut start = 0;
        while start < items.len() {
            let next = items[start + 1..].iter().position(|item| item.parent.is_none());
            let end = next.map_or(items.len(), |next| start + 1 + next);
            let own: usize = items[start..end].iter().map(lines_of).sum();
            if lines > 0 && lines + own > room {
                bounds.push(start);
                lines = 0;
            }
            if own <= room {
                lines += own;
            } else {
                // What doesn't fit on one page is divided between members.
                for (at, item) in items.iter().enumerate().take(end).skip(start) {
                    let own = lines_of(item);
                    if lines > 0 && lines + own > room {
                        bounds.push(at);
                        lines = 0;
                    }
                    lines += own;
                }
            }
            start = end;
        }
        bounds.push(items.len());
        let total = bounds.len() - 1;
        parts.extend(bounds.windows(2).enumerate().map(|(at, bounds)| ApiPart {
            module: &first.module,
            items: (bounds[0], bounds[1]),
            number: (at + 1, total),
        }));
    }
    parts
}

/// The lines of an item on its page.
fn lines_of(item: &ApiItem) -> usize {
    let doc = safe_markdown::document(&item.doc, &item.language, "", '-');
    // A mark can stand on a line of its own, which goes away with it; the row in the list of items counts.
    API_ITEM_FRAME_LINES + item.signature.lines().count() + doc.lines().count()
}

fn check_budget(config: &RunConfig, pages: &[PlannedPage]) -> Result<(), StageError> {
    if pages.len() <= config.budgets.max_files_changed {
        return Ok(());
    }
    let message = format!(
        "the run would write {} pages, but its configuration allows {}; raise budgets.max_files_changed, or require fewer sections",
        pages.len(),
        config.budgets.max_files_changed
    );
    let error = StageError::new("INVALID_INPUT", message).with("reason", "budget").with("budget", "max_files_changed");
    Err(error.with("pages", pages.len()))
}

fn check_paths(config: &RunConfig, pages: &[PlannedPage]) -> Result<(), StageError> {
    let unreadable =
        || StageError::new("INTERNAL", "allowed_paths can't be read").with("cause_class", "unexpected_state");
    let allowed = AllowedPaths::parse(&config.allowed_paths).map_err(|_| unreadable())?;
    let refused: Vec<&str> =
        pages.iter().map(|page| page.path.as_str()).filter(|path| allowed.check(path).is_err()).collect();
    let Some(first) = refused.first() else { return Ok(()) };
    let folder = first.rsplit_once('/').map_or("", |(folder, _)| folder);
    let entry = if folder.is_empty() { (*first).to_owned() } else { format!("{folder}/**") };
    let message = format!(
        "{} of the planned pages may not be written, such as {first}; add {entry:?} to allowed_paths and start another run",
        refused.len()
    );
    Err(StageError::new("ALLOWED_PATHS_VIOLATION", message).with("paths", refused))
}

#[cfg(test)]
mod tests;
