//! Quantiles of call durations, computed from two samples of the histogram in `/metrics`.
//!
//! Pure. Invariant: a quantile is interpolated linearly within its bucket, as Prometheus does; a quantile above the last finite bound
//! is that bound.

use std::collections::BTreeMap;

/// The series of the histogram of call durations, in seconds.
const BUCKETS: &str = "mcp_server_operation_duration_seconds_bucket{";

/// Cumulative counts by upper bound in nanoseconds; `u64::MAX` is `+Inf`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DurationHistogram(BTreeMap<u64, u64>);

impl DurationHistogram {
    /// Parses the Prometheus text format and sums all tool calls. Empty if the histogram is missing.
    pub(super) fn read(text: &str) -> Self {
        let mut all = BTreeMap::new();
        for line in text.lines().filter_map(|line| line.strip_prefix(BUCKETS)) {
            let Some((labels, value)) = line.rsplit_once('}') else { continue };
            let method = label(labels, "mcp_method_name");
            if method.is_some_and(|method| method != "tools/call") {
                continue;
            }
            let bound = label(labels, "le").and_then(nanoseconds);
            let count = value.split_whitespace().next().and_then(|count| count.parse::<f64>().ok());
            if let (Some(bound), Some(count)) = (bound, count) {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
                let count = count as u64;
                *all.entry(bound).or_default() += count;
            }
        }
        Self(all)
    }

    /// The counts since `before`. If a count decreased, the server restarted, and all counts are new.
    pub(super) fn since(&self, before: &Self) -> Self {
        let earlier = |bound: &u64| before.0.get(bound).copied().unwrap_or(0);
        if self.0.iter().any(|(bound, count)| *count < earlier(bound)) {
            return self.clone();
        }
        Self(self.0.iter().map(|(bound, count)| (*bound, count - earlier(bound))).collect())
    }

    /// Number of counted calls.
    pub(super) fn count(&self) -> u64 {
        self.0.values().next_back().copied().unwrap_or(0)
    }

    /// The quantile `q` (0 to 1) in milliseconds; `None` if nothing was counted.
    #[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
    pub(super) fn quantile_ms(&self, q: f64) -> Option<f64> {
        let total = self.count();
        if total == 0 {
            return None;
        }
        let rank = q * total as f64;
        let mut low = 0;
        let mut below = 0;
        for (bound, count) in &self.0 {
            if *count as f64 >= rank {
                if *bound == u64::MAX {
                    break;
                }
                let within = (rank - below as f64) / (count - below).max(1) as f64;
                return Some((low as f64 + (bound - low) as f64 * within) / 1e6);
            }
            (low, below) = (*bound, *count);
        }
        Some(low as f64 / 1e6)
    }
}

fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let start = labels.match_indices(name).find_map(|(at, _)| {
        let begins = at == 0 || labels.as_bytes()[at - 1] == b',';
        let rest = labels[at + name.len()..].strip_prefix("=\"")?;
        begins.then_some(rest)
    })?;
    start.split('"').next()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a bound of a bucket")]
fn nanoseconds(text: &str) -> Option<u64> {
    match text {
        "+Inf" => Some(u64::MAX),
        text => text.parse::<f64>().ok().map(|seconds| (seconds * 1e9).round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(counts: [u64; 4]) -> String {
        let bounds = ["0.001", "0.01", "0.1", "+Inf"];
        let line = |(bound, count): (&str, u64)| {
            format!(
                "mcp_server_operation_duration_seconds_bucket{{gen_ai_tool_name=\"t\",mcp_method_name=\"tools/call\",le=\"{bound}\"}} {count}\n"
            )
        };
        let other = "mcp_server_operation_duration_seconds_bucket{mcp_method_name=\"ping\",le=\"+Inf\"} 99\n# HELP x y\nother 1\n";
        bounds.into_iter().zip(counts).map(line).collect::<String>() + other
    }

    #[test]
    fn quantiles_of_the_calls_between_two_samples() {
        let before = DurationHistogram::read(&text([5, 5, 5, 5]));
        let after = DurationHistogram::read(&text([55, 95, 105, 105]));
        let between = after.since(&before);
        assert_eq!(between.count(), 100);
        assert_eq!(between.quantile_ms(0.5), Some(1.0));
        assert!((between.quantile_ms(0.7).unwrap() - 5.5).abs() < 1e-9);
        assert!((between.quantile_ms(0.99).unwrap() - 91.0).abs() < 1e-9);
        assert_eq!(before.since(&after), before, "a server that restarted");
        assert_eq!(after.since(&after).quantile_ms(0.5), None);
        assert_eq!(DurationHistogram::read("").quantile_ms(0.5), None);
        let beyond = DurationHistogram::read(&text([0, 0, 0, 4]));
        assert_eq!(beyond.quantile_ms(0.5), Some(100.0));
    }
}
