//! The thread a workspace lives on, as a place for the connections that ask it.

use actix_rt::ArbiterHandle;
use futures::future::{AbortHandle, Abortable};
use tokio::sync::oneshot;

/// See the module.
#[derive(Debug, Clone)]
pub struct Home(pub(super) ArbiterHandle);

/// Ends work elsewhere when whoever waits for it is gone.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Home {
    /// Runs `work` there, to its end. Dropping the future ends the work; if the thread is gone there is none.
    pub async fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        let (handle, registration) = AbortHandle::new_pair();
        let _abort = AbortOnDrop(handle);
        let (done, ended) = oneshot::channel::<()>();
        let work = async move {
            let _done = done;
            // An aborted piece of work has ended as well.
            let _ = Abortable::new(work, registration).await;
        };
        if self.0.spawn(work) {
            // The sender says nothing: that it's gone is the news.
            let _ = ended.await;
        }
    }
}
