//! Children: made on first need, replaced when their actor panicked, stopped when idle, unwanted or at the end.

use std::collections::BTreeMap;
use std::ffi::OsString;

use actix::prelude::*;

use super::*;
use crate::base::ids::ServerKind;
use crate::engine::anchors;
use crate::engine::language_server::StopServer;
use crate::engine::providers::Choice;
use crate::engine::server_context::{Program, ServerContext};
use crate::lsp::registry::Server;

/// A child's actor ended.
#[derive(Message)]
#[rtype(result = "()")]
struct ChildEnded {
    key: ChildKey,
    kind: ExitKind,
}

impl Workspace {
    /// The child of this choice, started if it isn't there.
    pub(super) fn child(&mut self, choice: &Choice, ctx: &mut Context<Self>) -> &Child {
        let alive = self.children.get(&choice.key).is_some_and(|child| child.actor.connected());
        if !alive {
            let child = self.start_child(choice, ctx);
            self.children.insert(choice.key.clone(), child);
        }
        &self.children[&choice.key]
    }

    fn start_child(&self, choice: &Choice, ctx: &mut Context<Self>) -> Child {
        let context = Arc::new(self.child_context(choice, ctx));
        let (key, workspace) = (choice.key.clone(), ctx.address());
        let on_exit = move |kind| drop(workspace.try_send(ChildEnded { key, kind }));
        let (server, state) = LanguageServer::new(context, on_exit);
        Child { actor: server.start(), state }
    }

    fn child_context(&self, choice: &Choice, ctx: &Context<Self>) -> ServerContext {
        let setup = &self.setup;
        let key = &choice.key;
        let cache = setup
            .cache
            .join(&key.kind)
            .join(&crate::base::digest::sha256hex(key.root.as_os_str().as_encoded_bytes())[..16]);
        let files = self.slot.get().map(|subscription| subscription.source_files()).unwrap_or_default();
        let servers = setup.servers.clone();
        ServerContext {
            workspace: setup.name.clone(),
            kind: ServerKind::new(&key.kind),
            program: fill_in(&choice.program, &key.root, &cache),
            env: environment(&setup.shared.environment, &choice.server, &setup.env, &key.root, &cache),
            root: key.root.clone(),
            settings: merged_settings(&choice.server, setup.settings.get(&key.kind)),
            anchors: anchors::choose(&choice.server, &key.root, &files, &servers),
            languages: Arc::new(move |path| servers.index.language_of(path).map(str::to_owned)),
            gate: setup.gate.clone(),
            launcher: setup.shared.launcher.clone(),
            frames: setup.shared.frames.clone(),
            restart: self.policy.restart,
            times: self.policy.times,
            tell: ctx.address().recipient(),
            metrics: setup.shared.metrics.clone(),
            cache,
            key: key.clone(),
            server: choice.server.clone(),
        }
    }

    /// Takes a child out and stops it in the background.
    pub(super) fn stop_child(&mut self, key: &ChildKey, ctx: &mut Context<Self>) {
        if let Some(child) = self.children.remove(key) {
            ctx.spawn(
                async move {
                    child.actor.send(StopServer).await.ok();
                }
                .into_actor(self),
            );
        }
    }
}

impl Handler<ChildEnded> for Workspace {
    type Result = ();

    fn handle(&mut self, ended: ChildEnded, _: &mut Self::Context) {
        if ended.kind == ExitKind::Panicked {
            tracing::error!(workspace = %self.setup.name, server = %ended.key.kind, "language server actor panicked");
            self.children.remove(&ended.key);
            self.move_epochs(true, false, true);
        }
    }
}

impl Handler<StopChild> for Workspace {
    type Result = ();

    fn handle(&mut self, message: StopChild, ctx: &mut Self::Context) {
        self.stop_child(&message.0, ctx);
    }
}

impl Handler<Warm> for Workspace {
    type Result = ();

    fn handle(&mut self, _: Warm, ctx: &mut Self::Context) {
        if self.draining {
            return;
        }
        let wait = match self.prepare(ctx) {
            Some(preparing) => Some(preparing),
            None => match self.plan_workspace(true) {
                Ok(plan) => {
                    let prewarm = self.policy.prewarm.clone();
                    for choice in plan.choices.iter().filter(|choice| prewarm.covers(&choice.key.kind)) {
                        self.child(choice, ctx);
                    }
                    None
                }
                Err(looks) => Some(futures::FutureExt::shared(Box::pin(async move {
                    futures::future::join_all(looks).await;
                }) as BoxFuture<'static, ()>)),
            },
        };
        if let Some(wait) = wait {
            let actor = ctx.address();
            ctx.spawn(async move { (wait.await, drop(actor.try_send(Warm))).0 }.into_actor(self));
        }
    }
}

impl Handler<Drain> for Workspace {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, _: Drain, _: &mut Self::Context) -> Self::Result {
        self.draining = true;
        self.slot.set(None);
        let children: Vec<Child> = std::mem::take(&mut self.children).into_values().collect();
        let stopped = async move {
            futures::future::join_all(children.iter().map(|child| child.actor.send(StopServer))).await;
        };
        Box::pin(stopped.into_actor(self).map(|(), _, ctx| ctx.stop()))
    }
}

fn fill_in(program: &Program, root: &std::path::Path, cache: &std::path::Path) -> Program {
    let args = program.args.iter().map(|arg| OsString::from(replace(&arg.to_string_lossy(), root, cache)));
    Program { args: args.collect(), ..program.clone() }
}

fn environment(
    base: &[(OsString, OsString)],
    server: &Server,
    own: &BTreeMap<String, String>,
    root: &std::path::Path,
    cache: &std::path::Path,
) -> Vec<(OsString, OsString)> {
    let mut all: BTreeMap<OsString, OsString> = base.iter().cloned().collect();
    for (name, value) in server.env.iter().chain(own) {
        all.insert(name.into(), replace(value, root, cache).into());
    }
    all.into_iter().collect()
}

fn replace(text: &str, root: &std::path::Path, cache: &std::path::Path) -> String {
    text.replace("{root}", &root.to_string_lossy()).replace("{cache}", &cache.to_string_lossy())
}

fn merged_settings(server: &Server, own: Option<&serde_json::Value>) -> Option<serde_json::Value> {
    match (server.settings.clone(), own) {
        (Some(mut base), Some(own)) => {
            merge(&mut base, own);
            Some(base)
        }
        (base, own) => base.or_else(|| own.cloned()),
    }
}

fn merge(base: &mut serde_json::Value, own: &serde_json::Value) {
    match (base, own) {
        (serde_json::Value::Object(base), serde_json::Value::Object(own)) => {
            for (key, value) in own {
                merge(base.entry(key.clone()).or_insert(serde_json::Value::Null), value);
            }
        }
        (base, own) => *base = own.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_merge_key_by_key() {
        let server = Server { settings: Some(json!({"a": {"b": 1, "c": 2}})), ..Server::default() };
        let merged = merged_settings(&server, Some(&json!({"a": {"c": 3}, "d": [4]})));
        assert_eq!(merged, Some(json!({"a": {"b": 1, "c": 3}, "d": [4]})));
        assert_eq!(merged_settings(&Server::default(), None), None);
    }
}
