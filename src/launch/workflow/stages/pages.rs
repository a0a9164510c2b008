//! The stages that write: drafts, one item per page, and the working copy.

use std::path::PathBuf;

use codeyard_base::atomic_file::{self, Durability};
use codeyard_base::digest::sha256hex;
use codeyard_runs::event::EventType;
use codeyard_runs::event_log::NewEvent;
use codeyard_runs::stage::{ItemOutput, StageError};
use codeyard_runs::work_item::WorkItemSpec;
use serde_json::{Value, json};

use super::{Work, output, unexpected, written};
use crate::artifacts::facts::{EvidenceMap, ProductFacts};
use crate::artifacts::page_claims::{ClaimedPage, PageClaims};
use crate::artifacts::page_draft::PageDraft;
use crate::artifacts::page_plan::{PagePlan, PlannedPage};
use crate::artifacts::site::SiteContext;
use crate::artifacts::snippets::SnippetCatalog;
use crate::artifacts::{SCHEMA_VERSION, names};
use crate::request::run_config::Writer;
use crate::site::linker;
use crate::workflow::run_status::workers;
use crate::writing::section_writer::WriterInput;
use crate::writing::{openai_writer, section_writer};

impl Work<'_, '_> {
    pub(super) fn draft_items(&self) -> Result<Vec<WorkItemSpec>, StageError> {
        let plan: PagePlan = self.artifact(names::PAGE_PLAN)?;
        let item = |page: &PlannedPage| WorkItemSpec { worker: workers::SECTION_WRITER, scope: page.id.clone() };
        Ok(plan.pages.iter().map(item).collect())
    }

    pub(super) fn draft(&self, id: &str) -> Result<ItemOutput, StageError> {
        let plan: PagePlan = self.artifact(names::PAGE_PLAN)?;
        let page = plan.pages.iter().find(|page| page.id == id);
        let page = page.ok_or_else(|| unexpected(format!("the plan has no page {id}")))?;
        self.progress(&format!("writing {}", page.path));
        let site: SiteContext = self.artifact(names::SITE_CONTEXT)?;
        let facts: ProductFacts = self.artifact(names::PRODUCT_FACTS)?;
        let evidence: EvidenceMap = self.artifact(names::EVIDENCE_MAP)?;
        let snippets: SnippetCatalog = self.artifact(names::SNIPPET_CATALOG)?;
        let input = WriterInput {
            config: &self.config,
            site: &site,
            facts: &facts,
            evidence: &evidence,
            snippets: &snippets,
            plan: &plan,
        };
        let draft = section_writer::write(page, &input, self.stage.stop)?;
        let draft = match &self.config.writer {
            Writer::Template => draft,
            Writer::Openai { .. } => self.rewritten(page, &input, draft)?,
        };
        let claims = serde_json::to_vec(&draft.claims).unwrap_or_default();
        self.store(&self.draft_file(page, "md"), draft.text.as_bytes())?;
        self.store(&self.draft_file(page, "claims.json"), &claims)?;
        let result = json!({"page": page.id, "path": draft.path, "sha256": sha256hex(&draft.text)});
        Ok(ItemOutput { result, ..ItemOutput::default() })
    }

    /// The draft with the prose of a language model.
    fn rewritten(
        &self,
        page: &PlannedPage,
        input: &WriterInput<'_>,
        draft: PageDraft,
    ) -> Result<PageDraft, StageError> {
        let emit = |event_type: EventType, payload: Value| {
            self.stage.host.emit(&self.stage.trace, vec![NewEvent { event_type, payload }])
        };
        openai_writer::rewrite(page, input, draft, &self.settings.publication, &emit, self.stage.stop)
    }

    /// Where a draft is: `drafts/<section>/<page>.<extension>`.
    fn draft_file(&self, page: &PlannedPage, extension: &str) -> PathBuf {
        let name = page.id.replace('/', "__");
        self.folder().drafts().join(&page.section).join(format!("{name}.{extension}"))
    }

    fn store(&self, file: &std::path::Path, content: &[u8]) -> Result<(), StageError> {
        let written = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = written.and_then(|()| atomic_file::replace_with(file, Durability::Power, content));
        written.map_err(|error| storage(&format!("a draft can't be written: {error}")))
    }

    fn stored(&self, page: &PlannedPage) -> Result<PageDraft, StageError> {
        let read = |extension: &str| {
            let file = self.draft_file(page, extension);
            std::fs::read(&file).map_err(|error| storage(&format!("the draft of {} can't be read: {error}", page.id)))
        };
        let text = String::from_utf8(read("md")?);
        let text = text.map_err(|_| storage(&format!("the draft of {} isn't UTF-8", page.id)))?;
        let claims: ClaimedPage = serde_json::from_slice(&read("claims.json")?)
            .map_err(|error| storage(&format!("the claims of {} can't be read: {error}", page.id)))?;
        Ok(PageDraft { path: page.path.clone(), text, claims })
    }

    pub(super) fn link(&self) -> Result<ItemOutput, StageError> {
        self.progress("putting the pages into the working copy");
        let plan: PagePlan = self.artifact(names::PAGE_PLAN)?;
        let drafts = plan.pages.iter().map(|page| self.stored(page));
        let drafts: Vec<PageDraft> = drafts.collect::<Result<_, _>>()?;
        let base = self.cloned(1)?.commit;
        let bundle = linker::bundle(&drafts, &base, &self.site(), &self.config)?;
        linker::apply(&self.site(), &self.allowed, &bundle)?;
        let diff = linker::diff_report(&self.site(), &base, self.stage.stop)?;
        let mut pages: Vec<ClaimedPage> = drafts.into_iter().map(|draft| draft.claims).collect();
        pages.sort_by(|one, other| one.path.cmp(&other.path));
        let claims = PageClaims { schema_version: SCHEMA_VERSION.into(), commit: plan.commit, pages };
        Ok(output(vec![
            written(names::PATCH_BUNDLE, &bundle),
            written(names::DIFF_REPORT, &diff),
            written(names::PAGE_CLAIMS, &claims),
        ]))
    }
}

/// The disk can't be read or written.
pub(super) fn storage(message: &str) -> StageError {
    StageError::of_disk("storage", format!("{message}; free space and check the state directory, then resume the run"))
}
