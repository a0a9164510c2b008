//! The scenario `disagree`: where the answers of language servers differ from the names in the code.
//!
//! For a sample of the names of each language that the repository defines once, it asks for the references, and for the definition from a
//! use. Files with the name in code and without a row of the answer, and definitions elsewhere, are disagreements. It prints them grouped by
//! cause, and counts those that the answer doesn't mark. A name may mean something else in a file, so not every disagreement is a miss.

mod names;
mod tally;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use self::names::{RepositoryNames, SampledName};
use self::tally::{Cause, Disagreement, Tally};
use crate::Bench;
use crate::codeyard_server::{CodeyardServer, McpHttpClient};
use crate::corpus::files_below;
use crate::report::Report;
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_cli::shared::output;
use codeyard_model::uri::{encode_path, percent_decode_strictly};

/// Names that are asked about for each language of a repository.
const NAMES: usize = 40;
/// Longest time for the first answer about a language, while its server reads the repository.
const READY_WITHIN: Duration = Duration::from_secs(180);
/// Longest wait for an answer after that.
const ANSWERED_WITHIN: Duration = Duration::from_secs(20);
/// The workspace of the repository.
const WORKSPACE: &str = "disagree";

/// An answer about one name: the places, files and lines from 1, and what the summary says besides their number.
struct FoundPlaces {
    places: BTreeSet<(PathBuf, u32)>,
    marks: String,
}

/// Asks about the names of all repositories, and prints the disagreements.
pub(crate) async fn disagree(bench: &Bench, roots: &[PathBuf], report: &mut Report) -> Result<(), Failure> {
    let mut all = Tally::default();
    for root in roots {
        let root = root.canonicalize().map_err(|error| {
            Failure::missing(format!("cannot read {}: {error}; pass the path of a repository", root.display()))
        })?;
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        eprintln!("{name}: reading");
        let names = RepositoryNames::read(&root, &files_below(&root));
        let folder = bench.scratch.folder("disagree")?;
        let root_text = toml::Value::String(root.display().to_string());
        let config = format!("[[workspace]]\nname = \"{WORKSPACE}\"\nroots = [{root_text}]\n");
        let served = CodeyardServer::start(&[], &bench.installer, &folder, &config, &[]).await?;
        let mut client = served.client_at(&format!("{WORKSPACE}/lsp-v1+code")).await?;
        if let Err(why) = client.until_indexed().await {
            report.left_out(format!("{name}: {why}"));
        }
        for (language, sample) in names.sample(NAMES, bench.args.seed) {
            let mut asked =
                AskedLanguage { client: &mut client, names: &names, tally: &mut all, repository: &name, language };
            asked.ask(&sample, report).await;
        }
        served.stop().await;
        eprintln!("{}", all.sentence());
    }
    all.add_figures(report);
    output::print(all.text())
}

/// The questions about the names of one language of a repository.
struct AskedLanguage<'a> {
    client: &'a mut McpHttpClient,
    names: &'a RepositoryNames,
    tally: &'a mut Tally,
    repository: &'a str,
    language: &'static str,
}

impl AskedLanguage<'_> {
    async fn ask(&mut self, sample: &[SampledName], report: &mut Report) {
        let mut patience = READY_WITHIN;
        for name in sample {
            let began = Instant::now();
            let references = self.places("vscode.lsp.references", &name.file, name.line, name.column, patience).await;
            match references {
                Err(why) if patience == READY_WITHIN => {
                    report.left_out(format!("{} of {}: {why}", self.language, self.repository));
                    return;
                }
                Err(_) => self.tally.failed(self.language),
                Ok(found) => self.compare_references(name, &found),
            }
            patience = ANSWERED_WITHIN;
            if let Some((file, line, column)) = self.names.use_elsewhere(name)
                && let Ok(found) = self.places("vscode.lsp.definition", &file, line, column, patience).await
            {
                self.compare_definition(name, &found);
            }
            self.tally.took(self.language, began.elapsed());
        }
    }

    fn compare_references(&mut self, name: &SampledName, found: &FoundPlaces) {
        let listed: BTreeSet<&PathBuf> = found.places.iter().map(|(file, _)| file).collect();
        let missing: Vec<&PathBuf> =
            self.names.files_with(name).filter(|file| **file != name.file && !listed.contains(file)).collect();
        let cause = missing.first().map(|file| Cause::of_use(self.names.line_of_use(file, &name.word), &name.word));
        let disagreement = cause.map(|cause| Disagreement {
            cause,
            text: self.described(name, "references", missing.iter().map(|file| file.as_path())),
            marks: found.marks.clone(),
        });
        self.tally.add_references(self.language, disagreement, &found.marks);
    }

    fn compare_definition(&mut self, name: &SampledName, found: &FoundPlaces) {
        let is_right = found.places.contains(&(name.file.clone(), name.line));
        let disagreement = (!is_right).then(|| Disagreement {
            cause: if found.places.is_empty() { Cause::NoDefinition } else { Cause::OtherDefinition },
            text: self.described(name, "definition", found.places.iter().map(|(file, _)| file.as_path())),
            marks: found.marks.clone(),
        });
        self.tally.add_definition(self.language, disagreement);
    }

    /// The name, its place, and these files, relative to the repository.
    fn described<'f>(&self, name: &SampledName, what: &str, files: impl Iterator<Item = &'f Path>) -> String {
        let relative = |file: &Path| file.strip_prefix(&self.names.root).unwrap_or(file).display().to_string();
        let files: Vec<String> = files.take(3).map(relative).collect();
        format!(
            "{}: {what} of {} ({}:{}): {}",
            self.repository,
            name.word,
            relative(&name.file),
            name.line,
            files.join(", ")
        )
    }

    /// All places that a tool returns.
    async fn places(
        &mut self,
        tool: &str,
        file: &Path,
        line: u32,
        column: u32,
        patience: Duration,
    ) -> Result<FoundPlaces, String> {
        let began = Instant::now();
        let position = json!({"line": line - 1, "character": column});
        let mut arguments = json!({"uri": encode_path(file), "position": position});
        if tool.ends_with("references") {
            arguments["pageSize"] = json!(200);
        }
        let mut found = FoundPlaces { places: BTreeSet::new(), marks: String::new() };
        loop {
            let body = self.client.call(tool, &arguments.to_string()).await?;
            let answer: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
            if let Some(wait) = answer["error"]["data"]["details"]["retryAfterMs"].as_u64()
                && began.elapsed() < patience
            {
                tokio::time::sleep(Duration::from_millis(wait)).await;
                continue;
            }
            let content = &answer["result"]["structuredContent"];
            let items = content["items"].as_array().or_else(|| content["locations"].as_array());
            let items = items.ok_or_else(|| answer["error"]["message"].to_string())?;
            found.places.extend(items.iter().filter_map(place));
            let summary = content["summary"].as_str().unwrap_or_default();
            found.marks = marks(summary).to_owned();
            match content["nextCursor"].as_str() {
                Some(cursor) => arguments["cursor"] = json!(cursor),
                None => return Ok(found),
            }
        }
    }
}

/// What a summary says besides the number of entries.
fn marks(summary: &str) -> &str {
    let (_, marks) = summary.split_once(". ").unwrap_or_default();
    match marks.split_once(" in total.") {
        Some((count, rest)) if count.chars().all(|c| c.is_ascii_digit()) => rest.trim_start(),
        _ => marks,
    }
}

fn place(item: &Value) -> Option<(PathBuf, u32)> {
    let path = percent_decode_strictly(item["uri"].as_str()?.strip_prefix("file://")?)?;
    let line = u32::try_from(item["range"]["start"]["line"].as_u64()?).ok()?;
    Some((path.into(), line + 1))
}
