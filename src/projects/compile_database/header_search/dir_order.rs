//! The order of include directories: which one of several has a name, and in which order a compiler must search all of them.
//!
//! Invariant: the order depends only on the directories and on the choices.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::rc::Rc;

use crate::compile_database::platforms;
use crate::tree::distance;

/// A name that several directories have, and the directory that was chosen. It must be searched before the others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct DirChoice {
    pub chosen: String,
    /// All directories that have the name.
    pub others: Rc<[String]>,
}

/// The order among several candidates.
type Rank = (usize, bool, usize, Reverse<usize>, usize, String);

pub(super) fn rank(from: &str, dir: &str, named: &[String], votes: &HashMap<String, usize>) -> Rank {
    let place = named.iter().position(|known| known == dir).unwrap_or(usize::MAX);
    let votes = votes.get(dir).copied().unwrap_or_default();
    let depth = dir.split('/').count();
    (place, platforms::is_foreign(from, dir), distance(from, dir), Reverse(votes), depth, dir.to_owned())
}

/// Moves directories as little as possible, so that each chosen one comes before the others that have the same name. Where choices
/// contradict each other, the more frequent one wins.
pub(super) fn in_order_of_choices<'a>(
    dirs: Vec<&'a String>,
    choices: impl Iterator<Item = &'a DirChoice>,
) -> Vec<&'a String> {
    let places: HashMap<&str, usize> = dirs.iter().enumerate().map(|(at, dir)| (dir.as_str(), at)).collect();
    let count = dirs.len();
    let mut before = vec![0_u32; count * count];
    for choice in choices {
        let Some(chosen) = places.get(choice.chosen.as_str()) else { continue };
        for other in choice.others.iter().filter_map(|other| places.get(other.as_str())) {
            before[chosen * count + other] += u32::from(chosen != other);
        }
    }
    let must_precede = |one: usize, other: usize| before[one * count + other] > before[other * count + one];
    // By place, how many of those that still wait must come before it.
    let mut blockers: Vec<usize> =
        (0..count).map(|at| (0..count).filter(|other| must_precede(*other, at)).count()).collect();
    let mut waiting: Vec<usize> = (0..count).collect();
    let mut ordered = Vec::with_capacity(count);
    while !waiting.is_empty() {
        let next = waiting.iter().position(|at| blockers[*at] == 0).unwrap_or_default();
        let chosen = waiting.remove(next);
        waiting.iter().filter(|at| must_precede(chosen, **at)).for_each(|at| blockers[*at] -= 1);
        ordered.push(dirs[chosen]);
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(dirs: &[&str], choices: &[(&str, &[&str])]) -> Vec<String> {
        let dirs: Vec<String> = dirs.iter().map(|dir| (*dir).to_owned()).collect();
        let choices: Vec<DirChoice> = choices
            .iter()
            .map(|(chosen, others)| DirChoice {
                chosen: (*chosen).to_owned(),
                others: others.iter().map(|other| (*other).to_owned()).collect(),
            })
            .collect();
        in_order_of_choices(dirs.iter().collect(), choices.iter()).into_iter().cloned().collect()
    }

    #[test]
    fn chosen_directories_come_before_the_others_of_their_choice() {
        assert_eq!(ordered(&["a", "b", "c"], &[]), ["a", "b", "c"]);
        assert_eq!(ordered(&["a", "b", "c"], &[("c", &["a", "c"])]), ["b", "c", "a"]);
        assert_eq!(ordered(&["a", "b"], &[("b", &["a"]), ("b", &["a"]), ("a", &["b"])]), ["b", "a"]);
        let circle: [(&str, &[&str]); 3] = [("b", &["a"]), ("c", &["b"]), ("a", &["c"])];
        assert_eq!(ordered(&["a", "b", "c"], &circle), ["a", "c", "b"]);
        assert_eq!(ordered(&["a"], &[("gone", &["a"]), ("a", &["gone"])]), ["a"]);
    }
}
