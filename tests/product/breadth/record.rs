//! What a run has shown of a kind, and the file of all records, from which `docs/internals/reference/language-servers.md` takes its table.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::breadth::beside_bare::Comparison;
use crate::breadth::case::Case;
use crate::breadth::served::Verdict;

/// The environment variable that lets a run write its record.
const UPDATE: &str = "UPDATE_DOCS";

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Record {
    /// The version of the server.
    pub version: String,
    /// The operations that it has, all of them answered rightly when warm.
    pub operations: Vec<String>,
    /// First answers after a start and after each change, and how many of them were right.
    pub asked: usize,
    pub right: usize,
    /// The wrong ones that said so themselves.
    pub marked: usize,
    /// The time to the first right answer, its start included, in milliseconds.
    pub first_answer_ms: u64,
    /// The memory of its processes, in MiB.
    pub memory_mib: u64,
    /// Answers that were compared with the bare server's, before and after all changes, and how many of them were the same.
    pub compared: usize,
    pub same: usize,
    /// The differences that the case names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
    /// What is wrong without a mark.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<String>,
}

impl Record {
    /// The record of a run.
    pub(crate) fn new(
        case: &Case,
        version: String,
        verdicts: &BTreeMap<(&'static str, &'static str), Verdict>,
        is_known: &dyn Fn(&str, &str) -> bool,
        first: Option<Duration>,
        memory: u64,
    ) -> Self {
        let count = |is: &dyn Fn(&Verdict) -> bool| verdicts.values().filter(|verdict| is(verdict)).count();
        let wrong = verdicts.iter().filter_map(|((phase, operation), verdict)| match verdict {
            Verdict::Right => None,
            Verdict::Marked(_) if is_known(phase, operation) => None,
            Verdict::Marked(why) => Some(format!("{phase} {operation}, marked: {why}")),
            Verdict::Wrong(why) | Verdict::Failed(why) => Some(format!("{phase} {operation}: {why}")),
        });
        Self {
            version,
            operations: case.operations().into_iter().map(str::to_owned).collect(),
            asked: verdicts.len(),
            right: count(&|verdict| *verdict == Verdict::Right),
            marked: count(&|verdict| matches!(verdict, Verdict::Marked(_))),
            first_answer_ms: first.map_or(0, |first| u64::try_from(first.as_millis()).unwrap_or(u64::MAX)),
            memory_mib: memory >> 20,
            compared: 0,
            same: 0,
            differs: vec![],
            wrong: wrong.collect(),
        }
    }

    /// Adds the comparison with the bare server. Differences that the case doesn't name are wrong.
    pub(crate) fn compared(&mut self, comparison: &Comparison, known: &[String]) {
        let mut unknown = comparison.differences.clone();
        (self.compared, self.same) = (comparison.asked, comparison.asked - unknown.len());
        for entry in known {
            let name = entry.split(": ").next().unwrap_or_default();
            match unknown.remove(name) {
                Some(_) => self.differs.push(entry.clone()),
                None => println!("{name} is as the bare server, though the case says that it differs"),
            }
        }
        self.wrong.extend(unknown.iter().map(|(what, why)| format!("{what}, not as the bare server: {why}")));
    }

    /// Writes the record of `kind` if the run is to do so.
    pub(crate) fn write(&self, kind: &str) {
        println!("{kind}: {self:#?}");
        if std::env::var_os(UPDATE).is_some() && self.wrong.is_empty() {
            let text = toml::to_string(self).expect("TOML");
            fs::write(path(kind), text).expect("it can be written");
        }
    }
}

fn path(kind: &str) -> PathBuf {
    Path::new(&Case::folder(kind)).join("record.toml")
}
