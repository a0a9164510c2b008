//! Which spans above work were sampled otherwise than the sampler decides for their trace alone, because the client's span decided.
//!
//! A run's events name only a trace and a span, not whether they are sampled, so this process remembers it. Invariants: a decision that was made or
//! used lately is kept; the number of kept ones is bounded; what isn't kept counts as decided by the sampler, as after a restart.

use std::collections::HashSet;

use opentelemetry::trace::SpanId;
use parking_lot::Mutex;

/// The decisions that are kept at least, the latest ones. At most twice as many are.
const KEPT_DECISIONS: usize = 16_384;

/// Spans that are sampled otherwise than the sampler decides for their trace alone.
#[derive(Debug, Default)]
pub(super) struct WorkDecisions(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    new: HashSet<SpanId>,
    old: HashSet<SpanId>,
}

impl WorkDecisions {
    /// Records a span of this kind.
    pub(super) fn add(&self, span: SpanId) {
        self.0.lock().add(span);
    }

    /// Whether a span is of this kind. It then counts as recorded again.
    pub(super) fn has(&self, span: SpanId) -> bool {
        let mut kept = self.0.lock();
        let was_old = !kept.new.contains(&span) && kept.old.remove(&span);
        if was_old {
            kept.add(span);
        }
        was_old || kept.new.contains(&span)
    }

    pub(super) fn remove(&self, span: SpanId) {
        let mut kept = self.0.lock();
        kept.new.remove(&span);
        kept.old.remove(&span);
    }
}

impl Generations {
    fn add(&mut self, span: SpanId) {
        if self.new.len() >= KEPT_DECISIONS {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_the_number_is_bounded() {
        let kept = WorkDecisions::default();
        let span = |number: usize| SpanId::from(number as u64);
        kept.add(span(1));
        kept.add(span(2));
        for number in 3..KEPT_DECISIONS * 5 {
            kept.add(span(number));
            assert!(number % 1_000 != 0 || kept.has(span(1)), "{number}");
        }
        assert!(!kept.has(span(2)) && kept.has(span(KEPT_DECISIONS * 4)));
        let sizes = kept.0.lock();
        assert!(sizes.new.len() <= KEPT_DECISIONS && sizes.old.len() <= KEPT_DECISIONS);
        drop(sizes);
        kept.remove(span(1));
        assert!(!kept.has(span(1)));
    }
}
