//! Writes pages from templates: what is known of the product, each block with its claims.
//!
//! It finds nothing out and asks nobody. Invariants: equal inputs give equal bytes; what comes from the repository is shown as text and never run; each
//! block of a draft is in its list of claims. Source: `docs/internals/reference/contract-launch.md#pages`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::LazyLock;

use codeyard_runs::stage::{StageError, StopFlag};
use minijinja::Environment;
use serde_json::{Value, json};

use crate::artifacts::facts::{ApiItem, EvidenceMap, ProductFacts};
use crate::artifacts::page_claims::ClaimedPage;
use crate::artifacts::page_draft::PageDraft;
use crate::artifacts::page_plan::{PagePlan, PageTemplate, PlannedPage};
use crate::artifacts::site::SiteContext;
use crate::artifacts::snippets::{Snippet, SnippetCatalog};
use crate::markdown::markdown_page::Anchors;
use crate::markdown::{cited_markdown, front_matter, safe_markdown};
use crate::request::run_config::RunConfig;
use crate::site::page_front_matter;
use crate::writing::planner;

/// What a page is written from.
pub struct WriterInput<'w> {
    pub config: &'w RunConfig,
    pub site: &'w SiteContext,
    /// What is known of the product.
    pub facts: &'w ProductFacts,
    pub evidence: &'w EvidenceMap,
    /// The code that can be shown.
    pub snippets: &'w SnippetCatalog,
    pub plan: &'w PagePlan,
}

/// The templates, by name.
const TEMPLATES: [(&str, &str); 10] = [
    ("install", include_str!("../../../config/templates/launch/install.md.j2")),
    ("facts", include_str!("../../../config/templates/launch/facts.md.j2")),
    ("links", include_str!("../../../config/templates/launch/links.md.j2")),
    ("product", include_str!("../../../config/templates/launch/product.md.j2")),
    ("getting_started", include_str!("../../../config/templates/launch/getting_started.md.j2")),
    ("api_index", include_str!("../../../config/templates/launch/api_index.md.j2")),
    ("api_module", include_str!("../../../config/templates/launch/api_module.md.j2")),
    ("example", include_str!("../../../config/templates/launch/example.md.j2")),
    ("example_index", include_str!("../../../config/templates/launch/example_index.md.j2")),
    ("release", include_str!("../../../config/templates/launch/release.md.j2")),
];

/// The fixed words, by language.
static TEXTS: LazyLock<BTreeMap<String, BTreeMap<String, String>>> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../config/templates/launch/texts.toml")).expect("a test reads the texts")
});

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Lenient);
    environment.add_filter("text", |text: String| safe_markdown::prose(&text));
    environment.add_filter("line", |text: String| safe_markdown::line(&text));
    environment.add_filter("span", |text: String| safe_markdown::code_span(&text));
    environment.add_filter("code", |code: String, language: String| safe_markdown::code_block(&language, &code));
    environment.add_filter("cite", |claim: String| cited_markdown::cite(&[&claim]));
    environment.add_filter("document", |text: String, language: String, claim: String, bullet: String| {
        let bullet = bullet.chars().next().unwrap_or('-');
        safe_markdown::document(&text, &language, &cited_markdown::cite(&[&claim]), bullet)
    });
    for (name, source) in TEMPLATES {
        environment.add_template(name, source).expect("a test reads the templates");
    }
    environment
});

/// The languages that pages can be written in.
pub fn locales() -> Vec<&'static str> {
    TEXTS.keys().map(String::as_str).collect()
}

/// Writes a page.
///
/// # Errors
/// `INVALID_INPUT` if there are no texts in its language, `CANCELLED` if the work has to stop, `INTERNAL` if the template fails.
pub fn write(page: &PlannedPage, input: &WriterInput<'_>, stop: &StopFlag) -> Result<PageDraft, StageError> {
    let texts = TEXTS.get(&page.locale).ok_or_else(|| unknown_locale(&page.locale))?;
    let template = template_of(page.template);
    let values = minijinja::value::Serde(values(page, input, texts));
    let mut cited = StoppableText { bytes: Vec::new(), stop };
    let rendered =
        ENVIRONMENT.get_template(template).and_then(|found| found.render_captured_to(values, &mut cited).map(drop));
    if stop.is_set() {
        return Err(StageError::cancelled());
    }
    rendered.map_err(|error| {
        let message = format!("the template {template} of the page {} failed: {error}", page.id);
        StageError::new("INTERNAL", message).with("cause_class", "template")
    })?;
    Ok(finish(page, input, &tidied(&String::from_utf8_lossy(&cited.bytes))))
}

/// What a template has written; it takes no more once the work has to stop.
struct StoppableText<'s> {
    bytes: Vec<u8>,
    stop: &'s StopFlag,
}

impl io::Write for StoppableText<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stop.is_set() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The page of a cited body: its front matter, its clean text and its claims.
pub(crate) fn finish(page: &PlannedPage, input: &WriterInput<'_>, cited: &str) -> PageDraft {
    let texts = TEXTS.get(&page.locale);
    let key = match page.template {
        PageTemplate::Product => "product_description",
        PageTemplate::GettingStarted => "start_description",
        PageTemplate::ApiIndex | PageTemplate::ApiModule => "reference_description",
        PageTemplate::Example => "example_description",
        PageTemplate::ExampleIndex => "examples_description",
        PageTemplate::Release => "release_description",
    };
    let words = texts.and_then(|texts| texts.get(key)).map_or("", String::as_str);
    let description = format!("{}: {words}", page.title);
    let (head, title) = match page_front_matter::of(page, input.site, input.facts, &description) {
        Some((form, keys)) => (front_matter::write(form, &keys) + "\n", String::new()),
        None => (String::new(), format!("# {}\n\n", safe_markdown::prose(&page.title))),
    };
    let (body, blocks) = cited_markdown::read(&format!("{title}{cited}"));
    PageDraft { path: page.path.clone(), text: head + &body, claims: ClaimedPage { path: page.path.clone(), blocks } }
}

fn template_of(template: PageTemplate) -> &'static str {
    match template {
        PageTemplate::Product => "product",
        PageTemplate::GettingStarted => "getting_started",
        PageTemplate::ApiIndex => "api_index",
        PageTemplate::ApiModule => "api_module",
        PageTemplate::Example => "example",
        PageTemplate::ExampleIndex => "example_index",
        PageTemplate::Release => "release",
    }
}

/// The refusal of a language without texts.
pub(crate) fn unknown_locale(locale: &str) -> StageError {
    let known = locales();
    let message = format!("pages can't be written in {locale:?}; the languages are {}", known.join(", "));
    StageError::new("INVALID_INPUT", message).with("reason", "unsupported_locale").with("locales", known)
}

/// What the templates show.
fn values(page: &PlannedPage, input: &WriterInput<'_>, texts: &BTreeMap<String, String>) -> Value {
    let facts = input.facts;
    let snippets: Vec<&Snippet> = page
        .snippets
        .iter()
        .filter_map(|id| input.snippets.snippets.iter().find(|snippet| snippet.id == *id))
        .collect();
    let mut shown = json!(snippets);
    // Snippets of one section of the README have its title; the page has it once.
    for number in 1..snippets.len() {
        if snippets[number].title == snippets[number - 1].title {
            shown[number]["title"] = "".into();
        }
    }
    let mut values = json!({
        "t": texts,
        "bullet": input.site.bullet.to_string(),
        "product_name": facts.product_name,
        "platform": facts.target_platform,
        "description": facts.description,
        "install": facts.install,
        "features": facts.features,
        "version": facts.version,
        "requires": facts.requires,
        "license": facts.license,
        "snippets": shown,
        "links": main_links(page, input),
        "api_omitted": facts.api_omitted,
    });
    match page.template {
        PageTemplate::ApiIndex => values["modules"] = listed(page, input, PageTemplate::ApiModule),
        PageTemplate::ApiModule => {
            let items = api_items(page, facts);
            let outline = items.iter().filter(|item| item["is_member"] == false);
            values["outline"] = outline.cloned().collect();
            values["items"] = items.into();
        }
        PageTemplate::ExampleIndex => values["listed"] = listed(page, input, PageTemplate::Example),
        PageTemplate::Example => {
            let example = facts.examples.iter().find(|example| example.path == page.subject);
            let fence = snippets.first().map_or("", |snippet| snippet.language.as_str());
            values["example"] = json!(example);
            values["example"]["fence"] = fence.into();
        }
        _ => {}
    }
    values
}

/// The items of a page of the API, with the anchors of their headings.
fn api_items(page: &PlannedPage, facts: &ProductFacts) -> Vec<Value> {
    let mut anchors = Anchors::default();
    let items = planner::items_of(page, facts);
    let mut before = BTreeSet::new();
    let item = |item: &&ApiItem| {
        // The item around it may be on another page.
        let is_member = item.parent.as_deref().is_some_and(|parent| before.contains(parent));
        before.insert(item.qualified_name.clone());
        let mut shown = json!(item);
        shown["is_member"] = is_member.into();
        shown["anchor"] = anchors.of(&item.qualified_name).into();
        shown["fence"] = item.language.clone().into();
        shown
    };
    items.iter().map(item).collect()
}

/// The pages of one kind that `page` lists.
fn listed(page: &PlannedPage, input: &WriterInput<'_>, template: PageTemplate) -> Value {
    let pages = linked(page, input).filter(|other| other.template == template);
    let shown = pages.map(|other| {
        let claim = input.facts.examples.iter().find(|example| example.path == other.subject);
        let claim = claim.map_or("", |example| example.claim.as_str());
        json!({"title": other.title, "url": address(page, other, input.site), "claim": claim})
    });
    shown.collect()
}

/// The links to other main pages.
fn main_links(page: &PlannedPage, input: &WriterInput<'_>) -> Value {
    let is_listed = |other: &&PlannedPage| !matches!(other.template, PageTemplate::ApiModule | PageTemplate::Example);
    let links = linked(page, input).filter(is_listed);
    links.map(|other| json!({"title": other.title, "url": address(page, other, input.site)})).collect()
}

fn linked<'w>(page: &'w PlannedPage, input: &'w WriterInput<'_>) -> impl Iterator<Item = &'w PlannedPage> {
    page.links.iter().filter_map(|id| input.plan.pages.iter().find(|other| other.id == *id))
}

/// How `from` names `to`: by its address where a program builds the site, by its file otherwise. Addresses are relative where the site isn't at
/// the top of its host.
fn address(from: &PlannedPage, to: &PlannedPage, site: &SiteContext) -> String {
    if site.kind != "hugo" {
        return relative(&from.path, &to.path);
    }
    let rest = site.base_url.split_once("://").map_or("", |(_, rest)| rest);
    let is_at_top = rest.split_once('/').is_none_or(|(_, path)| path.is_empty());
    if is_at_top { to.url.clone() } else { relative(&from.url, &to.url) }
}

/// The way from one path to another.
fn relative(from: &str, to: &str) -> String {
    let folder: Vec<&str> = from.rsplit_once('/').map_or("", |(folder, _)| folder).split('/').collect();
    let target: Vec<&str> = to.split('/').collect();
    let shared = folder.iter().zip(&target[..target.len() - 1]).take_while(|(one, other)| one == other).count();
    let up = folder.len() - shared;
    let parts = std::iter::repeat_n("..", up).chain(target[shared..].iter().copied());
    parts.collect::<Vec<_>>().join("/")
}

/// One empty line between blocks, none at the ends, none with white space.
fn tidied(cited: &str) -> String {
    let mut text = String::with_capacity(cited.len());
    let mut fence: Option<String> = None;
    let mut empty = 0;
    for line in cited.lines() {
        let marker = line.trim_start().chars().take_while(|c| *c == '`').collect::<String>();
        let is_fence = marker.len() >= 3;
        match &fence {
            Some(open) => {
                text.push_str(line);
                text.push('\n');
                if is_fence && marker.len() >= open.len() && line.trim() == marker {
                    fence = None;
                }
                continue;
            }
            None if is_fence => fence = Some(marker),
            None => {}
        }
        if line.trim().is_empty() {
            empty += 1;
            continue;
        }
        if empty > 0 && !text.is_empty() {
            text.push('\n');
        }
        empty = 0;
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests;
