//! A handle of the thread that a workspace's actors run on, for running other work there.
//!
//! Transports use it to serve a connection on the thread of its workspace. Invariant: work ends when its waiter is dropped.

use actix_rt::ArbiterHandle;
use futures::future::{AbortHandle, Abortable};
use tokio::sync::oneshot;

use codeyard_engine::workspace::handle::WorkspaceHandle;

/// The thread of one workspace. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WorkspaceThread(ArbiterHandle);

/// Aborts the work when its waiter is dropped.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl WorkspaceThread {
    /// The thread of `workspace`.
    pub fn of(workspace: &WorkspaceHandle) -> Self {
        Self(workspace.arbiter.clone())
    }

    /// Runs `work` to its end on this thread. Dropping the returned future aborts `work`. If the thread has stopped, `work`
    /// is dropped without being run.
    pub async fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        let (handle, registration) = AbortHandle::new_pair();
        let _abort = AbortOnDrop(handle);
        let (done, ended) = oneshot::channel::<()>();
        let work = async move {
            let _done = done;
            // Whether it was aborted makes no difference here: it has ended.
            let _ = Abortable::new(work, registration).await;
        };
        if self.0.spawn(work) {
            // Nothing is ever sent: dropping `done` ends the wait.
            let _ = ended.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends the id of the thread that it is dropped on.
    struct SendOnDrop(Option<oneshot::Sender<std::thread::ThreadId>>);

    impl Drop for SendOnDrop {
        fn drop(&mut self) {
            self.0.take().unwrap().send(std::thread::current().id()).unwrap();
        }
    }

    #[test]
    fn work_runs_on_the_workspace_thread_and_ends_with_its_waiter() {
        actix_rt::System::new().block_on(async {
            let arbiter = actix_rt::Arbiter::new();
            let workspace_thread = WorkspaceThread(arbiter.handle());
            let (sender, receiver) = oneshot::channel();
            workspace_thread.run(async move { drop(SendOnDrop(Some(sender))) }).await;
            let thread_id = receiver.await.unwrap();
            assert_ne!(thread_id, std::thread::current().id());

            let (sender, receiver) = oneshot::channel();
            let (started, starts) = oneshot::channel();
            let endless = workspace_thread.run(async move {
                let _guard = SendOnDrop(Some(sender));
                started.send(()).unwrap();
                std::future::pending().await
            });
            tokio::select! {
                () = endless => unreachable!(),
                started = starts => started.unwrap(),
            }
            assert_eq!(receiver.await.unwrap(), thread_id, "the work is dropped where it ran");

            arbiter.stop();
            arbiter.join().unwrap();
            workspace_thread.run(std::future::pending()).await;
        });
    }
}
