//! `codeyard call`: calls one tool and prints the answer. Uses the endpoint given with `--url`, else the running server of the state
//! directory, else a server started for this call.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::Failure;
use crate::args::CallArgs;
use crate::shared::mcp_client::Client;
use crate::shared::render::Renderer;
use crate::shared::tool_session::{SessionTarget, ToolServer, call_failure};
use crate::shared::{assemble, logging, output};
use codeyard_base::similar::{ending_in, nearest};
use codeyard_catalog::CatalogId;
use codeyard_config::{LogFormat, LogLevel, LogSection};
use codeyard_gateway::service::GROUP_CATALOG;
use codeyard_model::limits::MAX_REQUEST_BYTES;
use codeyard_model::operation::{Operation, TOOL};
use codeyard_model::uri::{encode_path, percent_decode};
use codeyard_server::admin::client::AdminClient;
use codeyard_server::admin::documents::WorkspaceList;
use codeyard_state::StateDir;

/// The catalogs whose tools read. They write nothing but the code index.
const CATALOGS: &str = "lsp-v1+agent+code";

/// The catalogs of a workspace that a call is for; a group has only one.
fn catalogs_of(workspace: Option<&str>, tool: &str) -> &'static str {
    match workspace {
        _ if tool.starts_with("launch_") => CatalogId::Launch.as_str(),
        Some(name) if name.starts_with('@') => GROUP_CATALOG,
        _ => CATALOGS,
    }
}

/// Calls the tool and prints the answer.
pub(crate) fn run(args: CallArgs) -> Result<(), Failure> {
    let log = LogSection { format: LogFormat::Text, level: LogLevel::Error, ..LogSection::default() };
    let _flush = logging::install(&log);
    let arguments = parse_arguments(&args.arguments)?;
    crate::runtime()?.block_on(ask(&args, arguments))
}

async fn ask(args: &CallArgs, arguments: Value) -> Result<(), Failure> {
    if let Some(url) = &args.url {
        let server = ToolServer::Url { url: url.clone(), token: args.token.clone() };
        return answer(server.client().await?, args, &with_absolute_paths(arguments, &[])?).await;
    }
    let state = assemble::open_state(args.source.state_dir.as_deref())?;
    let arguments = with_absolute_paths(arguments, &named_roots(&state, args).await)?;
    let target = SessionTarget {
        source: &args.source,
        workspace: args.workspace.as_deref(),
        file: file_of(&arguments),
        catalogs: &|workspace| catalogs_of(workspace, &args.tool),
    };
    let server = ToolServer::find(state, &target).await?;
    let done = match server.client().await {
        Ok(client) => answer(client, args, &arguments).await,
        Err(failure) => Err(failure),
    };
    server.shut_down().await;
    done
}

async fn answer(mut client: Client, args: &CallArgs, arguments: &Value) -> Result<(), Failure> {
    let tools = client.tools().await.map_err(|error| call_failure(&error))?;
    let (name, arguments) = with_operation(&args.tool, arguments.clone());
    let tool = tool_named(&tools, &name)?;
    let mut note =
        |text: &str| output::eprint_line(format_args!("codeyard: {text} (at most {} s, see --wait)", args.wait));
    let asked = client.call_with_retry(tool, &arguments, Duration::from_secs(args.wait), &mut note).await;
    client.close().await;
    let answered = asked.map_err(|error| call_failure(&error))?;
    // Answers about runs are objects that have no other form.
    let as_json = args.json || args.tool.starts_with("launch_");
    output::print_json_or(as_json, &answered.content, || {
        let base = std::env::current_dir().unwrap_or_default();
        Renderer::new(&base).answer(&answered.content).join("\n") + "\n"
    })
}

/// The tool and its arguments. `name` may be an operation of the tool `lsp`. With a `uri` it is a tool of the catalog `lsp-v1`.
fn with_operation(name: &str, mut arguments: Value) -> (String, Value) {
    match Operation::parse(name) {
        Some(operation) if arguments.get("uri").is_none() => {
            arguments["operation"] = operation.as_str().into();
            (TOOL.to_owned(), arguments)
        }
        _ => (name.to_owned(), arguments),
    }
}

/// The tool with this name, or the first whose last name parts are `name`.
fn tool_named<'a>(tools: &'a [String], name: &str) -> Result<&'a str, Failure> {
    let names = || tools.iter().map(String::as_str);
    names().find(|tool| *tool == name).or_else(|| ending_in(name, names())).ok_or_else(|| {
        let operations = Operation::ALL.map(Operation::as_str);
        let known = names().chain(operations);
        // A tool may be named by the end of its name.
        let ends = names().filter_map(|tool| tool.rsplit_once('.')).map(|(_, end)| end);
        let nearest = nearest(name, known.chain(ends)).map(|nearest| format!("did you mean `{nearest}`? "));
        Failure::usage(format!(
            "there is no tool `{name}`; {}the tools are {}, the operations of `lsp` are {}",
            nearest.unwrap_or_default(),
            tools.join(", "),
            operations.join(", ")
        ))
    })
}

fn parse_arguments(text: &str) -> Result<Value, Failure> {
    let mut read = String::new();
    if text == "-" {
        let mut input = std::io::stdin().take(MAX_REQUEST_BYTES as u64);
        input
            .read_to_string(&mut read)
            .map_err(|error| Failure::usage(format!("cannot read the arguments from standard input: {error}")))?;
    }
    let text = if text == "-" { read.as_str() } else { text };
    let example = r#"write an object such as '{"query": "Order"}'"#;
    let value: Value = serde_json::from_str(text)
        .map_err(|error| Failure::usage(format!("the arguments are not valid JSON: {error}; {example}")))?;
    if !value.is_object() {
        return Err(Failure::usage(format!("the arguments are not a JSON object; {example}")));
    }
    Ok(value)
}

/// The roots of the workspace that `--workspace` names; none if none is named, or nothing is known of it.
async fn named_roots(state: &StateDir, args: &CallArgs) -> Vec<PathBuf> {
    let Some(named) = &args.workspace else { return Vec::new() };
    if args.source.config.is_some() || !args.source.root.is_empty() {
        let workspaces = assemble::load_config(&args.source).map(|config| config.workspaces).unwrap_or_default();
        let named = workspaces.into_iter().find(|workspace| workspace.name.as_str() == named);
        return named.map(|workspace| workspace.roots).unwrap_or_default();
    }
    let listed = AdminClient::new(&state.admin_socket()).get::<WorkspaceList>("/admin/v1/workspaces").await;
    let workspaces = listed.map(|list| list.workspaces).unwrap_or_default();
    let named = workspaces.into_iter().find(|workspace| workspace.name == *named);
    named.into_iter().flat_map(|workspace| workspace.roots).map(PathBuf::from).collect()
}

/// Makes paths absolute: a `uri` that is a path becomes a URI, a relative `filePath` of an existing file counts from the current folder,
/// not from a root. See [`absolute`] for `roots`.
fn with_absolute_paths(mut value: Value, roots: &[PathBuf]) -> Result<Value, Failure> {
    let of = |field: &str, path: &str| {
        absolute(Path::new(path), roots).map_err(|error| Failure::usage(format!("{field}: {error}")))
    };
    if let Some(path) = value["uri"].as_str().filter(|uri| !uri.contains("://") && !uri.starts_with("file:")) {
        value["uri"] = encode_path(&of("uri", path)?).into();
    }
    if let Some(path) = value["filePath"].as_str() {
        let path = of("filePath", path)?;
        if path.exists() {
            value["filePath"] = path.display().to_string().into();
        }
    }
    Ok(value)
}

/// A path, absolute. It counts from the current folder, or, if that leads out of `roots`, from the first root that has such a file.
fn absolute(path: &Path, roots: &[PathBuf]) -> std::io::Result<PathBuf> {
    let here = std::path::absolute(path)?;
    let real = here.canonicalize().unwrap_or_else(|_| here.clone());
    let is_inside = |root: &PathBuf| real.starts_with(root.canonicalize().as_ref().unwrap_or(root));
    if path.is_absolute() || roots.iter().any(is_inside) {
        return Ok(here);
    }
    let there = roots.iter().map(|root| root.join(path)).find(|path| path.exists());
    Ok(there.unwrap_or(here))
}

fn file_of(arguments: &Value) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = match (arguments["uri"].as_str(), arguments["filePath"].as_str()) {
        (Some(uri), _) => std::ffi::OsString::from_vec(percent_decode(uri.strip_prefix("file://")?.as_bytes())).into(),
        (None, path) => PathBuf::from(path?),
    };
    path.is_absolute().then(|| path.canonicalize().unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tool_named_accepts_suffixes() {
        let tools = ["vscode.lsp.hover", "vscode.lsp.diagnostics.document", "vscode_lsp_definition"].map(str::to_owned);
        let cases = [
            ("hover", Some(0)),
            ("lsp.hover", Some(0)),
            ("vscode.lsp.hover", Some(0)),
            ("diagnostics.document", Some(1)),
            ("document", Some(1)),
            ("definition", Some(2)),
            ("over", None),
            ("", None),
        ];
        for (name, wanted) in cases {
            assert_eq!(tool_named(&tools, name).ok(), wanted.map(|at: usize| tools[at].as_str()), "{name}");
        }
        for (name, nearest) in [("over", "hover"), ("findRefernces", "findReferences"), ("diagnostic.document", "")] {
            let message = tool_named(&tools, name).unwrap_err().message;
            let expected = format!("did you mean `{nearest}`?");
            assert_eq!(message.contains(&expected), !nearest.is_empty(), "{message}");
        }
    }

    #[test]
    fn parse_arguments_refuses_what_is_no_object() {
        assert_eq!(parse_arguments(r#"{"query": "x"}"#).unwrap(), json!({"query": "x"}));
        for wrong in ["", "[]", "{", "1"] {
            assert_eq!(parse_arguments(wrong).unwrap_err().code, 2, "{wrong}");
        }
    }

    #[test]
    fn only_paths_become_uris() {
        let uri = |uri: &str| with_absolute_paths(json!({ "uri": uri }), &[]).unwrap()["uri"].clone();
        assert_eq!(uri("/a b/c"), "file:///a%20b/c");
        for kept in ["file:///x", "http://x/y"] {
            assert_eq!(uri(kept), kept);
        }
    }

    #[test]
    fn a_relative_path_counts_from_the_named_workspace_if_the_folder_is_another() {
        let here = std::env::current_dir().unwrap();
        let other = tempfile::tempdir().unwrap();
        std::fs::write(other.path().join("Cargo.toml"), "").unwrap();
        std::fs::write(other.path().join("only there"), "").unwrap();
        let roots = [PathBuf::from("/nowhere"), other.path().to_path_buf()];
        let in_other = |name: &str| absolute(Path::new(name), &roots).unwrap();
        // Also if the current folder has such a file: the workspace is named.
        assert_eq!(in_other("Cargo.toml"), other.path().join("Cargo.toml"));
        assert_eq!(in_other("only there"), other.path().join("only there"));
        assert_eq!(in_other("gone"), here.join("gone"));
        assert_eq!(in_other("/x/y"), Path::new("/x/y"));
        assert_eq!(absolute(Path::new("Cargo.toml"), &[]).unwrap(), here.join("Cargo.toml"));
        assert_eq!(absolute(Path::new("Cargo.toml"), std::slice::from_ref(&here)).unwrap(), here.join("Cargo.toml"));
        let asked = json!({"filePath": "only there", "uri": "only there"});
        let placed = with_absolute_paths(asked, &roots).unwrap();
        assert_eq!(placed["filePath"], other.path().join("only there").display().to_string());
        assert!(placed["uri"].as_str().unwrap().ends_with("/only%20there"), "{placed}");
    }
}
