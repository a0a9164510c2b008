//! The samplers that `OTEL_TRACES_SAMPLER` can name. They decide which calls are traced.
//!
//! Invariant: the decision depends only on the trace's id and the parent's flag, so that all services with the same settings decide
//! alike for one trace.

use opentelemetry::trace::{SpanContext, SpanKind, TraceId};
use opentelemetry_sdk::trace::{Sampler as SdkSampler, SamplingDecision, ShouldSample};

/// A sampler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    /// The parent's flag decides, if there is a parent.
    by_parent: bool,
    /// The share of the other traces that is sampled, 0 to 1.
    ratio: f64,
}

impl Default for Sampler {
    /// `parentbased_always_on`
    fn default() -> Self {
        Self { by_parent: true, ratio: 1.0 }
    }
}

impl Sampler {
    /// The sampler of this name. `ratio` is for those that take one.
    pub fn named(name: &str, ratio: f64) -> Option<Self> {
        let (by_parent, root) = match name.strip_prefix("parentbased_") {
            Some(root) => (true, root),
            None => (false, name),
        };
        let ratio = match root {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => ratio,
            _ => return None,
        };
        Some(Self { by_parent, ratio })
    }

    /// Whether a call is sampled. `parent` is the client's span.
    pub(super) fn samples(&self, parent: Option<&SpanContext>, trace: TraceId) -> bool {
        if let Some(parent) = parent.filter(|_| self.by_parent) {
            return parent.is_sampled();
        }
        if self.ratio >= 1.0 || self.ratio <= 0.0 {
            return self.ratio >= 1.0;
        }
        let sampler = SdkSampler::TraceIdRatioBased(self.ratio);
        let decided = sampler.should_sample(None, trace, "", &SpanKind::Server, &[], &[]);
        decided.decision == SamplingDecision::RecordAndSample
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::{SpanId, TraceFlags, TraceState};

    use super::*;

    fn parent(flags: TraceFlags) -> SpanContext {
        SpanContext::new(TraceId::from(1u128), SpanId::from(1u64), flags, true, TraceState::default())
    }

    #[test]
    fn the_parents_flag_decides_only_in_parent_based_samplers() {
        let yes = parent(TraceFlags::SAMPLED);
        let no = parent(TraceFlags::default());
        let trace = TraceId::from(7u128);
        let of = |name: &str| {
            let sampler = Sampler::named(name, 0.5).unwrap();
            [None, Some(&yes), Some(&no)].map(|parent| sampler.samples(parent, trace))
        };
        assert_eq!(of("always_on"), [true, true, true]);
        assert_eq!(of("always_off"), [false, false, false]);
        assert_eq!(of("parentbased_always_on"), [true, true, false]);
        assert_eq!(of("parentbased_always_off"), [false, true, false]);
        assert_eq!(of("traceidratio"), [true, true, true], "a low id is below the bound");
        assert_eq!(of("parentbased_traceidratio"), [true, true, false]);
        assert_eq!(Sampler::default(), Sampler::named("parentbased_always_on", 0.0).unwrap());
        assert_eq!(Sampler::named("parentbased_", 1.0), None);
    }

    #[test]
    fn a_ratio_samples_about_that_share_of_the_ids() {
        let sampler = Sampler::named("traceidratio", 0.25).unwrap();
        let step = u64::MAX / 1_000;
        let taken = (0..1_000).filter(|n| sampler.samples(None, TraceId::from(u128::from(n * step) + 1))).count();
        assert!((200..=300).contains(&taken), "{taken}");
    }
}
