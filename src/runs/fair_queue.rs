//! Which run works next when more runs want to than may: each owner in turn, with limits per owner and in total.
//!
//! It is pure: it neither starts nor stops a run. Invariants: no limit is ever passed; an owner with many waiting runs delays another
//! owner by at most one place a round; the runs of one owner keep their order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Waiting and working runs. `Owner` is who shares fairly (a workspace), `Job` is what waits (a run).
#[derive(Debug)]
pub struct FairQueue<Owner, Job> {
    limits: QueueLimits,
    waiting: BTreeMap<Owner, VecDeque<Job>>,
    working: BTreeMap<Job, Owner>,
    /// The owners with waiting jobs, the one that is served next first.
    turns: VecDeque<Owner>,
}

/// How many may work at once, and how many may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Jobs of all owners that work at once.
    pub working: usize,
    /// Jobs of one owner that work at once.
    pub working_per_owner: usize,
    /// Jobs of one owner that wait.
    pub waiting_per_owner: usize,
}

/// A refusal: the owner has too many waiting jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{waiting} runs of this workspace wait already; try again when one has ended, or cancel one")]
pub struct QueueFull {
    pub waiting: usize,
}

impl<Owner: Ord + Clone, Job: Ord + Clone> FairQueue<Owner, Job> {
    /// An empty queue.
    pub fn new(limits: QueueLimits) -> Self {
        Self { limits, waiting: BTreeMap::new(), working: BTreeMap::new(), turns: VecDeque::new() }
    }

    /// Adds a job at the end of its owner's queue. A job that waits or works already stays where it is.
    ///
    /// # Errors
    /// If too many jobs of the owner wait.
    pub fn push(&mut self, owner: &Owner, job: Job) -> Result<(), QueueFull> {
        let queue = self.waiting.entry(owner.clone()).or_default();
        if self.working.contains_key(&job) || queue.contains(&job) {
            return Ok(());
        }
        if queue.len() >= self.limits.waiting_per_owner {
            return Err(QueueFull { waiting: queue.len() });
        }
        queue.push_back(job);
        if !self.turns.contains(owner) {
            self.turns.push_back(owner.clone());
        }
        Ok(())
    }

    /// The next job that may work; it counts as working from now on. `None` if none may.
    pub fn pop(&mut self) -> Option<Job> {
        if self.working.len() >= self.limits.working {
            return None;
        }
        let at = self.turns.iter().position(|owner| self.working_of(owner) < self.limits.working_per_owner)?;
        let owner = self.turns.remove(at)?;
        let queue = self.waiting.get_mut(&owner)?;
        let job = queue.pop_front()?;
        if queue.is_empty() {
            self.waiting.remove(&owner);
        } else {
            self.turns.push_back(owner.clone());
        }
        self.working.insert(job.clone(), owner);
        Some(job)
    }

    /// Removes a job that has ended, or that waits and is no longer wanted.
    pub fn remove(&mut self, job: &Job) {
        self.working.remove(job);
        for queue in self.waiting.values_mut() {
            queue.retain(|waiting| waiting != job);
        }
        self.waiting.retain(|_, queue| !queue.is_empty());
        let owners: BTreeSet<&Owner> = self.waiting.keys().collect();
        self.turns.retain(|owner| owners.contains(owner));
    }

    /// How many jobs are served before `job`, if it waits.
    pub fn position(&self, job: &Job) -> Option<usize> {
        let (owner, own) = self
            .waiting
            .iter()
            .find_map(|(owner, queue)| Some((owner, queue.iter().position(|waiting| waiting == job)?)))?;
        let turn = self.turns.iter().position(|waiting| waiting == owner)?;
        // Each other owner is served once a round: in each round before the job's own, and in that round if its turn comes earlier.
        let others = self.turns.iter().enumerate().filter(|(_, other)| *other != owner).map(|(at, other)| {
            let rounds = own + usize::from(at < turn);
            rounds.min(self.waiting.get(other).map_or(0, VecDeque::len))
        });
        Some(own + others.sum::<usize>())
    }

    /// How many jobs of an owner wait.
    pub fn waiting_of(&self, owner: &Owner) -> usize {
        self.waiting.get(owner).map_or(0, VecDeque::len)
    }

    /// How many jobs work.
    pub fn working(&self) -> usize {
        self.working.len()
    }

    fn working_of(&self, owner: &Owner) -> usize {
        self.working.values().filter(|working| *working == owner).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: QueueLimits = QueueLimits { working: 3, working_per_owner: 2, waiting_per_owner: 4 };

    #[test]
    fn owners_take_turns_and_limits_hold() {
        let mut queue = FairQueue::new(LIMITS);
        for job in ["a1", "a2", "a3", "a4"] {
            queue.push(&'a', job).unwrap();
        }
        queue.push(&'b', "b1").unwrap();
        assert_eq!(queue.push(&'a', "a5"), Err(QueueFull { waiting: 4 }));
        assert_eq!(queue.push(&'a', "a4"), Ok(()), "it waits already");
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, ["a1", "b1", "a2"]);
        queue.push(&'b', "b2").unwrap();
        queue.push(&'b', "b3").unwrap();
        queue.remove(&"b1");
        assert_eq!(queue.pop(), Some("b2"), "two of a work already");
        queue.remove(&"a1");
        assert_eq!(queue.pop(), Some("a3"));
        queue.remove(&"a4");
        queue.remove(&"b3");
        queue.remove(&"a2");
        assert_eq!(queue.pop(), None);
        assert!(queue.waiting.is_empty() && queue.turns.is_empty());
    }

    #[test]
    fn positions_are_the_order_of_service() {
        let all = QueueLimits { working: 100, working_per_owner: 100, waiting_per_owner: 100 };
        // Every distribution of up to 6 jobs among 3 owners.
        for code in 0..3_u32.pow(6) {
            let mut queue = FairQueue::new(all);
            for job in 0..6_u32 {
                queue.push(&(code / 3_u32.pow(job) % 3), job).unwrap();
            }
            let expected: Vec<Option<usize>> = (0..6).map(|job| queue.position(&job)).collect();
            let served: Vec<u32> = std::iter::from_fn(|| queue.pop()).collect();
            let found: Vec<Option<usize>> = (0..6).map(|job| served.iter().position(|other| *other == job)).collect();
            assert_eq!(expected, found, "{code}");
        }
    }
}
