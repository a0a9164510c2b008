//! The existing pages of a site, read as far as a run needs them.

use codeyard_runs::stage::{StageError, StopFlag};

use super::SiteFiles;
use super::addresses::{address, place};
use super::front_matter_rules::PageKeys;
use super::hugo_config::HugoConfig;
use crate::limits::MAX_SITE_PAGES;
use crate::markdown::front_matter::split;
use crate::markdown::markdown_page;
use crate::request::run_config::SiteKind;

/// Size of an existing page that is read, in bytes; of larger ones only the path counts.
const MAX_SITE_PAGE_BYTES: u64 = 1024 * 1024;
/// Existing pages whose lists are looked at for their style.
const MAX_SITE_PAGES_FOR_STYLE: usize = 500;

/// The markers of list items.
pub(super) const BULLETS: [char; 3] = ['-', '*', '+'];

/// Bytes of a page that show its style.
const MAX_STYLE_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReadPage {
    pub(super) path: String,
    pub(super) url: String,
    pub(super) title: String,
    /// The language that the configuration gives it.
    pub(super) language: String,
    /// The path below the content folder, without the ending.
    pub(super) stem: String,
    /// Whether it is the list of its folder's pages.
    pub(super) is_list: bool,
    /// `None` if it has none, or one that can't be read.
    pub(super) front_matter: Option<PageKeys>,
    /// How often each of [`BULLETS`] occurs; of the first pages only.
    pub(super) bullets: [usize; 3],
}

/// The pages by path; the first ones of a site with very many.
///
/// # Errors
/// If the work has to stop.
pub(super) fn read(
    files: &SiteFiles,
    hugo: &HugoConfig,
    kind: SiteKind,
    stop: &StopFlag,
) -> Result<Vec<ReadPage>, StageError> {
    let placed = files.paths.iter().filter_map(|path| Some((path, place(path, hugo)?)));
    let mut pages: Vec<ReadPage> = Vec::new();
    for (path, placed) in placed.take(MAX_SITE_PAGES) {
        if stop.is_set() {
            return Err(StageError::cancelled());
        }
        let text = files.text(path, MAX_SITE_PAGE_BYTES).unwrap_or_default();
        let page = split(&text).ok();
        let body = page.as_ref().map_or("", |page| page.body);
        let keys = page.as_ref().map(|page| page.keys.clone()).unwrap_or_default();
        let content = (pages.len() < MAX_SITE_PAGES_FOR_STYLE || !keys.contains_key("title"))
            .then(|| markdown_page::read(beginning(body), 1));
        let heading = || content.as_ref().and_then(|page| page.headings.first()).map(|heading| heading.text.clone());
        let name = placed.stem.rsplit('/').find(|part| !matches!(*part, "index" | "_index")).unwrap_or(placed.stem);
        let title = keys.get("title").and_then(|title| title.as_str()).map(str::to_owned);
        let title = title.or_else(heading).unwrap_or_else(|| name.to_owned());
        let count = |marker: char| {
            content.iter().flat_map(|page| &page.bullets).filter(|bullet| bullet.marker == marker).count()
        };
        pages.push(ReadPage {
            url: match kind {
                SiteKind::Hugo => address(&placed, &keys, &title, hugo),
                SiteKind::Markdown => format!("/{path}"),
            },
            title,
            language: placed.language,
            stem: placed.stem.to_owned(),
            is_list: name_of(placed.stem) == "_index" || kind == SiteKind::Markdown && is_entry(placed.stem),
            front_matter: page.and_then(|page| Some(PageKeys { form: page.form?, keys: page.keys })),
            bullets: BULLETS.map(count),
            path: path.clone(),
        });
    }
    Ok(pages)
}

/// As much of a page as shows its style.
fn beginning(body: &str) -> &str {
    let mut end = body.len().min(MAX_STYLE_BYTES);
    while !body.is_char_boundary(end) {
        end -= 1;
    }
    &body[..end]
}

fn name_of(stem: &str) -> &str {
    stem.rsplit('/').next().unwrap_or(stem)
}

/// Whether a page of a site without a builder stands for its folder.
fn is_entry(stem: &str) -> bool {
    ["readme", "index"].iter().any(|name| name_of(stem).eq_ignore_ascii_case(name))
}
