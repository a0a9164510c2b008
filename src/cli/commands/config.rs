//! `codeyard config`: checks a configuration, shows it with all defaults, prints the schema.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::Failure;
use crate::args::ConfigCommand;
use crate::shared::server_diagnosis::{CandidateVerdict, FolderDiagnosis, ServerDiagnosis};
use crate::shared::{assemble, listeners, output};
use codeyard_config::{Config, WorkspaceConfig};
use codeyard_engine::supervisor::server_selection_check;
use codeyard_lsp::registry::Registry;
use codeyard_model::roots::RootSet;

pub(crate) fn run(command: ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Check { file, config, json } => {
            let file = file.or(config).ok_or_else(|| Failure::usage("name the file: `codeyard config check FILE`"))?;
            check(&file, json)
        }
        ConfigCommand::Show { file: None } => output::print(Config::default_toml()),
        ConfigCommand::Show { file: Some(file) } => output::print_document(&assemble::read_config_file(&file)?.show()),
        ConfigCommand::Schema => output::print_json(&Config::json_schema()),
    }
}

fn check(file: &Path, json: bool) -> Result<(), Failure> {
    let (config, registry) = match load_checked(file) {
        Ok(whole) => whole,
        Err(errors) => {
            if json {
                output::print_json(&json!({"ok": false, "errors": errors}))?;
            }
            let again = format!("correct it, then run `codeyard config check {}` again", file.display());
            return Err(Failure::new(format!("{}\n{again}", errors.join("\n"))));
        }
    };
    let installer = assemble::default_installer()?;
    let diagnoses: Vec<(&WorkspaceConfig, Vec<FolderDiagnosis>)> = config
        .workspaces
        .iter()
        .map(|workspace| {
            let selection = server_selection_check::selection(workspace, &config.syntactic_of(workspace), &[]);
            let real = |roots: &[PathBuf]| roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
            let roots = RootSet::of_real_paths(real(&workspace.roots), real(&workspace.extra_roots));
            let diagnosis =
                ServerDiagnosis { registry: &registry, installer: &installer, selection: &selection, roots };
            (workspace, diagnosis.roots.roots().iter().map(|root| diagnosis.folder(root)).collect())
        })
        .collect();
    if json {
        let workspaces: Vec<serde_json::Value> =
            diagnoses.iter().map(|(workspace, roots)| json!({"name": workspace.name, "roots": roots})).collect();
        return output::print_json(&json!({"ok": true, "listen": config.server.listen, "workspaces": workspaces}));
    }
    output::print(text(file, &config, &diagnoses))
}

/// The configuration with its registry, or all errors, one sentence each.
fn load_checked(file: &Path) -> Result<(Config, Registry), Vec<String>> {
    let checked = assemble::check_config_file(file).map_err(|failure| vec![failure.message])?;
    let mut errors: Vec<String> = checked.errors.iter().map(ToString::to_string).collect();
    let Some(config) = checked.config.map(|config| assemble::expanded(&config)) else { return Err(errors) };
    let shown = file.display();
    errors.extend(assemble::filter_error(file, &config));
    let registry = assemble::registry_of(&config);
    match &registry {
        Ok(registry) => {
            let kinds = server_selection_check::unknown_in(&config.workspaces, registry);
            errors.extend(kinds.iter().map(|error| format!("{shown}: {error}")));
        }
        Err(whole) => {
            let each = assemble::registry_errors(&config, whole);
            errors.extend(each.iter().map(|error| format!("{shown}: {error}")));
        }
    }
    let each = config.workspaces.iter().enumerate();
    let roots = each.flat_map(|(index, workspace)| root_errors(workspace, &format!("workspace[{index}]")));
    errors.extend(roots.map(|error| format!("{shown}: {error}")));
    errors.extend(certificate_error(&config).map(|error| format!("{shown}: server.tls: {error}")));
    match registry {
        Ok(registry) if errors.is_empty() => Ok((config, registry)),
        _ => Err(errors),
    }
}

/// What is wrong with the certificate of the listeners.
fn certificate_error(config: &Config) -> Option<String> {
    let checked = listeners::certificate_files(config.server.tls.as_ref()?).check();
    checked.map_or_else(|error| Some(error.to_string()), |loaded| loaded.expired())
}

/// Errors for roots that are not readable folders.
fn root_errors(workspace: &WorkspaceConfig, key: &str) -> Vec<String> {
    let lists = [("roots", &workspace.roots), ("extra_roots", &workspace.extra_roots)];
    let wrong = |name: &str, at: usize, root: &PathBuf| {
        let why = match std::fs::read_dir(root) {
            Ok(_) => return None,
            Err(error) => error,
        };
        let shown = root.display();
        Some(format!("{key}.{name}[{at}]: cannot read the folder {shown}: {why}; create it, or correct the path"))
    };
    let all = lists.iter().flat_map(|(name, roots)| roots.iter().enumerate().map(move |(at, root)| (*name, at, root)));
    all.filter_map(|(name, at, root)| wrong(name, at, root)).collect()
}

fn text(file: &Path, config: &Config, diagnoses: &[(&WorkspaceConfig, Vec<FolderDiagnosis>)]) -> String {
    let mut lines = vec![format!("{} is valid", file.display()), format!("listen {}", config.server.listen)];
    let default = config.default_name().map(|name| name.as_str().to_owned()).unwrap_or_default();
    for (workspace, roots) in diagnoses {
        let mark = if workspace.name.as_str() == default { " (default)" } else { "" };
        lines.push(format!("workspace {}{mark}", workspace.name));
        lines.extend(workspace.extra_roots.iter().map(|root| format!("  extra root {}", root.display())));
        for folder_diagnosis in roots {
            lines.push(format!("  root {}", folder_diagnosis.root.display()));
            lines.extend(folder_diagnosis.languages.iter().map(|language| {
                let serving = language.servers.iter().filter(|server| server.verdict == CandidateVerdict::Serves);
                let kinds: Vec<&str> = serving.map(|server| server.kind.as_str()).collect();
                let served =
                    if kinds.is_empty() { "no server yet; see `codeyard doctor`".into() } else { kinds.join(", ") };
                format!("    {} ({} files): {served}", language.language, language.files)
            }));
        }
    }
    if diagnoses.is_empty() {
        lines.push("no workspace: every call will be refused; add a [[workspace]]".to_owned());
    }
    lines.join("\n") + "\n"
}
