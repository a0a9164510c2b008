//! Work with the files of one workspace on the blocking pool, so that a file system that hangs holds up no thread of an actor.
//!
//! Work can't be interrupted: a thread in a call of the system returns when the file system does. Invariants: at most [`MAX_GATE_WORK`] threads
//! of the pool work for one workspace at a time, those included whose callers have given up; other work of the workspace waits for a place
//! without a thread, in order; a caller that gives up while it waits starts nothing.
//!
//! [`MAX_GATE_WORK`]: crate::limits::MAX_GATE_WORK

use std::future::Future;

use super::path_gate::Gate;
use codeyard_base::blocking;
use codeyard_model::error::ToolError;

impl Gate {
    /// Runs `work` on the blocking pool. Nothing happens before the future is polled. Dropping it later leaves the work alone.
    ///
    /// # Errors
    /// INTERNAL: the work panicked, or the runtime ends.
    pub fn run<T, F>(&self, work: F) -> impl Future<Output = Result<T, ToolError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&Self) -> T + Send + 'static,
    {
        let gate = self.clone();
        async move {
            let place = gate.places.clone().acquire_owned().await.map_err(|_| ToolError::internal())?;
            let work = move || {
                let _place = place;
                work(&gate)
            };
            blocking::spawn(work).await.map_err(|_| ToolError::internal())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::limits::MAX_GATE_WORK;

    #[tokio::test]
    async fn work_that_hangs_takes_the_places_of_its_own_workspace_only() {
        let hanging = Gate::open(&[], &[]).unwrap();
        let other = Gate::open(&[], &[]).unwrap();
        let (reached, reaches) = mpsc::channel();
        let mut ends = Vec::new();
        let mut callers = Vec::new();
        for _ in 0..MAX_GATE_WORK {
            let (end, ended) = mpsc::channel::<()>();
            let reached = reached.clone();
            let work = hanging.run(move |_| {
                reached.send(()).unwrap();
                ended.recv().ok();
            });
            callers.push(tokio::spawn(work));
            ends.push(end);
        }
        tokio::task::spawn_blocking(move || reaches.iter().take(MAX_GATE_WORK).count()).await.unwrap();
        // The callers give up. Their threads still hang.
        callers.iter().for_each(tokio::task::JoinHandle::abort);
        let patience = Duration::from_millis(50);
        assert!(timeout(patience, hanging.clone().run(|_| ())).await.is_err(), "no place");
        assert_eq!(other.run(|_| 7).await, Ok(7));
        ends.pop();
        assert_eq!(hanging.run(|_| 8).await, Ok(8), "one has ended");
        drop(ends);
        assert_eq!(hanging.run(|_| panic!("meant to panic")).await, Err::<(), _>(ToolError::internal()));
        assert_eq!(
            hanging.run(|gate| gate.places.available_permits()).await.map(|left| left < MAX_GATE_WORK),
            Ok(true)
        );
    }
}
