//! `codeyard search --all`, `--group` and `--workspace`: a search over several workspaces.
//!
//! A running server answers if it has the workspaces: its indexes are in memory and up to date. Otherwise this process opens the indexes
//! itself: those of the workspaces of `--config`, else of every root that has an index in the state directory. Invariant: a workspace
//! whose index can't be updated is named on standard error, and the others are searched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::search::SearchAnswer;
use super::search::prepare;
use super::search_rows::PrintedRows;
use super::{as_json, index_folder, refusal_failure, settings};
use crate::Failure;
use crate::args::{SearchArgs, SearchScope};
use crate::shared::mcp_client::{Client, ClientError};
use crate::shared::signals::ignore_file_size_signal;
use crate::shared::{assemble, output};
use codeyard_access::NamePatterns;
use codeyard_base::clock::Instant;
use codeyard_base::ids::{GroupName, TenantId, WorkspaceName};
use codeyard_config::{Config, ContentMode, GroupSection, WorkspaceConfig};
use codeyard_engine::indexer::group_members::MemberProjects;
use codeyard_engine::indexer::group_query::GroupProjects;
use codeyard_engine::indexer::group_report;
use codeyard_engine::indexer::policy::IndexPolicy;
use codeyard_engine::indexer::query_end::QueryEnd;
use codeyard_engine::indexer::repo_filter::{self, RepoFilter};
use codeyard_gateway::service::GROUP_CATALOG;
use codeyard_index::{Project, indexed_roots};
use codeyard_model::code::{CallArguments, CodeAnswer, CodeQuery, ResultRow, SearchQuery, tools};
use codeyard_server::admin::client::AdminClient;
use codeyard_server::admin::documents::WorkspaceList;
use codeyard_server::transport::attach::{self, Hello};
use codeyard_state::StateDir;

/// Searches the workspaces of the flags.
pub(super) fn search(args: &SearchArgs, query: &SearchQuery) -> Result<SearchAnswer, Failure> {
    ignore_file_size_signal()?;
    let state = assemble::open_state(args.location.state.state_dir.as_deref())?;
    // All matches can't be asked of a server, because its answers are bounded.
    if args.location.config.is_none() && !args.lists_files() {
        let attached = crate::runtime()?.block_on(ask_server(&state, args, query))?;
        if let Some(answer) = attached {
            return Ok(answer);
        }
    }
    search_directly(&state, args, query)
}

/// The answer of the running server; `None` if none runs, or if it has no such group.
async fn ask_server(state: &StateDir, args: &SearchArgs, query: &SearchQuery) -> Result<Option<SearchAnswer>, Failure> {
    let Some(mut client) = attach_to_group(state, &args.scope).await? else { return Ok(None) };
    let mut arguments = CallArguments::of(&CodeQuery::Search(query.clone())).arguments;
    let (tenant, pattern) = args.scope.tenant_and_pattern();
    if let Some(pattern) = pattern {
        arguments.insert("workspace".to_owned(), Value::from(pattern));
    }
    let arguments = Value::from(arguments);
    let until = Instant::now() + Duration::from_secs(args.wait);
    let answer = loop {
        let asked = client.call(tools::SEARCH, &arguments).await;
        let answer = asked.map_err(|error| failure(&error))?;
        let hint = answer["metadata"]["retry_after_ms"].as_u64().map(Duration::from_millis);
        match hint.filter(|wait| Instant::now() + *wait < until) {
            Some(wait) => tokio::time::sleep(wait).await,
            None => break answer,
        }
    };
    client.close().await;
    let roots = server_roots(state).await;
    let root_of =
        |workspace: &str| match roots.get(WorkspaceName::in_tenant(&tenant, workspace)?.as_str()).map(Vec::as_slice) {
            Some([root]) => Some(root.clone()),
            _ => None,
        };
    let rows = PrintedRows::of_json(&answer, root_of);
    Ok(Some(SearchAnswer { rows, json: args.location.json.then_some(answer) }))
}

/// A client of the group at the running server; `None` if none runs, or if it has no such group.
async fn attach_to_group(state: &StateDir, scope: &SearchScope) -> Result<Option<Client>, Failure> {
    let Some(group) = scope.group_name() else { return Ok(None) };
    let hello = Hello {
        version: attach::VERSION,
        roots: Vec::new(),
        workspace: Some(scope.tenant_and_pattern().0.qualified(&group.at())),
        catalogs: Some(GROUP_CATALOG.to_owned()),
        content: Some(ContentMode::Both),
    };
    let Some(stream) = attach::attach(&state.attach_socket(), &hello).await else { return Ok(None) };
    Client::over_stream(Box::new(stream)).await.map(Some).map_err(|error| failure(&error))
}

/// The names of the workspaces of a group of the running server; `None` if it has no such group.
async fn server_members(state: &StateDir, scope: &SearchScope) -> Result<Option<Vec<String>>, Failure> {
    let Some(mut client) = attach_to_group(state, scope).await? else { return Ok(None) };
    let asked = client.call(tools::STATUS, &Value::Object(serde_json::Map::new())).await;
    client.close().await;
    let status = asked.map_err(|error| failure(&error))?;
    let workspaces = status["workspaces"].as_array().into_iter().flatten();
    Ok(Some(workspaces.filter_map(|of| of["workspace"].as_str().map(str::to_owned)).collect()))
}

/// The roots of the running server's workspaces; none if it doesn't say.
async fn server_roots(state: &StateDir) -> BTreeMap<String, Vec<PathBuf>> {
    let listed = AdminClient::new(&state.admin_socket()).get::<WorkspaceList>("/admin/v1/workspaces").await;
    let workspaces = listed.map(|list| list.workspaces).unwrap_or_default();
    workspaces.into_iter().map(|one| (one.name, one.roots.into_iter().map(PathBuf::from).collect())).collect()
}

/// Searches with indexes that this process opens.
fn search_directly(state: &StateDir, args: &SearchArgs, query: &SearchQuery) -> Result<SearchAnswer, Failure> {
    let (config, policy) = configuration(state, args)?;
    let selected = covered(selected(&config, &args.scope)?, query)?;
    let mut members = Vec::new();
    for workspace in &selected {
        members.push(member(state, workspace, &policy)?);
    }
    update(&members, query.shape.reference.as_deref(), args.no_sync);
    let group = GroupProjects { members: &members, threads: policy.settings.threads, is_group: true };
    let found = group.search(query, &QueryEnd::default()).rows.map_err(|refusal| refusal_failure(&refusal))?;
    let roots: BTreeMap<&str, &Path> =
        members.iter().filter_map(|member| Some((member.name.as_str(), member.projects.first()?.root()))).collect();
    let root_of = |row: &ResultRow| roots.get(row.workspace.as_ref()?.as_str()).map(|root| root.to_path_buf());
    let rows = PrintedRows::of_answer(&found, root_of);
    let json = args.location.json.then(|| as_json(CodeAnswer::Rows(found))).transpose()?;
    Ok(SearchAnswer { rows, json })
}

/// The workspaces: those of `--config`, else those of the running server with the group to search, else every root with an index.
fn configuration(state: &StateDir, args: &SearchArgs) -> Result<(Config, IndexPolicy), Failure> {
    if let Some(file) = &args.location.config {
        let config = assemble::read_config(file)?;
        let policy = IndexPolicy::of(&config);
        return Ok((config, policy));
    }
    let mut policy = IndexPolicy::of(&Config::default());
    policy.settings = settings(None)?;
    let runtime = crate::runtime()?;
    let served = runtime.block_on(server_roots(state));
    let mut config = Config::default();
    if served.is_empty() {
        let roots = indexed_roots(&state.index(&TenantId::default_tenant())).map_err(|error| {
            Failure::new(format!("cannot list the indexes of the state directory: {error}; see `codeyard doctor`"))
        })?;
        if roots.is_empty() {
            return Err(Failure::missing(
                "there is no index yet; run `codeyard index` in a repository, or name workspaces with --config",
            ));
        }
        config = Config::from_roots(&roots);
    } else {
        let named =
            |(name, roots): (String, Vec<PathBuf>)| Some(WorkspaceConfig::new(WorkspaceName::new(&name)?, roots));
        config.workspaces = served.into_iter().filter_map(named).collect();
        if let Some(group) = args.scope.group_name().filter(|group| group.as_str() != GroupName::ALL)
            && let Some(workspaces) = runtime.block_on(server_members(state, &args.scope))?
        {
            config.groups.insert(group.as_str().to_owned(), GroupSection { workspaces });
        }
    }
    Ok((config, policy))
}

/// The workspaces that the flags select, in the order of their names.
fn selected<'c>(config: &'c Config, scope: &SearchScope) -> Result<Vec<&'c WorkspaceConfig>, Failure> {
    let group = scope.group_name();
    let patterns = match group.as_ref().map_or(scope.group.as_deref().unwrap_or_default(), GroupName::as_str) {
        name if name != GroupName::ALL => {
            let groups = config.groups.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let group = config.groups.get(name).ok_or_else(|| {
                Failure::missing(format!(
                    "--group {name}: there is no such group ({}); groups come from a running server or from --config",
                    if groups.is_empty() { "none is configured" } else { &groups }
                ))
            })?;
            Some(group.patterns().map_err(Failure::usage)?)
        }
        _ => None,
    };
    let (tenant, pattern) = scope.tenant_and_pattern();
    let named = pattern.map(|name| NamePatterns::new(&[name])).transpose();
    let named = named.map_err(|why| Failure::usage(format!("--workspace: {why}; use a name, `*` and `?`")))?;
    let passes = |workspace: &&WorkspaceConfig| {
        let name = workspace.name.short();
        let is_named = [&patterns, &named].into_iter().flatten().all(|patterns| patterns.matches(name));
        is_named && workspace.name.is_in(&tenant)
    };
    let mut found: Vec<&WorkspaceConfig> = config.workspaces.iter().filter(passes).collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    if found.is_empty() {
        let names: Vec<&str> = config.workspaces.iter().map(|workspace| workspace.name.as_str()).collect();
        return Err(Failure::missing(format!(
            "no workspace of the tenant `{tenant}` is selected; there are {}; `--workspace 'TENANT/*'` searches those of another tenant",
            names.join(", ")
        )));
    }
    Ok(found)
}

/// The workspaces that `repo:` selects, with their roots that it selects.
fn covered(workspaces: Vec<&WorkspaceConfig>, query: &SearchQuery) -> Result<Vec<WorkspaceConfig>, Failure> {
    let asked = CodeQuery::Search(query.clone());
    let filter = RepoFilter::of(&asked).map_err(|refusal| refusal_failure(&refusal))?;
    let all: Vec<WorkspaceConfig> = workspaces.into_iter().cloned().collect();
    let Some(filter) = filter else { return Ok(all) };
    let names: Vec<&str> = all.iter().map(|workspace| workspace.name.as_str()).collect();
    let none = repo_filter::selects_nothing(&asked, &group_report::listed(&names));
    let selected = |workspace: &WorkspaceConfig| {
        let roots = filter.roots(workspace.name.short(), &workspace.roots);
        let roots: Vec<PathBuf> = roots.into_iter().filter_map(|at| workspace.roots.get(at).cloned()).collect();
        (!roots.is_empty()).then(|| WorkspaceConfig { roots, ..workspace.clone() })
    };
    let covered: Vec<WorkspaceConfig> = all.iter().filter_map(selected).collect();
    if covered.is_empty() { Err(refusal_failure(&none)) } else { Ok(covered) }
}

fn member(state: &StateDir, workspace: &WorkspaceConfig, policy: &IndexPolicy) -> Result<MemberProjects, Failure> {
    let folder = index_folder(state, &workspace.name.tenant())?;
    let mut projects = Vec::new();
    for root in &workspace.roots {
        let real = root.canonicalize().unwrap_or_else(|_| root.clone());
        let project = Project::new(&folder, &real, workspace.roots.len() > 1, policy.settings.clone());
        let project = project.map_err(|error| {
            Failure::new(format!("cannot create the folder of the index: {error}; see `codeyard doctor`"))
        })?;
        // An unreadable index reports its error at the query.
        project.reconcile().ok();
        projects.push(Arc::new(project));
    }
    Ok(MemberProjects { name: workspace.name.clone(), projects: projects.into(), queries: Arc::default() })
}

/// Brings the indexes up to date: those of the working trees, or those of a ref. Missing ones of working trees are always built.
fn update(members: &[MemberProjects], reference: Option<&str>, no_sync: bool) {
    for member in members {
        for project in member.projects.iter() {
            let is_new = reference.is_none() && !project.is_indexed();
            if is_new {
                output::eprint_line(format_args!("indexing {}", member.name));
            }
            if let Err(failure) = prepare(project, reference, no_sync) {
                output::eprint_line(format_args!("note: {} is not up to date: {}", member.name, failure.message));
            }
        }
    }
}

/// The failure for a client error. Errors of the tool are JSON with a message for people.
fn failure(error: &ClientError) -> Failure {
    if let ClientError::ToolText { message, .. } = error
        && let Ok(answer) = serde_json::from_str::<Value>(message)
        && let Some(message) = answer["error"]["message"].as_str()
    {
        return Failure::new(message);
    }
    Failure::new(error.to_string())
}
