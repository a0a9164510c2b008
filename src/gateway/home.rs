//! The thread of a workspace, as a place for the connections that ask it.
//!
//! Invariant: work that nobody waits for any more ends.

use actix_rt::ArbiterHandle;
use futures::future::{AbortHandle, Abortable};
use tokio::sync::oneshot;

use codeyard_engine::directory::WorkspaceHandle;

/// See the module.
#[derive(Debug, Clone)]
pub struct Home(ArbiterHandle);

/// Ends the work when its waiter is gone.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Home {
    /// The home of a workspace.
    pub fn of(workspace: &WorkspaceHandle) -> Self {
        Self(workspace.arbiter.clone())
    }

    /// Runs `work` there to its end. Dropping this future ends it; where the thread is gone, `work` is dropped.
    pub async fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        let (handle, registration) = AbortHandle::new_pair();
        let _abort = AbortOnDrop(handle);
        let (done, ended) = oneshot::channel::<()>();
        let work = async move {
            let _done = done;
            // Aborted or not, it has ended.
            let _ = Abortable::new(work, registration).await;
        };
        if self.0.spawn(work) {
            // Nothing is sent: that the other end is dropped says it all.
            let _ = ended.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tell(Option<oneshot::Sender<std::thread::ThreadId>>);

    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.take().unwrap().send(std::thread::current().id()).unwrap();
        }
    }

    #[test]
    fn work_runs_elsewhere_and_ends_with_its_waiter() {
        actix_rt::System::new().block_on(async {
            let arbiter = actix_rt::Arbiter::new();
            let home = Home(arbiter.handle());
            let (sender, receiver) = oneshot::channel();
            home.run(async move { drop(Tell(Some(sender))) }).await;
            let there = receiver.await.unwrap();
            assert_ne!(there, std::thread::current().id());

            let (sender, receiver) = oneshot::channel();
            let (started, starts) = oneshot::channel();
            let endless = home.run(async move {
                let _tell = Tell(Some(sender));
                started.send(()).unwrap();
                std::future::pending().await
            });
            tokio::select! {
                () = endless => unreachable!(),
                begun = starts => begun.unwrap(),
            }
            assert_eq!(receiver.await.unwrap(), there, "dropped where it ran");

            arbiter.stop();
            arbiter.join().unwrap();
            home.run(std::future::pending()).await;
        });
    }
}
