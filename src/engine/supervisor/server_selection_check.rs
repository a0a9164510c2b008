//! Checks that the language-server kinds in a workspace's configuration are in the registry, and derives its server selection.
//!
//! Pure. Used for files that are checked, loaded or reloaded, and for workspaces that operators add.

use codeyard_config::{ConfigError, Prewarm, SyntacticMode, SyntacticSection, WorkspaceConfig};
use codeyard_lsp::registry::{FallbackMode, Registry, ServerSelection};

/// The kinds in a workspace that are not in the registry, one error per key; keys are relative to the workspace.
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

/// The same for all workspaces of a configuration; keys are absolute.
pub fn unknown_in(workspaces: &[WorkspaceConfig], registry: &Registry) -> Vec<ConfigError> {
    let each = workspaces.iter().enumerate().flat_map(|(index, workspace)| {
        let placed =
            move |error: ConfigError| ConfigError { key: format!("workspace[{index}].{}", error.key), ..error };
        unknown(workspace, registry).into_iter().map(placed)
    });
    each.collect()
}

/// The server selection of a workspace; the kinds in `chosen` come first.
pub fn selection(workspace: &WorkspaceConfig, syntactic: &SyntacticSection, chosen: &[String]) -> ServerSelection {
    let preferred = chosen.iter().chain(&workspace.servers.prefer);
    ServerSelection {
        chosen: preferred.cloned().collect(),
        disabled: workspace.servers.disable.iter().cloned().collect(),
        fallback: match syntactic.mode {
            SyntacticMode::Off => FallbackMode::Off,
            SyntacticMode::Fallback => FallbackMode::IfMissing,
            SyntacticMode::WhileIndexing => FallbackMode::UntilReady,
        },
    }
}
