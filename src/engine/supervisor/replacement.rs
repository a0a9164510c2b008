//! Replaces a workspace whose actor panicked.

use actix::prelude::*;

use crate::supervisor::actor::Supervisor;
use codeyard_base::ids::WorkspaceName;

/// A workspace's actor panicked.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct WorkspaceEnded {
    pub(super) name: WorkspaceName,
    pub(super) generation: u64,
}

impl Handler<WorkspaceEnded> for Supervisor {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, ended: WorkspaceEnded, _: &mut Self::Context) -> Self::Result {
        let WorkspaceEnded { name, generation } = ended;
        let config = self.config.workspace(name.as_str()).cloned();
        self.after_opening(config.as_ref(), move |supervisor, ctx| {
            let is_current = supervisor.running.get(&name).is_some_and(|running| running.generation == generation);
            if !is_current || supervisor.stopping {
                return;
            }
            tracing::error!(workspace = %name, "workspace actor panicked; starting it again");
            supervisor.running.remove(&name);
            let epoch = supervisor.next_roots_epoch(&name);
            if let Err(why) = supervisor.start_workspace(&name, epoch, None, ctx) {
                supervisor.parts.directory.remove(&name);
                tracing::error!(workspace = %name, error = %why, "workspace can't be opened again");
            }
            supervisor.publish_listing();
        })
    }
}
