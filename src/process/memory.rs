//! Measures the memory of all language servers in one pass over the process table.
//!
//! A process counts with its proportional set size, because language servers of one kind share the pages of their program:
//! by resident size, 60 servers of one kind count those pages 60 times. Reading it is expensive, so each pass reads it only for new
//! processes, for those that have changed much, and for a few others in turn. In between, a process is estimated by its last reading plus
//! the change of its resident size. It ends no process and makes no decision. Invariants: what can't be measured is `None`, never zero;
//! a pass reads the process table once, and a bounded number of proportional sizes.

use std::collections::HashMap;

use crate::proc_tree::{ProcessIdentity, ProcessTable, proportional_bytes};

/// Processes whose proportional memory is read in one pass over all language servers because they are new or have grown.
/// One reading takes about a millisecond per 100 MB; the other processes are estimated from their last reading.
const MAX_NEW_SHARES_PER_PASS: usize = 32;
/// Processes whose proportional memory is read again in one pass, although nothing suggests that it has changed.
const MAX_REPEATED_SHARES_PER_PASS: usize = 4;
/// Change of a process's resident memory after which its proportional memory is read again, in bytes.
const SHARE_DRIFT_BYTES: u64 = 32 * 1024 * 1024;

/// The memory of one process tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeMemory {
    /// Bytes of the root and all its descendants.
    pub bytes: u64,
    /// The running descendants of the root, parents before children.
    pub members: Vec<ProcessIdentity>,
}

/// The last proportional reading of a process.
#[derive(Debug, Clone, Copy)]
struct ShareReading {
    proportional: u64,
    /// Its resident size at that time.
    resident: u64,
    pass: u64,
}

impl ShareReading {
    /// The proportional size that corresponds to this resident size: what was added since is the process's own.
    fn estimate(&self, resident: u64) -> u64 {
        let bytes = self.proportional.saturating_add(resident).saturating_sub(self.resident);
        bytes.min(resident)
    }

    fn has_drifted(&self, resident: u64) -> bool {
        resident.abs_diff(self.resident) >= SHARE_DRIFT_BYTES
    }
}

/// Measures process trees, pass after pass.
#[derive(Debug, Default)]
pub(crate) struct MemoryMeter {
    shares: HashMap<ProcessIdentity, ShareReading>,
    pass: u64,
}

impl MemoryMeter {
    /// The memory of the trees below `roots` in this pass over the process table. `None`: the tree is gone.
    pub(crate) fn measure(&mut self, table: &ProcessTable, roots: &[u32]) -> Vec<Option<TreeMemory>> {
        self.measure_in(table, roots, proportional_bytes)
    }

    /// The same; `read` returns the proportional size of a process.
    fn measure_in(
        &mut self,
        table: &ProcessTable,
        roots: &[u32],
        read: impl Fn(u32) -> Option<u64>,
    ) -> Vec<Option<TreeMemory>> {
        self.pass += 1;
        let trees: Vec<Option<(ProcessIdentity, Vec<ProcessIdentity>)>> =
            roots.iter().map(|root| Some((table.identity(*root)?, table.descendants(*root)))).collect();
        let present: Vec<(ProcessIdentity, u64)> = trees
            .iter()
            .flatten()
            .flat_map(|(root, members)| std::iter::once(root).chain(members))
            .filter_map(|process| Some((*process, table.resident_bytes(process.pid)?)))
            .collect();
        let resident: HashMap<ProcessIdentity, u64> = present.iter().copied().collect();
        self.shares.retain(|process, _| resident.contains_key(process));
        self.read_shares(&present, read);
        let bytes_of = |process: &ProcessIdentity| {
            let resident = resident.get(process).copied().unwrap_or(0);
            self.shares.get(process).map_or(resident, |share| share.estimate(resident))
        };
        let measured = trees.into_iter().map(|tree| {
            let (root, members) = tree?;
            let bytes = bytes_of(&root) + members.iter().map(bytes_of).sum::<u64>();
            Some(TreeMemory { bytes, members })
        });
        measured.collect()
    }

    /// Reads the proportional sizes that are due: first the largest of the new and changed processes, then the oldest readings.
    fn read_shares(&mut self, present: &[(ProcessIdentity, u64)], read: impl Fn(u32) -> Option<u64>) {
        let is_due = |(process, resident): &&(ProcessIdentity, u64)| {
            self.shares.get(process).is_none_or(|share| share.has_drifted(*resident))
        };
        let mut due: Vec<(ProcessIdentity, u64)> = present.iter().filter(is_due).copied().collect();
        due.sort_unstable_by_key(|(process, resident)| (std::cmp::Reverse(*resident), *process));
        due.truncate(MAX_NEW_SHARES_PER_PASS);
        let mut known: Vec<(u64, ProcessIdentity, u64)> = present
            .iter()
            .filter_map(|(process, resident)| {
                let share = self.shares.get(process).filter(|share| !share.has_drifted(*resident))?;
                Some((share.pass, *process, *resident))
            })
            .collect();
        known.sort_unstable();
        let repeated = known.into_iter().take(MAX_REPEATED_SHARES_PER_PASS).map(|(_, process, size)| (process, size));
        for (process, resident) in due.into_iter().chain(repeated) {
            let pass = self.pass;
            match (read(process.pid), self.shares.get_mut(&process)) {
                (Some(proportional), _) => {
                    let proportional = proportional.min(resident);
                    self.shares.insert(process, ShareReading { proportional, resident, pass });
                }
                (None, Some(before)) => before.pass = pass,
                // Where it can't be read, the resident size counts, and isn't tried again in every pass.
                (None, None) => {
                    self.shares.insert(process, ShareReading { proportional: resident, resident, pass });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const MIB: u64 = 1024 * 1024;

    #[test]
    fn shared_pages_count_once_and_growth_counts_at_once() {
        let mut meter = MemoryMeter::default();
        // 1: guard with a server 2, whose child is 3; 4: guard with a server 5.
        let sizes = [(1, 0, 4), (2, 1, 100), (3, 2, 50), (4, 0, 4), (5, 4, 100)];
        let table = ProcessTable::of(&sizes.map(|(pid, parent, mib)| (pid, parent, mib * MIB)));
        let halves = |pid: u32| Some(table.resident_bytes(pid).unwrap() / 2);
        let measured = meter.measure_in(&table, &[1, 4, 9], halves);
        let bytes: Vec<Option<u64>> = measured.iter().map(|tree| tree.as_ref().map(|tree| tree.bytes / MIB)).collect();
        assert_eq!(bytes, [Some(77), Some(52), None], "a tree that is gone is unknown, not empty");
        assert_eq!(measured[0].as_ref().unwrap().members.iter().map(|one| one.pid).collect::<Vec<_>>(), [2, 3]);
        let grown = sizes.map(|(pid, parent, mib)| (pid, parent, (mib + 20 * u64::from(pid == 5)) * MIB));
        let grown = ProcessTable::of(&grown);
        let later = meter.measure_in(&grown, &[1, 4], |_| None);
        assert_eq!(later[1].as_ref().unwrap().bytes / MIB, 72, "what it allocated since is its own");
    }

    #[test]
    fn a_pass_reads_a_bounded_number_and_in_turn_all() {
        let mut meter = MemoryMeter::default();
        let count = u32::try_from(MAX_NEW_SHARES_PER_PASS).unwrap() + 10;
        let all: Vec<(u32, u32, u64)> = (1..=count).map(|pid| (pid, 0, 10 * MIB)).collect();
        let table = ProcessTable::of(&all);
        let roots: Vec<u32> = (1..=count).collect();
        let read = RefCell::new(Vec::new());
        let reading = |pid| {
            read.borrow_mut().push(pid);
            Some(MIB)
        };
        let first = meter.measure_in(&table, &roots, reading);
        assert_eq!(read.take().len(), MAX_NEW_SHARES_PER_PASS);
        assert_eq!(
            first.iter().flatten().filter(|tree| tree.bytes == 10 * MIB).count(),
            10,
            "by resident size until then"
        );
        meter.measure_in(&table, &roots, reading);
        assert_eq!(read.take().len(), 10 + MAX_REPEATED_SHARES_PER_PASS);
        let mut repeated = Vec::new();
        for _ in 0..count {
            meter.measure_in(&table, &roots, reading);
            let now = read.take();
            assert_eq!(now.len(), MAX_REPEATED_SHARES_PER_PASS);
            repeated.extend(now);
        }
        repeated.sort_unstable();
        repeated.dedup();
        assert_eq!(repeated, roots, "each is read again in turn");
    }

    #[test]
    fn a_process_that_changed_much_or_replaced_another_is_read_again() {
        let mut meter = MemoryMeter::default();
        let at = |mib: u64, start: u64| ProcessTable::of_started(&[(1, 0, mib * MIB, start)]);
        meter.measure_in(&at(100, 1), &[1], |_| Some(40 * MIB));
        let bytes = |measured: Vec<Option<TreeMemory>>| measured[0].as_ref().unwrap().bytes / MIB;
        assert_eq!(bytes(meter.measure_in(&at(200, 1), &[1], |_| Some(90 * MIB))), 90);
        assert_eq!(bytes(meter.measure_in(&at(200, 2), &[1], |_| Some(200 * MIB))), 200, "another process of this id");
        assert_eq!(meter.shares.len(), 1, "readings of ended processes are dropped");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_measured() {
        let table = ProcessTable::read().unwrap();
        let measured = MemoryMeter::default().measure(&table, &[std::process::id(), u32::MAX]);
        assert!(measured[0].as_ref().unwrap().bytes > 100_000);
        assert_eq!(measured[1], None);
    }
}
