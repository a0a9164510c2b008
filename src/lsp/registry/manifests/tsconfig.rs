//! TypeScript's solutions: the outermost `tsconfig.json` whose `references`, followed from configuration to configuration, lead
//! to the one that the file lies under. References across projects are only whole from there.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::Value;

use super::context::{ManifestContext, Membership};
use super::jsonc;
use crate::limits::MAX_PROJECT_REFERENCES;

const NAME: &str = "tsconfig.json";

pub(super) fn membership(context: &ManifestContext<'_>) -> Membership {
    let here = context.folders[0];
    let configured =
        |folder: &&&Path| [NAME, "jsconfig.json"].iter().any(|name| context.files.exists(&folder.join(name)));
    let Some(own) = context.folders.iter().find(configured).copied() else { return Membership::default() };
    // What is led to is about the file if it is as near to it as its own configuration, or nearer under another name.
    let is_about = |led: &Path| here.starts_with(led) && led.starts_with(own);
    let leads_here = |folder: &&&Path| {
        let led = led_to(context, folder);
        led.iter().any(|led| led != **folder && is_about(led))
    };
    let outermost_first = context.folders.iter().rev().filter(|folder| own.starts_with(folder));
    let mut solutions = outermost_first.filter(|folder| context.files.exists(&folder.join(NAME)));
    solutions.find(leads_here).map(|folder| Membership::whole(folder, NAME)).unwrap_or_default()
}

/// Folders of the configurations that the one in `folder` leads to.
fn led_to(context: &ManifestContext<'_>, folder: &Path) -> Rc<[PathBuf]> {
    let first = folder.join(NAME);
    context.files.cached_references(&first, &|| {
        let mut seen = BTreeSet::new();
        let mut waiting = VecDeque::from([first.clone()]);
        while let Some(config) = waiting.pop_front() {
            let new: Vec<PathBuf> =
                referred(context, &config).into_iter().filter(|config| !seen.contains(config)).collect();
            for config in new {
                if seen.len() < MAX_PROJECT_REFERENCES && seen.insert(config.clone()) {
                    waiting.push_back(config);
                }
            }
        }
        let folders: BTreeSet<PathBuf> = seen.iter().filter_map(|config| Some(config.parent()?.into())).collect();
        folders.into_iter().collect()
    })
}

/// The configurations that this one refers to: a folder means the `tsconfig.json` in it.
fn referred(context: &ManifestContext<'_>, config: &Path) -> Vec<PathBuf> {
    let value = context.text(config).and_then(|text| jsonc::parse(&text)).unwrap_or_default();
    let references = value.get("references").and_then(Value::as_array).into_iter().flatten();
    let paths = references.filter_map(|reference| reference.get("path")?.as_str());
    let folder = config.parent().unwrap_or(config);
    let targets = paths.filter_map(|path| {
        let target = context.within(folder, path)?;
        let is_file = target.extension().is_some_and(|ending| ending == "json");
        Some(if is_file { target } else { target.join(NAME) })
    });
    targets.filter(|target| context.files.exists(target)).collect()
}
