//! What workspaces say of kinds of language servers: which they choose, and that every one they name is in the registry.
//!
//! Pure. One rule for files that are checked, loaded or reloaded, and for workspaces that operators put.

use codeyard_config::{ConfigError, Prewarm, SyntacticMode, SyntacticSection, WorkspaceConfig};
use codeyard_lsp::registry::{Registry, Selection, Standby};

/// What a workspace names that no registry entry has, an error for each key; keys count from the workspace.
pub fn unknown(workspace: &WorkspaceConfig, registry: &Registry) -> Vec<ConfigError> {
    let prewarmed: &[String] = match &workspace.prewarm {
        Prewarm::Kinds(kinds) => kinds,
        Prewarm::All(_) => &[],
    };
    let settings: Vec<String> = workspace.settings.keys().cloned().collect();
    let lists: [(&str, &[String]); 4] = [
        ("servers.prefer", &workspace.servers.prefer),
        ("servers.disable", &workspace.servers.disable),
        ("prewarm", prewarmed),
        ("settings", &settings),
    ];
    let unknown = lists.into_iter().filter_map(|(key, kinds)| {
        let problem = format!("no language server is called `{}`", registry.unknown_kind(kinds)?);
        let remedy = "`codeyard servers list` shows them".to_owned();
        Some(ConfigError { key: key.to_owned(), problem, remedy, ..ConfigError::default() })
    });
    unknown.collect()
}

/// The same for all workspaces of a configuration; keys count from its top.
pub fn unknown_in(workspaces: &[WorkspaceConfig], registry: &Registry) -> Vec<ConfigError> {
    let each = workspaces.iter().enumerate().flat_map(|(index, workspace)| {
        let placed =
            move |error: ConfigError| ConfigError { key: format!("workspace[{index}].{}", error.key), ..error };
        unknown(workspace, registry).into_iter().map(placed)
    });
    each.collect()
}

/// What a workspace chooses among servers; kinds that were chosen elsewhere come first.
pub fn selection(workspace: &WorkspaceConfig, syntactic: &SyntacticSection, chosen: &[String]) -> Selection {
    let preferred = chosen.iter().chain(&workspace.servers.prefer);
    Selection {
        chosen: preferred.cloned().collect(),
        disabled: workspace.servers.disable.iter().cloned().collect(),
        standby: match syntactic.mode {
            SyntacticMode::Off => Standby::Off,
            SyntacticMode::Fallback => Standby::IfMissing,
            SyntacticMode::WhileIndexing => Standby::UntilReady,
        },
    }
}
