//! Finds out what is known of a product: names, versions, its public API, its README's claims, its examples; each with its evidence.
//!
//! It reads the working copy of the pinned commit and writes nothing. Invariants: every fact names a claim, and every claim lines that hold
//! it; what was inferred instead of read is used only if the run's configuration allows it; equal inputs give equal bytes.

mod api_items;
mod claims;
mod examples;
mod install_command;
mod package;
mod readme_facts;

use std::path::Path;

use codeyard_runs::stage::{StageError, StopFlag};

use crate::artifacts::SCHEMA_VERSION;
use crate::artifacts::facts::{EvidenceMap, ProductFacts};
use crate::artifacts::repository::RepoInventory;
use crate::limits::MAX_README_BYTES;
use crate::product::readme::Readme;
use crate::public_api;
use crate::repository::product_sources::ProductReader;
use crate::request::run_config::RunConfig;

pub(crate) use examples::{example_files, title_of};

use claims::ClaimLedger;

/// The facts of the product whose working copy is at `repo`, and the lines that prove them.
///
/// Facts that would be inferred (a description from the doc comment of the API's first module, a version that only a tag says) are missing
/// unless `config.allow_inference` is set; then their claims are marked.
///
/// # Errors
/// `CANCELLED` if the work has to stop; `INTERNAL` if the working copy is missing.
pub fn build(
    repo: &Path,
    inventory: &RepoInventory,
    config: &RunConfig,
    stop: &StopFlag,
) -> Result<(ProductFacts, EvidenceMap), StageError> {
    let reader = ProductReader::open(repo)?;
    let mut ledger = ClaimLedger::new(&inventory.commit);
    let platform = config.target_platform.as_str();
    let package = package::PackageFacts::read(inventory, config, &reader);
    let readme = inventory.readme.as_deref().and_then(|path| reader.beginning(path, MAX_README_BYTES));
    let readme = readme.map(Readme::read);
    let files = reader.parse(inventory, public_api::languages(platform), stop)?;
    let selected = public_api::select(platform, &files, inventory, package.manifest(), &reader, stop)?;
    let (api, api_omitted) = api_items::items(&files, selected, &mut ledger, stop)?;
    let examples = examples::programs(inventory, platform, &reader, &mut ledger, stop)?;
    let described = readme.as_ref().and_then(|readme| readme_facts::description(readme, &mut ledger));
    let facts = ProductFacts {
        schema_version: SCHEMA_VERSION.to_owned(),
        commit: inventory.commit.clone(),
        commit_date: inventory.commit_date.clone(),
        product_name: config.product_name.clone(),
        product_slug: config.product_slug.clone(),
        family: config.family.clone(),
        target_platform: config.target_platform.clone(),
        package: package.name(&mut ledger),
        version: package.version(&mut ledger),
        license: package.license(&mut ledger),
        description: described
            .or_else(|| package.description(&mut ledger))
            .or_else(|| readme_facts::inferred_description(config, &files, &mut ledger)),
        requires: package.requires(platform, &mut ledger),
        repository: package::public_address(&config.github_repo_url),
        install: install_command::command(&package, config, readme.as_ref(), &mut ledger),
        features: readme
            .as_ref()
            .map(|readme| readme_facts::features(readme, platform, &mut ledger))
            .unwrap_or_default(),
        api,
        api_omitted,
        examples,
    };
    Ok((facts, ledger.into_map()))
}

#[cfg(test)]
mod tests;
