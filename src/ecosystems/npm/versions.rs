//! Whether a version is one that a range of npm accepts.
//!
//! What follows a hyphen in a version counts only where a range names exactly one version. A name that a registry gives a version (`latest`)
//! accepts every one.

/// The parts of a version.
const PARTS: usize = 3;

/// Whether `range`, as a list of dependencies writes it, accepts `version`.
pub fn accepts(range: &str, version: &str) -> bool {
    let Some(numbers) = numbers(version).filter(|numbers| numbers.len() == PARTS) else { return false };
    range.split("||").any(|alternative| {
        let words: Vec<&str> = alternative.split_whitespace().collect();
        match words[..] {
            [first, "-", last] => at_least(&numbers, first) && at_most(&numbers, last),
            _ => joined(&words).iter().all(|comparator| fits(comparator, version, &numbers)),
        }
    })
}

/// Comparators whose operator stands apart: `>= 1.2`.
fn joined(words: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in words {
        match found.last_mut().filter(|last| last.ends_with(['>', '<', '=', '^', '~'])) {
            Some(last) => last.push_str(word),
            None => found.push((*word).to_owned()),
        }
    }
    found
}

fn fits(comparator: &str, version: &str, own: &[u64]) -> bool {
    let digits = comparator.find(|c: char| c.is_ascii_digit()).unwrap_or(comparator.len());
    let (operator, wanted) = comparator.split_at(digits);
    let operator = operator.trim_end_matches('v');
    let Some(bound) = numbers(wanted) else {
        // `*`, `x`, `latest`; not an address or another package.
        return !comparator.contains([':', '/', '.', '<', '>']);
    };
    let is_above = own >= bound.as_slice();
    let has_start = |length: usize| own.iter().zip(&bound).take(length).all(|(own, bound)| own == bound);
    match operator {
        "^" => {
            let first = bound.iter().position(|part| *part > 0).unwrap_or(bound.len().saturating_sub(1));
            is_above && has_start(first + 1)
        }
        "~" => is_above && has_start(bound.len().min(2)),
        ">=" => at_least(own, wanted),
        "<=" => at_most(own, wanted),
        ">" => !at_most(own, wanted),
        "<" => !at_least(own, wanted),
        "" | "=" if bound.len() == PARTS => wanted == version.trim_start_matches('v'),
        "" | "=" => has_start(bound.len()),
        _ => false,
    }
}

fn at_least(own: &[u64], bound: &str) -> bool {
    numbers(bound).is_some_and(|bound| own >= bound.as_slice())
}

/// A bound with fewer parts is met by all versions that begin with it.
fn at_most(own: &[u64], bound: &str) -> bool {
    numbers(bound).is_some_and(|bound| own[..bound.len().min(own.len())] <= bound[..])
}

/// The numbers of a version before its first part that isn't one; `None` if there are none.
fn numbers(version: &str) -> Option<Vec<u64>> {
    let plain = version.trim_start_matches('v').split(['-', '+']).next()?;
    let found: Vec<u64> = plain.split('.').map_while(|part| part.parse().ok()).take(PARTS).collect();
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_accept_what_npm_accepts() {
        for (range, version, is_accepted) in [
            ("3.18.2", "3.18.2", true),
            ("3.18.2", "3.18.3", false),
            ("=v3.18.2", "3.18.2", true),
            ("9.0.0-next.10", "9.0.0-next.10", true),
            ("9.0.0-next.10", "9.0.0-next.11", false),
            ("^1.2.3", "1.9.0", true),
            ("^1.2.3", "1.2.2", false),
            ("^1.2.3", "2.0.0", false),
            ("^0.2.3", "0.2.9", true),
            ("^0.2.3", "0.3.0", false),
            ("^0.0", "0.0.5", true),
            ("~1.2.3", "1.2.9", true),
            ("~1.2", "1.3.0", false),
            ("1.x", "1.7.0", true),
            ("1.2", "1.3.0", false),
            ("*", "7.0.0", true),
            ("", "7.0.0", true),
            ("latest", "7.0.0", true),
            (">=1.2 <2", "1.5.0", true),
            (">= 1.2 < 2", "2.0.0", false),
            (">1.2", "1.2.5", false),
            ("<=1.2", "1.2.5", true),
            ("1.0 - 2.0", "2.0.7", true),
            ("1.0 - 2.0", "2.1.0", false),
            ("^1.0 || ^3.0", "3.1.0", true),
            ("npm:other@^1.0.0", "1.0.0", false),
            ("github:a/b", "1.0.0", false),
            ("^1.0.0", "", false),
        ] {
            assert_eq!(accepts(range, version), is_accepted, "{range} {version}");
        }
    }
}
