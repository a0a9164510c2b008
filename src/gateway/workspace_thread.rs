//! A handle of the thread that a workspace's actors run on, for running other work there.
//!
//! Transports use it to serve a connection on the thread of its workspace. Invariants: work ends when its waiter is dropped; work that the
//! thread doesn't begin in time, because it is stuck, is given back and never runs there.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use futures::future::{AbortHandle, Abortable};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::limits::WORKSPACE_THREAD_START_MS;
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

    /// Runs `work` to its end on this thread. Dropping the returned future aborts `work`. If the thread has stopped, or doesn't begin within
    /// [`WORKSPACE_THREAD_START_MS`], `work` is given back.
    pub async fn run<W: Future<Output = ()> + Send + 'static>(&self, work: W) -> Option<W> {
        let (handle, registration) = AbortHandle::new_pair();
        let _abort = AbortOnDrop(handle);
        let (starts, started) = oneshot::channel::<()>();
        let (done, ended) = oneshot::channel::<()>();
        let waiting = Arc::new(Mutex::new(Some(work)));
        let taken = waiting.clone();
        let work = async move {
            let Some(work) = taken.lock().take() else { return };
            let _done = done;
            // It fails if the waiter is gone; then the work is aborted.
            let _ = starts.send(());
            // Whether it was aborted makes no difference here: it has ended.
            let _ = Abortable::new(work, registration).await;
        };
        if self.0.spawn(work) {
            let limit = Duration::from_millis(WORKSPACE_THREAD_START_MS);
            let _ = timeout(limit, started).await;
        }
        let unused = waiting.lock().take();
        if unused.is_none() {
            // Nothing is ever sent: dropping `done` ends the wait.
            let _ = ended.await;
        }
        unused
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
            assert!(workspace_thread.run(async move { drop(SendOnDrop(Some(sender))) }).await.is_none());
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
                _ = endless => unreachable!(),
                started = starts => started.unwrap(),
            }
            assert_eq!(receiver.await.unwrap(), thread_id, "the work is dropped where it ran");

            // A thread that is stuck begins nothing, neither now nor later.
            let (sender, receiver) = oneshot::channel();
            let (release, released) = std::sync::mpsc::channel::<()>();
            arbiter.spawn_fn(move || released.recv().unwrap());
            let unused = workspace_thread.run(async move { drop(SendOnDrop(Some(sender))) }).await;
            release.send(()).unwrap();
            unused.unwrap().await;
            assert_eq!(receiver.await.unwrap(), std::thread::current().id());

            arbiter.stop();
            arbiter.join().unwrap();
            assert!(workspace_thread.run(std::future::pending()).await.is_some());
        });
    }
}
