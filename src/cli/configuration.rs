//! `codeyard config`: whether a configuration holds, what it means, and how one is written.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::ConfigCommand;
use super::survey::{Survey, Surveyor, Verdict};
use super::{Failure, assemble, output};
use codeyard_config::{Config, WorkspaceConfig};
use codeyard_engine::kinds;
use codeyard_lsp::registry::Registry;
use codeyard_model::roots::RootSet;

/// Checks, shows or describes.
pub(crate) fn run(command: ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Check { file, json } => check(&file, json),
        ConfigCommand::Show { file: None } => output::print(Config::default_toml()),
        ConfigCommand::Show { file: Some(file) } => output::print(assemble::read_config(&file)?.show()),
        ConfigCommand::Schema => output::print_json(&Config::json_schema()),
    }
}

fn check(file: &Path, json: bool) -> Result<(), Failure> {
    let checked = checked(file);
    let (config, registry) = match checked {
        Ok(whole) => whole,
        Err(errors) => {
            if json {
                output::print_json(&json!({"ok": false, "errors": errors}))?;
            }
            let again = format!("correct it, then `codeyard config check {}` again", file.display());
            return Err(Failure::new(format!("{}\n{again}", errors.join("\n"))));
        }
    };
    let installer = assemble::installer_in_place()?;
    let surveys: Vec<(&WorkspaceConfig, Vec<Survey>)> = config
        .workspaces
        .iter()
        .map(|workspace| {
            let selection = kinds::selection(workspace, &config.syntactic_of(workspace), &[]);
            let real = |roots: &[PathBuf]| roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
            let roots = RootSet::of_real_paths(real(&workspace.roots), real(&workspace.extra_roots));
            let surveyor = Surveyor { registry: &registry, installer: &installer, selection: &selection, roots };
            (workspace, surveyor.roots.roots().iter().map(|root| surveyor.folder(root)).collect())
        })
        .collect();
    if json {
        let workspaces: Vec<serde_json::Value> =
            surveys.iter().map(|(workspace, roots)| json!({"name": workspace.name, "roots": roots})).collect();
        return output::print_json(&json!({"ok": true, "listen": config.server.listen, "workspaces": workspaces}));
    }
    output::print(text(file, &config, &surveys))
}

/// The configuration with its registry, or everything that is wrong, a sentence each.
fn checked(file: &Path) -> Result<(Config, Registry), Vec<String>> {
    let config = assemble::read_config(file).map_err(|failure| vec![failure.message])?;
    let registry = assemble::registry_of(&config).map_err(|failure| vec![failure.message])?;
    let shown = file.display();
    let kinds = kinds::unknown_in(&config.workspaces, &registry);
    let each = config.workspaces.iter().enumerate();
    let roots = each.flat_map(|(index, workspace)| wrong_roots(workspace, &format!("workspace[{index}]")));
    let errors: Vec<String> =
        kinds.iter().map(ToString::to_string).chain(roots).map(|error| format!("{shown}: {error}")).collect();
    if errors.is_empty() { Ok((config, registry)) } else { Err(errors) }
}

/// Roots that aren't folders that can be read.
fn wrong_roots(workspace: &WorkspaceConfig, key: &str) -> Vec<String> {
    let lists = [("roots", &workspace.roots), ("extra_roots", &workspace.extra_roots)];
    let wrong = |name: &str, at: usize, root: &PathBuf| {
        let why = match std::fs::read_dir(root) {
            Ok(_) => return None,
            Err(error) => error,
        };
        let shown = root.display();
        Some(format!("{key}.{name}[{at}]: {shown} can't be read: {why}; make the folder, or correct the path"))
    };
    let all = lists.iter().flat_map(|(name, roots)| roots.iter().enumerate().map(move |(at, root)| (*name, at, root)));
    all.filter_map(|(name, at, root)| wrong(name, at, root)).collect()
}

fn text(file: &Path, config: &Config, surveys: &[(&WorkspaceConfig, Vec<Survey>)]) -> String {
    let mut lines = vec![format!("{} is good", file.display()), format!("listen {}", config.server.listen)];
    let default = config.default_name().map(|name| name.as_str().to_owned()).unwrap_or_default();
    for (workspace, roots) in surveys {
        let mark = if workspace.name.as_str() == default { " (default)" } else { "" };
        lines.push(format!("workspace {}{mark}", workspace.name));
        lines.extend(workspace.extra_roots.iter().map(|root| format!("  extra root {}", root.display())));
        for survey in roots {
            lines.push(format!("  root {}", survey.root.display()));
            lines.extend(survey.languages.iter().map(|language| {
                let serving = language.servers.iter().filter(|server| server.verdict == Verdict::Serves);
                let kinds: Vec<&str> = serving.map(|server| server.kind.as_str()).collect();
                let served =
                    if kinds.is_empty() { "nothing yet; see `codeyard doctor`".into() } else { kinds.join(", ") };
                format!("    {} ({} files): {served}", language.language, language.files)
            }));
        }
    }
    if surveys.is_empty() {
        lines.push("no workspace: every call will be refused; add a [[workspace]]".to_owned());
    }
    lines.join("\n") + "\n"
}
