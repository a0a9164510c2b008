//! The status of the running server as text: its workspaces, their language servers, its call counts.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use codeyard_engine::status::condition::ServerCondition;
use codeyard_server::admin::client::{AdminClient, AdminClientError};
use codeyard_server::admin::documents::{
    ProjectDocument, ServerDocument, ServerList, ServiceDocument, WorkspaceDocument, WorkspaceList,
};

/// How many of the last lines of standard error are shown for each language server.
const STDERR_LINES: usize = 3;

/// The status of the running server.
pub(super) struct ServerStatus {
    pub workspaces: Vec<WorkspaceDocument>,
    pub servers: Vec<ServerDocument>,
    /// What its configuration changes in the registry of language servers.
    pub registry: Option<Map<String, Value>>,
    /// The same as one JSON document: the service, its workspaces, each with its language servers.
    pub document: Value,
}

impl ServerStatus {
    /// The project at `root` of a server of `kind`, if one runs whose project was prepared, and the workspace root that it is relative to.
    pub(super) fn project(&self, kind: &str, root: &Path) -> Option<(PathBuf, &ProjectDocument)> {
        let top_of = |server: &ServerDocument, project: &ProjectDocument| {
            let own = self.workspaces.iter().filter(|workspace| workspace.name == server.workspace);
            let mut tops =
                own.flat_map(|workspace| &workspace.roots).filter_map(|top| Path::new(top).canonicalize().ok());
            tops.find(|top| top.join(&project.root).canonicalize().is_ok_and(|own| own == root))
        };
        let of_kind = self.servers.iter().filter(|server| server.kind == kind);
        let mut projects = of_kind.flat_map(|server| server.projects.iter().map(move |project| (server, project)));
        projects.find_map(|(server, project)| Some((top_of(server, project)?, project)))
    }
}

/// Requests the status of the running server.
pub(super) async fn request_status(client: &AdminClient) -> Result<ServerStatus, AdminClientError> {
    let mut service: ServiceDocument = client.get("/admin/v1/service").await?;
    let workspaces: WorkspaceList = client.get("/admin/v1/workspaces").await?;
    let servers: ServerList = client.get("/admin/v1/servers").await?;
    let mut all = Vec::new();
    for workspace in &workspaces.workspaces {
        let own: Vec<_> = servers.servers.iter().filter(|server| server.workspace == workspace.name).collect();
        let mut document = json!(workspace);
        document["servers"] = json!(own);
        let stopped = servers.stopped.iter().filter(|server| server.workspace == workspace.name);
        document["stopped_servers"] = json!(stopped.collect::<Vec<_>>());
        all.push(document);
    }
    let registry = service.registry.take();
    let mut document = json!(service);
    document["workspaces"] = all.into();
    document["counts"] = json!({"calls": service.calls});
    Ok(ServerStatus { workspaces: workspaces.workspaces, servers: servers.servers, registry, document })
}

/// Appends the status to `lines`.
pub(super) fn lines(status: &Value, lines: &mut Vec<String>) {
    lines.push(format!(
        "running server: process {}, version {}, up {} s, listening {}",
        shown(&status["pid"]),
        shown(&status["version"]),
        shown(&status["uptime_s"]),
        shown(&status["listen"]),
    ));
    for workspace in status["workspaces"].as_array().into_iter().flatten() {
        let roots: Vec<String> = workspace["roots"].as_array().into_iter().flatten().map(shown).collect();
        let default = if workspace["name"] == status["default_workspace"] { " (default)" } else { "" };
        let files = workspace["source_files"].as_u64().map(|count| format!(", {count} files")).unwrap_or_default();
        let watching = match workspace["watching"].as_str() {
            Some(watching) => watching.to_owned(),
            None => shown(&workspace["state"]).replace('_', " "),
        };
        let busy = workspace["busy"]["waits_for"].as_str().map(|waits_for| {
            let since = workspace["busy"]["since_s"].as_u64().map(|seconds| format!(" for {seconds} s"));
            format!("; busy{}: waits for {waits_for}", since.unwrap_or_default())
        });
        let busy = busy.unwrap_or_default();
        let problem = workspace["problem"].as_str().map(|problem| format!(" ({problem})")).unwrap_or_default();
        lines.push(format!(
            "  workspace {}{default}: {}; {watching}{problem}{files}{busy}",
            shown(&workspace["name"]),
            roots.join(", ")
        ));
        lines.extend(isolation_line(&workspace["isolation"]));
        for index in workspace["indexes"].as_array().into_iter().flatten() {
            lines.push(index_line(index));
        }
        for server in workspace["servers"].as_array().into_iter().flatten() {
            server_lines(server, lines);
        }
        for server in workspace["stopped_servers"].as_array().into_iter().flatten() {
            lines.push(stopped_line(server));
        }
    }
    let calls = status["counts"]["calls"].as_array().into_iter().flatten();
    let counted: Vec<String> = calls
        .map(|call| format!("{} {} {}", shown(&call["count"]), shown(&call["tool"]), shown(&call["outcome"])))
        .collect();
    if !counted.is_empty() {
        lines.push(format!("  calls: {}", counted.join("; ")));
    }
}

/// What the language servers of a workspace may do.
fn isolation_line(isolation: &Value) -> Option<String> {
    let level = isolation["level"].as_str()?;
    let by = if isolation["configured"] == true { "configured" } else { "by the number of principals" };
    let how = match (isolation["mechanism"].as_str(), isolation["problem"].as_str()) {
        (Some(mechanism), _) => format!(" by {mechanism}"),
        (None, Some(problem)) => format!(": refused, no language server is started: {problem}"),
        (None, None) => String::new(),
    };
    Some(format!("    isolation: {level}{how} ({by})"))
}

fn index_line(index: &Value) -> String {
    let mut parts = vec![format!("{}, {}", shown(&index["status"]), shown(&index["freshness"]))];
    parts.push(format!("{} files, {} symbols", shown(&index["files"]), shown(&index["symbols"])));
    parts.extend(index["last_indexed_at"].as_str().map(|at| format!("indexed {at}")));
    parts.extend(index["job"].as_str().map(|job| format!("job: {job}")));
    parts.extend(index["problem"].as_str().map(str::to_owned));
    format!("    code index of {}: {}", shown(&index["root"]), parts.join("; "))
}

fn server_lines(server: &Value, lines: &mut Vec<String>) {
    let version = server["version"].as_str().map(|version| format!(" {version}")).unwrap_or_default();
    let mut parts = vec![condition(server)];
    parts.extend(server["progress"].as_str().map(str::to_owned));
    parts.extend(server["message"].as_str().map(|why| format!("{} ({why})", shown(&server["reason"]))));
    parts.extend(server["failure"]["summary"].as_str().map(|how| {
        let at = server["failure"]["at"].as_str().map(|at| format!(" at {at}")).unwrap_or_default();
        format!("its process {how}{at}")
    }));
    parts.extend(server["pid"].as_u64().map(|pid| format!("process {pid}")));
    parts.extend(
        server["pending"].as_u64().filter(|count| *count > 0).map(|count| format!("{count} requests in flight")),
    );
    parts.extend(memory(server));
    let last = &server["last_end"];
    let why = last["reason"].as_str().map(|reason| format!(" (last: {reason} at {})", shown(&last["at"])));
    parts.push(format!("{} restarts{}", shown(&server["restarts"]), why.unwrap_or_default()));
    parts.push(format!("{} documents open", shown(&server["open_documents"])));
    lines.push(format!("    {}{version} in {}: {}", shown(&server["kind"]), shown(&server["root"]), parts.join(", ")));
    for project in server["projects"].as_array().into_iter().flatten() {
        lines.push(format!("      {}", project_line(project)));
    }
    let stderr = server["stderr"].as_str().unwrap_or_default();
    let all: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = all.len().saturating_sub(STDERR_LINES);
    lines.extend(all[last..].iter().map(|line| format!("      stderr: {line}")));
}

/// What a server does and since when; why, unless its message or its progress says it.
fn condition(server: &Value) -> String {
    let found = &server["condition"];
    let (Some(name), Some(since_s)) = (found["name"].as_str(), found["since_s"].as_u64()) else {
        return format!("{} for {} s", shown(&server["state"]), shown(&server["since_s"]));
    };
    let is_said = server["message"].is_string() || server["progress"].is_string();
    let why = if is_said { "" } else { found["why"].as_str().unwrap_or_default() };
    ServerCondition::phrase(name, since_s, why)
}

/// A language server that was stopped on purpose.
fn stopped_line(server: &Value) -> String {
    let why = match server["reason"].as_str() {
        Some("idle") => "no request needed it",
        Some("evicted") => "others needed its memory",
        Some("replaced") => "others do its work now",
        _ => "an operator stopped it",
    };
    let phrase = ServerCondition::phrase("stopped", server["since_s"].as_u64().unwrap_or_default(), why);
    format!(
        "    {} in {}: {phrase}; the next query that needs it starts it",
        shown(&server["kind"]),
        shown(&server["root"])
    )
}

/// The memory of a server and its limit.
fn memory(server: &Value) -> Option<String> {
    let mib = |key: &str| server[key].as_u64().map(|bytes| bytes / (1024 * 1024));
    match (mib("memory_bytes"), mib("memory_limit_bytes")) {
        (Some(used), Some(limit)) => Some(format!("{used} MiB (limit {limit} MiB)")),
        (Some(used), None) => Some(format!("{used} MiB")),
        (None, limit) => limit.map(|limit| format!("limit {limit} MiB")),
    }
}

/// How many files of a project a server knows.
fn project_line(project: &Value) -> String {
    let known =
        project["known_files"].as_u64().map_or_else(|| "an unknown number".to_owned(), |known| known.to_string());
    let files = shown(&project["files"]);
    let languages = shown(&project["languages"]);
    let source = match (project["path"].as_str(), project["inferred_from"].as_str()) {
        (Some(path), _) => format!(", project file {path}"),
        (None, Some(from)) => format!(", inferred from {from}"),
        (None, None) if project["project_file"] == "missing" => ", no project file".to_owned(),
        (None, None) => String::new(),
    };
    let mut line = format!("{known} of {files} {languages} files known in {}{source}", shown(&project["root"]));
    for text in [&project["reason"], &project["remedy"]].into_iter().filter_map(|text| text.as_str()) {
        line.push_str("; ");
        line.push_str(text);
    }
    for cause in project["unresolved"].as_array().into_iter().flatten() {
        let imports = if cause["names"] == 1 { "import" } else { "imports" };
        line.push_str(&format!("; {} {imports} unresolved: {}", shown(&cause["names"]), shown(&cause["reason"])));
        line.extend(cause["command"].as_str().map(|command| format!(" (next: {command})")));
    }
    line
}

/// A JSON value as text; strings without quotes.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_server_is_shown_with_its_last_lines_of_standard_error() {
        let projects = json!([
                    {"root": ".", "languages": "Python", "project_file": "found", "path": "ty.toml", "files": 9, "known_files": 7,
                     "reason": "ty.toml leaves the others out", "remedy": "add them to `src.include`", "unresolved": []},
                    {"root": "lib", "languages": "C", "project_file": "missing", "files": 3, "known_files": null, "unresolved": [
                        {"reason": "`config.h` is missing", "names": 2, "examples": [], "command": "./configure"}]}]);
        let status = json!({
            "pid": 7, "version": "1", "uptime_s": 3, "listen": "http://x/mcp", "default_workspace": "a",
            "workspaces": [{"name": "a", "roots": ["/r"], "watching": "idle", "source_files": 2, "indexes": [{"root": "/r",
                "status": "ready", "freshness": "syncing", "files": 3, "symbols": 9, "last_indexed_at": "2026-01-01T00:00:00Z",
                "job": "incremental reading", "problem": null}], "servers": [{
                "kind": "ty", "version": "0.1", "root": ".", "state": "down", "reason": "crashed", "message": "it ended",
                "failure": {"summary": "exited with code 1 after 0.3 s", "at": "2026-01-01T00:00:00Z"}, "since_s": 5, "pid": null, "memory_bytes": 2_097_152, "restarts": 1, "open_documents": 0,
                "memory_limit_bytes": 1_048_576, "last_end": {"reason": "memory_limit", "at": "2026-01-02T00:00:00Z"},
                "projects": projects,
                "stderr": "1\n2\n3\n\n4\n"}]}],
            "counts": {"calls": [{"tool": "t", "outcome": "ok", "count": 4}]},
        });
        let mut lines = Vec::new();
        super::lines(&status, &mut lines);
        assert_eq!(
            lines,
            [
                "running server: process 7, version 1, up 3 s, listening http://x/mcp",
                "  workspace a (default): /r; idle, 2 files",
                "    code index of /r: ready, syncing; 3 files, 9 symbols; indexed 2026-01-01T00:00:00Z; job: incremental reading",
                "    ty 0.1 in .: down for 5 s, crashed (it ended), its process exited with code 1 after 0.3 s at 2026-01-01T00:00:00Z, 2 MiB (limit 1 MiB), \
                 1 restarts (last: memory_limit at 2026-01-02T00:00:00Z), 0 documents open",
                "      7 of 9 Python files known in ., project file ty.toml; ty.toml leaves the others out; add them to `src.include`",
                "      an unknown number of 3 C files known in lib, no project file; 2 imports unresolved: `config.h` is missing \
                 (next: ./configure)",
                "      stderr: 2",
                "      stderr: 3",
                "      stderr: 4",
                "  calls: 4 t ok",
            ]
        );
    }
}
