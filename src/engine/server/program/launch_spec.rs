//! Prepares the start of a server process: program, arguments, environment, options and settings, with every placeholder filled and
//! every folder created. It reads and writes the cache folder, so it runs on the blocking pool.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;

use serde_json::Value;

use crate::server::context::ServerContext;
use crate::server::program::client_host::{FolderHost, ProjectSettings};
use crate::server::program::isolation;
use crate::server::projects::prepared_projects::{Preparation, PreparedProjects};
use codeyard_lsp::client::lifecycle::InitializeSpec;
use codeyard_lsp::methods;
use codeyard_lsp::registry::{LaunchConfig, LaunchPaths, ReadinessRule};
use codeyard_process::launch::{Isolation, LaunchSpec};

/// Everything a start needs.
pub(in crate::server) struct PreparedLaunch {
    /// For the launcher.
    pub spec: LaunchSpec,
    /// For the handshake.
    pub initialize: InitializeSpec,
    /// Answers the server's own requests.
    pub host: FolderHost,
    /// The projects that it is started for.
    pub projects: PreparedProjects,
}

/// Prepares a start.
///
/// # Errors
/// Of the file system, when the cache folder can't be written.
pub(in crate::server) fn prepare(context: &ServerContext) -> io::Result<PreparedLaunch> {
    let places = LaunchPaths {
        state: context.state.clone(),
        root: context.root.clone(),
        cache: context.cache.clone(),
        install: context.program.install.clone(),
        bin: context.program.bin.clone(),
        checker: context.program.checker.clone(),
    };
    let program = &context.program;
    if context.isolation.is_restricted() {
        isolation::remove_links(&context.cache)?;
    }
    let launch = LaunchConfig::prepare(&context.server, &program.program, &program.args, &program.env, &places)?;
    context.project.memory.forget_all();
    context.folders.find(&context.find_projects);
    let folders = context.workspace_folders();
    // Projects that join meanwhile are announced to the running process, after they were prepared.
    let roots = folders.current();
    let projects = Preparation::begin(context, &roots)?.accept(context);
    let settings = merged(launch.settings.clone(), context.settings.as_ref());
    let what = isolation::of_server(context, launch.path_front.as_deref())?;
    let env = environment(context, &launch, &what)?;
    Ok(PreparedLaunch {
        initialize: InitializeSpec {
            root: context.root.clone(),
            folders: roots,
            // A confined server can't see this process, and some end without it.
            process_id: (what == Isolation::Trusted).then(std::process::id),
            initialization_options: projects.initialization_options(launch.initialization_options.clone()),
            encodings: context.server.quirks.encodings.clone(),
            settings: context
                .project
                .settings
                .over(&settings.clone().unwrap_or(Value::Null), None)
                .or(settings.clone()),
        },
        host: FolderHost {
            settings: settings.unwrap_or(Value::Null),
            prepared: context.project.settings.clone(),
            by_project: settings_by_project(context, places),
            folders,
            wanted: wanted(&context.server.readiness),
        },
        spec: LaunchSpec {
            label: format!("{}/{}", context.workspace, context.kind),
            env,
            program: launch.program,
            args: launch.args.iter().chain(projects.args()).map(OsString::from).collect(),
            cwd: context.root.clone(),
            limits: isolation::limits_of(context),
            isolation: what,
        },
        projects,
    })
}

/// The allowed environment, then the registry's, then the workspace's own; folders of substitute programs first on the PATH.
fn environment(
    context: &ServerContext,
    launch: &LaunchConfig,
    isolation: &Isolation,
) -> io::Result<Vec<(OsString, OsString)>> {
    let inherited = match isolation {
        Isolation::Trusted => context.environment.to_vec(),
        Isolation::Restricted(_) => {
            let home = context.cache.join("home");
            std::fs::create_dir_all(&home)?;
            isolation::confined_environment(&context.environment, &home)
        }
    };
    let mut all: BTreeMap<OsString, OsString> = inherited.into_iter().collect();
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
    Ok(all.into_iter().collect())
}

/// `own` over `base`, member by member.
pub(in crate::server) fn merged(base: Option<Value>, own: Option<&Value>) -> Option<Value> {
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

/// What the settings of each project are made from, if they depend on the project root.
fn settings_by_project(context: &ServerContext, paths: LaunchPaths) -> Option<ProjectSettings> {
    let unfilled = context.server.settings.clone().filter(|settings| settings.to_string().contains("{root"))?;
    Some(ProjectSettings { unfilled, own: context.settings.clone(), paths, projects: context.folders.clone() })
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
