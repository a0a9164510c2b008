//! From what a caller gives to the configuration of a run: checked, with the defaults of the table of sites, and with the digest that makes
//! repeated starts comparable.
//!
//! It contacts nothing: what a repository says was read before. Invariants: the digest doesn't depend on where a branch points at the moment;
//! a configuration that is returned names a site; a refusal names everything that is missing. Source:
//! `docs/internals/reference/contract-launch.md#starts`.

use codeyard_base::digest::sha256hex;
use codeyard_base::stable_json;
use codeyard_runs::stage::StageError;
use serde_json::{Map, Value, json};

use crate::request::product_url::{self, ProductUrlError};
use crate::request::repository_inference::{self, GithubRepository, InferredField, RepositoryFacts};
use crate::request::run_config::RunConfig;
use crate::request::sites::Sites;

/// A run that can be started.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRequest {
    pub config: RunConfig,
    /// The digest of what the caller asked for. A commit that was looked up for the caller isn't part of it.
    pub digest: String,
    /// What was derived from a URL or a repository.
    pub derived: Option<Value>,
}

/// The members that every configuration must have. A quick start names those that nothing says.
const REQUIRED: [&str; 9] = [
    "product_slug", "product_name", "family", "target_platform", "github_repo_url", "github_ref", "required_sections",
    "allowed_paths", "site",
];

/// The run of a configuration.
///
/// # Errors
/// `SCHEMA_VALIDATION_FAILED` with every fault, or `INVALID_INPUT` if no site is named.
pub fn from_config(sites: &Sites, config: &Value) -> Result<RunRequest, StageError> {
    let mut config = config.clone();
    if let Some(members) = config.as_object_mut()
        && !members.contains_key("site")
        && let Some(site) = defaults(sites, &[]).remove("site")
    {
        members.insert("site".into(), site);
    }
    let config = checked(&config)?;
    if config.site.is_none() {
        return Err(missing(&["site"], json!({})));
    }
    let digest = digest_of(&config);
    Ok(RunRequest { config, digest, derived: None })
}

/// The run of the URL of a product page.
///
/// # Errors
/// `INVALID_URL` or `UNSUPPORTED_SITE` if it isn't such a URL; `INVALID_INPUT` if the defaults don't say the rest.
pub fn from_product_url(sites: &Sites, url: &str) -> Result<RunRequest, StageError> {
    let page = product_url::parse(sites, url).map_err(|error| match &error {
        ProductUrlError::Invalid { .. } => StageError::new("INVALID_URL", error.to_string()),
        ProductUrlError::Unsupported { .. } => {
            let hosts: Vec<&str> = sites.sites.iter().map(|site| site.host.as_str()).collect();
            StageError::new("UNSUPPORTED_SITE", error.to_string()).with("supported_sites", hosts)
        }
    })?;
    let names = [
        ("product", page.product_slug.as_str()),
        ("family", page.product_slug.as_str()),
        ("platform", page.platform.as_str()),
        ("locale", page.locale.as_str()),
    ];
    let mut config = defaults(sites, &names);
    config.insert("family".into(), page.product_slug.clone().into());
    config.insert("target_platform".into(), page.platform.clone().into());
    config.insert("locales".into(), json!([page.locale]));
    config.entry("product_slug").or_insert_with(|| page.product_slug.clone().into());
    let config = complete(config)?;
    let digest = digest_of(&config);
    Ok(RunRequest { config, digest, derived: Some(json!(page)) })
}

/// The run of a repository whose head is `head`.
///
/// # Errors
/// `INVALID_INPUT` if it isn't clear which product and platform it is for, or if the defaults don't say the rest.
pub fn from_repository(
    sites: &Sites,
    repository: &GithubRepository,
    facts: &RepositoryFacts,
    head: &str,
) -> Result<RunRequest, StageError> {
    let family = repository_inference::family(sites, facts);
    let platform = repository_inference::platform(sites, facts);
    let (Some(chosen_family), Some(chosen_platform)) = (family.chosen(), platform.chosen()) else {
        return Err(ambiguous(&[("family", &family), ("target_platform", &platform)]));
    };
    let names = [
        ("product", chosen_family),
        ("family", chosen_family),
        ("platform", chosen_platform),
        ("locale", "en"),
        ("repository", repository.name.as_str()),
    ];
    let mut config = defaults(sites, &names);
    config.insert("family".into(), chosen_family.into());
    config.insert("target_platform".into(), chosen_platform.into());
    config.insert("github_repo_url".into(), repository.url().into());
    config.insert("github_ref".into(), head.into());
    for (member, value) in
        [("locales", json!(["en"])), ("layout_mode", json!("auto")), ("allow_inference", json!(false))]
    {
        config.entry(member).or_insert(value);
    }
    let config = complete(config)?;
    let mut unpinned = config.clone();
    unpinned.github_ref = "HEAD".into();
    let derived = derived_from_repository(&config);
    Ok(RunRequest { digest: digest_of(&unpinned), config, derived: Some(derived) })
}

/// What the answer to a start from a repository shows of its configuration.
pub fn derived_from_repository(config: &RunConfig) -> Value {
    json!({
        "family": config.family,
        "target_platform": config.target_platform,
        "locales": config.locales,
        "layout_mode": config.layout_mode,
        "allow_inference": config.allow_inference,
        "github_repo_url": config.github_repo_url,
        "github_ref": config.github_ref,
    })
}

fn digest_of(config: &RunConfig) -> String {
    sha256hex(stable_json::stringify(&config.to_value()))
}

/// The defaults of the table of sites, with `{name}` replaced in every text.
fn defaults(sites: &Sites, names: &[(&str, &str)]) -> Map<String, Value> {
    let fill = |text: &str| {
        names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    };
    let Ok(Value::Object(table)) = serde_json::to_value(&sites.defaults) else { return Map::new() };
    table.into_iter().map(|(member, value)| (member, filled(value, &fill))).collect()
}

fn filled(value: Value, fill: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => fill(&text).into(),
        Value::Array(items) => items.into_iter().map(|item| filled(item, fill)).collect(),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(member, value)| (member, filled(value, fill))).collect())
        }
        other => other,
    }
}

/// The configuration, if nothing is missing.
fn complete(mut config: Map<String, Value>) -> Result<RunConfig, StageError> {
    config.entry("schema_version").or_insert_with(|| "1.0".into());
    let lacking: Vec<&str> = REQUIRED.into_iter().filter(|member| !config.contains_key(*member)).collect();
    if !lacking.is_empty() {
        return Err(missing(&lacking, json!({})));
    }
    checked(&Value::Object(config))
}

fn checked(config: &Value) -> Result<RunConfig, StageError> {
    RunConfig::parse(config).map_err(|faults| {
        let shown: Vec<String> =
            faults.iter().take(3).map(|fault| format!("{}: {}", fault.path, fault.message)).collect();
        let more = if faults.len() > shown.len() {
            format!("; and {} more", faults.len() - shown.len())
        } else {
            String::new()
        };
        let message = format!("the configuration of the run isn't valid: {}{more}", shown.join("; "));
        let faults: Vec<Value> =
            faults.into_iter().map(|fault| json!({"path": fault.path, "message": fault.message})).collect();
        StageError::new("SCHEMA_VALIDATION_FAILED", message).with("faults", faults)
    })
}

fn missing(fields: &[&str], suggested: Value) -> StageError {
    let message = format!(
        "nothing says {}: start with launch_start_run and a whole run_config, or let an operator add it to [defaults] of the \
         table of sites (runs.sites)",
        fields.join(", ")
    );
    StageError::new("INVALID_INPUT", message)
        .with("reason", "missing_fields")
        .with("missing_fields", fields.to_vec())
        .with("suggested_values", suggested)
}

fn ambiguous(fields: &[(&str, &InferredField)]) -> StageError {
    let unclear: Vec<&str> =
        fields.iter().filter(|(_, field)| field.chosen().is_none()).map(|(name, _)| *name).collect();
    let of = |value: &dyn Fn(&(String, u32)) -> Value| -> Map<String, Value> {
        let unclear = fields.iter().filter(|(_, field)| field.chosen().is_none());
        unclear.map(|(name, field)| ((*name).to_owned(), field.candidates.iter().map(value).collect())).collect()
    };
    let suggested = of(&|(name, _)| name.clone().into());
    let confidence: Map<String, Value> = fields
        .iter()
        .map(|(name, field)| {
            let best = field.candidates.first().map_or(0, |(_, score)| *score);
            ((*name).to_owned(), json!(f64::from(best) / 100.0))
        })
        .collect();
    let message = format!(
        "the repository doesn't say clearly which {} it is for; start with launch_start_run and a run_config that says it",
        unclear.join(" and which ")
    );
    StageError::new("INVALID_INPUT", message)
        .with("reason", "ambiguous")
        .with("missing_fields", unclear)
        .with("suggested_values", suggested)
        .with("confidence", confidence)
}

#[cfg(test)]
mod tests;
