//! TypeScript solutions: the outermost `tsconfig.json` whose `references`, followed transitively, reach the
//! configuration of the file. Only from there does a server see all references between the projects.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use codeyard_ecosystems::jsonc;
use serde_json::Value;

use super::context::{ManifestContext, Membership};
use crate::limits::MAX_PROJECT_REFERENCES;

const NAME: &str = "tsconfig.json";

pub(super) fn membership(context: &ManifestContext<'_>) -> Membership {
    let here = context.folders[0];
    let configured =
        |folder: &&&Path| [NAME, "jsconfig.json"].iter().any(|name| context.files.exists(&folder.join(name)));
    let Some(own) = context.folders.iter().find(configured).copied() else { return Membership::default() };
    // A reached configuration covers the file if it is as near to the file as the file's own configuration, or nearer
    // under another name.
    let covers_file = |reached: &Path| here.starts_with(reached) && reached.starts_with(own);
    let reaches_file = |folder: &&&Path| {
        let reached = referenced_folders(context, folder);
        reached.iter().any(|reached| reached != **folder && covers_file(reached))
    };
    let outermost_first = context.folders.iter().rev().filter(|folder| own.starts_with(folder));
    let mut solutions = outermost_first.filter(|folder| context.files.exists(&folder.join(NAME)));
    solutions.find(reaches_file).map(|folder| Membership::of(folder, NAME)).unwrap_or_default()
}

/// The folders of the configurations that the one in `folder` references, directly or not.
fn referenced_folders(context: &ManifestContext<'_>, folder: &Path) -> Rc<BTreeSet<PathBuf>> {
    let first = folder.join(NAME);
    context.parsed(&first, || {
        let mut seen = BTreeSet::new();
        let mut waiting = VecDeque::from([first.clone()]);
        while let Some(config) = waiting.pop_front() {
            let new: Vec<PathBuf> =
                references_of(context, &config).into_iter().filter(|config| !seen.contains(config)).collect();
            for config in new {
                if seen.len() < MAX_PROJECT_REFERENCES && seen.insert(config.clone()) {
                    waiting.push_back(config);
                }
            }
        }
        seen.iter().filter_map(|config| Some(config.parent()?.into())).collect()
    })
}

/// The configurations that this one references. A folder means the `tsconfig.json` in it.
fn references_of(context: &ManifestContext<'_>, config: &Path) -> Vec<PathBuf> {
    let value = context.text(config).and_then(|text| jsonc::parse_object(&text)).unwrap_or_default();
    let references = value.get("references").and_then(Value::as_array).into_iter().flatten();
    let paths = references.filter_map(|reference| reference.get("path")?.as_str());
    let folder = config.parent().unwrap_or(config);
    let targets = paths.filter_map(|path| {
        let target = context.within(folder, path)?;
        let is_file = target.extension().is_some_and(|extension| extension == "json");
        Some(if is_file { target } else { target.join(NAME) })
    });
    targets.filter(|target| context.files.exists(target)).collect()
}
