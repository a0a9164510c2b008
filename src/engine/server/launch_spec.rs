//! Prepares the start of a server process: program, arguments, environment, options and settings, with every placeholder filled and
//! every folder created. It reads and writes the cache folder, so it runs on the blocking pool.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;

use serde_json::Value;

use crate::server::context::ServerContext;
use codeyard_lsp::client::lifecycle::InitializeSpec;
use codeyard_lsp::client::server_requests::StaticClientHost;
use codeyard_lsp::methods;
use codeyard_lsp::registry::{LaunchConfig, LaunchPaths, ReadinessRule};
use codeyard_model::uri::encode_path;
use codeyard_process::launch::LaunchSpec;

/// Everything a start needs.
pub(super) struct PreparedLaunch {
    /// For the launcher.
    pub spec: LaunchSpec,
    /// For the handshake.
    pub initialize: InitializeSpec,
    /// Answers the server's own requests.
    pub host: StaticClientHost,
}

/// Prepares a start.
///
/// # Errors
/// Of the file system, when the cache folder can't be written.
pub(super) fn prepare(context: &ServerContext) -> io::Result<PreparedLaunch> {
    let places = LaunchPaths {
        state: context.state.clone(),
        root: context.root.clone(),
        cache: context.cache.clone(),
        install: context.program.install.clone(),
        bin: context.program.bin.clone(),
    };
    let program = &context.program;
    let launch = LaunchConfig::prepare(&context.server, &program.program, &program.args, &program.env, &places)?;
    let settings = merged(launch.settings.clone(), context.settings.as_ref());
    let name = context.root.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| "root".into());
    Ok(PreparedLaunch {
        host: StaticClientHost {
            settings: settings.clone().unwrap_or(Value::Null),
            folders: vec![(encode_path(&context.root), name.clone())],
            wanted: wanted(&context.server.readiness),
        },
        initialize: InitializeSpec {
            root: context.root.clone(),
            root_name: name,
            process_id: Some(std::process::id()),
            initialization_options: launch.initialization_options.clone(),
            encodings: context.server.quirks.encodings.clone(),
            settings,
        },
        spec: LaunchSpec {
            label: format!("{}/{}", context.workspace, context.kind),
            env: environment(context, &launch),
            program: launch.program,
            args: launch.args.into_iter().map(OsString::from).collect(),
            cwd: context.root.clone(),
        },
    })
}

/// The allowed environment, then the registry's, then the workspace's own; folders of substitute programs first on the PATH.
fn environment(context: &ServerContext, launch: &LaunchConfig) -> Vec<(OsString, OsString)> {
    let mut all: BTreeMap<OsString, OsString> = context.environment.iter().cloned().collect();
    for (name, value) in launch.env.iter().chain(&context.env) {
        all.insert(name.into(), value.into());
    }
    if let Some(front) = &launch.path_front {
        let path = all.entry("PATH".into()).or_default();
        let mut whole = front.clone().into_os_string();
        whole.push(":");
        whole.push(&*path);
        *path = whole;
    }
    all.into_iter().collect()
}

fn merged(base: Option<Value>, own: Option<&Value>) -> Option<Value> {
    match (base, own) {
        (Some(mut base), Some(own)) => {
            merge(&mut base, own);
            Some(base)
        }
        (base, own) => base.or_else(|| own.cloned()),
    }
}

fn merge(base: &mut Value, own: &Value) {
    match (base, own) {
        (Value::Object(base), Value::Object(own)) => {
            for (key, value) in own {
                merge(base.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (base, own) => *base = own.clone(),
    }
}

/// The additional methods that show the server's readiness.
fn wanted(readiness: &ReadinessRule) -> Vec<String> {
    let log = readiness.log_message.is_some().then(|| methods::LOG_MESSAGE.to_owned());
    readiness.method.iter().cloned().chain(log).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_merge_key_by_key() {
        let own = json!({"a": {"c": 3}, "d": [4]});
        assert_eq!(
            merged(Some(json!({"a": {"b": 1, "c": 2}})), Some(&own)),
            Some(json!({"a": {"b": 1, "c": 3}, "d": [4]}))
        );
        assert_eq!(merged(None, Some(&own)), Some(own));
        assert_eq!(merged(None, None), None);
    }
}
