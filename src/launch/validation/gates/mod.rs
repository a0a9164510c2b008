//! The gates: each looks for faults of one kind in the run's working copy, and knows how to repair some of them.
//!
//! They change nothing. Invariants: equal working copies give equal findings; a page that can't be read is a finding, not a failure; a finding with an
//! edit is one that the edit removes. Source: `docs/internals/reference/contract-launch.md#gates-and-fixes`.

mod build_settings;
pub(crate) mod consistency;
pub(crate) mod external_links;
pub(crate) mod front_matter_keys;
pub(crate) mod internal_links;
pub(crate) mod markdown_lint;
pub(crate) mod schema;
pub(crate) mod site_build;
pub(crate) mod site_config;
pub(crate) mod snippets;
pub(crate) mod template_tokens;
pub(crate) mod truth_lock;

use std::ops::Range;

use codeyard_runs::stage::StopFlag;
use serde_json::{Map, Value};

use crate::artifacts::issue::Issue;
use crate::artifacts::page_plan::PlannedPage;
use crate::artifacts::patch::DiffReport;
use crate::markdown::front_matter::{self, FrontMatterError, FrontMatterForm};
use crate::markdown::markdown_page::{self, MarkdownPage};
use crate::markdown::page_blocks::{PageBlock, blocks};
use crate::validation::validator::GateInput;

/// A fault, and what would repair it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub(crate) issue: Issue,
    pub(crate) edit: Option<Edit>,
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Replaces bytes of the file.
    Replace(Range<usize>, String),
    /// Removes a block, and the headings above it that have nothing left below them.
    Cut(Range<usize>),
    /// Replaces the whole front matter, or adds one.
    FrontMatter(FrontMatterForm, Map<String, Value>),
}

/// A page of the working copy that the run has written or changed.
pub(crate) struct LoadedPage<'p> {
    /// Its plan; `None` if the run didn't plan it.
    pub(crate) plan: Option<&'p PlannedPage>,
    /// The file, relative to the top.
    pub(crate) path: String,
    /// The whole file.
    pub(crate) text: String,
    pub(crate) head: Result<Head, FrontMatterError>,
    /// The byte at which the body begins.
    pub(crate) body_at: usize,
    /// The line on which it begins.
    pub(crate) body_line: u32,
    /// The parts of the body, with bytes counted in the body.
    pub(crate) parts: MarkdownPage,
    /// The blocks of the body, with bytes counted in the body.
    pub(crate) blocks: Vec<PageBlock>,
}

/// The front matter of a page.
pub(crate) struct Head {
    /// How it is written; `None` if there is none.
    pub(crate) form: Option<FrontMatterForm>,
    pub(crate) keys: Map<String, Value>,
}

/// What the gates look at.
pub(crate) struct Scene<'s> {
    /// What they were given.
    pub(crate) input: &'s GateInput<'s>,
    /// What the working copy changes.
    pub(crate) diff: &'s DiffReport,
    /// The changed pages, by path.
    pub(crate) pages: Vec<LoadedPage<'s>>,
    /// Changed files that can't be read as pages, with the reason.
    pub(crate) unreadable: Vec<(String, String)>,
    /// Ends a gate whose time is over, or whose run stops. What it has found until then stays.
    pub(crate) stop: StopFlag,
}

impl Finding {
    /// A fault that has no repair.
    pub(crate) fn of(issue: Issue) -> Self {
        Self { issue, edit: None }
    }

    /// A fault and its repair, described as what it does.
    pub(crate) fn fixable(issue: Issue, what: impl Into<String>, edit: Edit) -> Self {
        Self { issue: issue.with_fix(what), edit: Some(edit) }
    }
}

impl<'s> Scene<'s> {
    /// Reads the changed pages of the working copy.
    pub(crate) fn load(input: &'s GateInput<'s>, diff: &'s DiffReport, stop: StopFlag) -> Self {
        let mut scene = Self { input, diff, pages: Vec::new(), unreadable: Vec::new(), stop };
        for file in diff.files.iter().filter(|file| file.change != "removed" && is_page(&file.path)) {
            match read(input, &file.path) {
                Ok(text) => {
                    let plan = input.plan.pages.iter().find(|page| page.path == file.path);
                    scene.pages.push(LoadedPage::of(plan, &file.path, text));
                }
                Err(reason) => scene.unreadable.push((file.path.clone(), reason)),
            }
        }
        scene
    }

    /// The changed pages, as far as the gate has time.
    pub(crate) fn pages(&self) -> impl Iterator<Item = &LoadedPage<'s>> {
        self.in_time(&self.pages)
    }

    /// The items, as far as the gate has time.
    pub(crate) fn in_time<I: IntoIterator>(&self, items: I) -> impl Iterator<Item = I::Item> {
        items.into_iter().take_while(|_| !self.stop.is_set())
    }

    pub(crate) fn page(&self, path: &str) -> Option<&LoadedPage<'s>> {
        self.pages.iter().find(|page| page.path == path)
    }
}

impl<'p> LoadedPage<'p> {
    pub(crate) fn of(plan: Option<&'p PlannedPage>, path: &str, text: String) -> Self {
        let (head, body_at, body_line) = match front_matter::split(&text) {
            Ok(page) => {
                let at = text.len() - page.body.len();
                (Ok(Head { form: page.form, keys: page.keys }), at, page.body_line)
            }
            Err(error) => (Err(error), 0, 1),
        };
        let body = &text[body_at..];
        let parts = markdown_page::read(body, body_line);
        let blocks = blocks(body, body_line);
        Self { plan, path: path.to_owned(), head, body_at, body_line, parts, blocks, text }
    }

    pub(crate) fn body(&self) -> &str {
        &self.text[self.body_at..]
    }

    /// The bytes of the file for bytes of the body.
    pub(crate) fn in_file(&self, range: &Range<usize>) -> Range<usize> {
        range.start + self.body_at..range.end + self.body_at
    }

    /// The title in the front matter, or the first heading.
    pub(crate) fn title(&self) -> Option<&str> {
        let key = self.head.as_ref().ok().and_then(|head| head.keys.get("title")).and_then(Value::as_str);
        key.or_else(|| {
            self.parts.headings.first().filter(|heading| heading.level == 1).map(|heading| heading.text.as_str())
        })
    }
}

/// Whether a file is a page.
pub(crate) fn is_page(path: &str) -> bool {
    path.ends_with(".md") || path.ends_with(".markdown")
}

fn read(input: &GateInput<'_>, path: &str) -> Result<String, String> {
    let file = input.site.join(path);
    // Links are never followed: what they lead to isn't the run's.
    let found = std::fs::symlink_metadata(&file).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is no regular file".into());
    }
    if found.len() > crate::limits::MAX_PAGE_BYTES {
        return Err(format!("it is larger than {} bytes", crate::limits::MAX_PAGE_BYTES));
    }
    let bytes = std::fs::read(&file).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it isn't UTF-8".into())
}

#[cfg(test)]
mod tests;
