//! The stages that read: clones, inventory, facts, snippets, plan.

use codeyard_runs::event::EventType;
use codeyard_runs::event_log::NewEvent;
use codeyard_runs::stage::{ItemOutput, StageError};
use serde_json::json;

use super::{Work, output, unexpected, written};
use crate::artifacts::facts::{EvidenceMap, ProductFacts};
use crate::artifacts::names;
use crate::artifacts::repository::RepoInventory;
use crate::artifacts::site::SiteContext;
use crate::artifacts::snippets::SnippetCatalog;
use crate::product::{facts_builder, snippet_curator};
use crate::repository::{checkout, repo_scout};
use crate::request::run_config::SiteRepository;
use crate::site::site_scout;
use crate::writing::planner;

impl Work<'_, '_> {
    pub(super) fn clone_product(&self) -> Result<ItemOutput, StageError> {
        self.progress("cloning the product's repository");
        let settings = self.settings.checkout_of(self.stage.workspace);
        let url = &self.config.github_repo_url;
        let cloned = checkout::check_out(&settings, url, &self.config.github_ref, &self.repo(), self.stage.stop)?;
        Ok(ItemOutput { result: json!(cloned), ..ItemOutput::default() })
    }

    pub(super) fn clone_site(&self) -> Result<ItemOutput, StageError> {
        self.progress("cloning the site's repository");
        let settings = self.settings.checkout_of(self.stage.workspace);
        let SiteRepository { repo_url, site_ref, .. } = self.site_repository()?;
        let cloned = checkout::check_out(&settings, repo_url, site_ref, &self.site(), self.stage.stop)?;
        let payload = json!({
            "repo": {"url": self.config.github_repo_url, "commit": self.cloned(0)?.commit},
            "site": {"url": repo_url, "commit": cloned.commit},
        });
        let events = vec![NewEvent { event_type: EventType::InputsCloned, payload }];
        Ok(ItemOutput { artifacts: Vec::new(), events, result: json!(cloned) })
    }

    pub(super) fn site_repository(&self) -> Result<&SiteRepository, StageError> {
        self.config.site.as_ref().ok_or_else(|| unexpected("the configuration of the run names no site"))
    }

    pub(super) fn inventory(&self) -> Result<ItemOutput, StageError> {
        self.progress("listing the product's files");
        let inventory = repo_scout::inventory(&self.repo(), &self.cloned(0)?, &self.settings.sites, self.stage.stop)?;
        Ok(output(vec![written(names::REPO_INVENTORY, &inventory)]))
    }

    pub(super) fn site_context(&self) -> Result<ItemOutput, StageError> {
        self.progress("reading the site's pages");
        let context = site_scout::site_context(&self.site(), &self.cloned(1)?, &self.config, self.stage.stop)?;
        Ok(output(vec![written(names::SITE_CONTEXT, &context)]))
    }

    pub(super) fn facts(&self) -> Result<ItemOutput, StageError> {
        self.progress("collecting facts and their evidence");
        let inventory: RepoInventory = self.artifact(names::REPO_INVENTORY)?;
        let (facts, evidence) = facts_builder::build(&self.repo(), &inventory, &self.config, self.stage.stop)?;
        Ok(output(vec![written(names::PRODUCT_FACTS, &facts), written(names::EVIDENCE_MAP, &evidence)]))
    }

    pub(super) fn snippets(&self) -> Result<ItemOutput, StageError> {
        self.progress("collecting code");
        let inventory: RepoInventory = self.artifact(names::REPO_INVENTORY)?;
        let facts: ProductFacts = self.artifact(names::PRODUCT_FACTS)?;
        let mut evidence: EvidenceMap = self.artifact(names::EVIDENCE_MAP)?;
        let snippets = snippet_curator::curate(&self.repo(), &inventory, &facts, &mut evidence, self.stage.stop)?;
        Ok(output(vec![written(names::SNIPPET_CATALOG, &snippets), written(names::EVIDENCE_MAP, &evidence)]))
    }

    pub(super) fn plan(&self) -> Result<ItemOutput, StageError> {
        self.progress("planning pages");
        let context: SiteContext = self.artifact(names::SITE_CONTEXT)?;
        let facts: ProductFacts = self.artifact(names::PRODUCT_FACTS)?;
        let snippets: SnippetCatalog = self.artifact(names::SNIPPET_CATALOG)?;
        let plan = planner::plan(&self.config, &context, &facts, &snippets)?;
        Ok(output(vec![written(names::PAGE_PLAN, &plan)]))
    }
}
