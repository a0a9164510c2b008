//! Decides whether a language server is nondeterministic for a question, so that a different answer of codeyard is not wrong.
//!
//! The answers of some servers depend on earlier requests. So the bare server is asked again, and new ones are started and asked:
//! this question alone, all questions of the run in the order in which codeyard's server got them, and in the reverse order.
//! Invariant: a difference is excused only by an answer of a bare server, never by codeyard's answer alone. Where all bare servers
//! agree, a different answer stays wrong.

use std::time::Duration;

use crate::Bench;
use crate::bare_server::BareServer;
use crate::compare::{AnswerComparer, Comparison};
use crate::corpus::Corpus;
use crate::questions::BenchQuestion;
use codeyard_base::clock::Instant;

/// Number of concurrent repetitions: several threads of a server may have different caches.
const AGAIN: usize = 16;
/// Longest time for the questions before the disputed one.
const LEAD_TIME: Duration = Duration::from_secs(20);

/// An answer of a bare server to the disputed question, compared with its first answer and with codeyard's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DisputedAnswer {
    /// Equal to the first answer of the bare server, different from codeyard's.
    First,
    /// Equal to codeyard's answer.
    Ours,
    /// Different from both.
    Other,
    /// Not comparable.
    Nothing,
}

impl DisputedAnswer {
    /// Whether this answer proves that the server is nondeterministic.
    fn excuses(self) -> bool {
        matches!(self, Self::Ours | Self::Other)
    }
}

/// A question with different answers of a bare server and codeyard.
pub(crate) struct Dispute<'a> {
    /// Compares answers.
    pub comparer: &'a AnswerComparer,
    pub ask: &'a BenchQuestion,
    /// The first answer of the bare server.
    pub bare: &'a [u8],
    /// The answer of codeyard.
    pub ours: &'a [u8],
}

impl Dispute<'_> {
    /// Whether the language server is nondeterministic for this question. `asked` are the questions of the run in their order.
    pub(crate) async fn is_nondeterministic(
        &self,
        bench: &Bench,
        corpus: &Corpus,
        bare: &BareServer,
        asked: &[BenchQuestion],
    ) -> bool {
        if self.ask_again(bare).await {
            return true;
        }
        for lead in lead_in_sequences(asked, self.ask) {
            let Ok(cache) = bench.scratch.folder("bare") else { return false };
            let fresh = BareServer::start(corpus.language, &corpus.root, &bench.installer, &cache).await;
            let Ok(fresh) = fresh else { return false };
            let began = Instant::now();
            for other in &lead {
                if began.elapsed() > LEAD_TIME {
                    break;
                }
                // Only its effect on later answers matters.
                let _ = fresh.ask(other).await;
            }
            let nondeterministic = self.ask_again(&fresh).await;
            fresh.stop().await;
            if nondeterministic {
                return true;
            }
        }
        false
    }

    async fn ask_again(&self, bare: &BareServer) -> bool {
        // One request alone first, because the first answer may determine later ones.
        let alone = bare.ask(self.ask).await;
        if alone.is_ok_and(|actual| self.classify(&actual).excuses()) {
            return true;
        }
        let actual = futures::future::join_all((0..AGAIN).map(|_| bare.ask(self.ask))).await;
        actual.into_iter().flatten().any(|actual| self.classify(&actual).excuses())
    }

    /// Compares an answer of a bare server with the two disputed answers.
    fn classify(&self, actual: &[u8]) -> DisputedAnswer {
        match self.comparer.compare(self.ask, actual, self.ours) {
            Comparison::Same => DisputedAnswer::Ours,
            Comparison::Different(_) if self.comparer.agree(self.ask, actual, self.bare) => DisputedAnswer::First,
            Comparison::Different(_) => DisputedAnswer::Other,
            Comparison::Failed(_) | Comparison::Incomparable => DisputedAnswer::Nothing,
        }
    }
}

/// The questions asked before the disputed one, for one server each: none; all earlier ones in order; all in reverse order.
fn lead_in_sequences(asked: &[BenchQuestion], ask: &BenchQuestion) -> [Vec<BenchQuestion>; 3] {
    let until = asked.iter().position(|other| other == ask).unwrap_or(asked.len());
    let backwards = asked.iter().rev().filter(|other| *other != ask);
    [vec![], asked[..until].to_vec(), backwards.cloned().collect()]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::questions::SourcePosition;

    fn hover(line: usize) -> BenchQuestion {
        BenchQuestion::Hover(SourcePosition { path: "/a".into(), line, character: 0 })
    }

    fn bare(text: &str) -> Vec<u8> {
        json!({"result": {"contents": {"kind": "markdown", "value": text}}}).to_string().into_bytes()
    }

    fn ours(result: &Value) -> Vec<u8> {
        json!({"result": {"structuredContent": result}}).to_string().into_bytes()
    }

    #[test]
    fn only_answers_of_a_bare_server_excuse_a_difference() {
        let comparer = AnswerComparer::new(Path::new("/"));
        let ask = hover(1);
        let first = bare("of string");
        let actual = ours(&json!({"contents": [{"value": "of T"}]}));
        let dispute = Dispute { comparer: &comparer, ask: &ask, bare: &first, ours: &actual };
        for (text, expected) in
            [("of string", DisputedAnswer::First), ("of T", DisputedAnswer::Ours), ("of number", DisputedAnswer::Other)]
        {
            assert_eq!(dispute.classify(&bare(text)), expected, "{text}");
        }
        assert_eq!(dispute.classify(br#"{"error": {"code": -32603}}"#), DisputedAnswer::Nothing);
        assert!(DisputedAnswer::Ours.excuses() && DisputedAnswer::Other.excuses(), "the server is nondeterministic");
        assert!(
            !DisputedAnswer::First.excuses() && !DisputedAnswer::Nothing.excuses(),
            "an answer that no bare server gives stays wrong"
        );
    }

    #[test]
    fn a_wrong_answer_stays_wrong_while_the_bare_server_is_consistent() {
        let comparer = AnswerComparer::new(Path::new("/"));
        let ask = hover(1);
        let first = bare("a");
        for wrong in [json!({"contents": []}), json!({"contents": [{"value": "b"}]}), json!({})] {
            let actual = ours(&wrong);
            let dispute = Dispute { comparer: &comparer, ask: &ask, bare: &first, ours: &actual };
            assert_eq!(dispute.classify(&first), DisputedAnswer::First, "{wrong}");
        }
    }

    #[test]
    fn lead_in_sequences_exclude_the_disputed_question() {
        let asked = [hover(1), hover(2), hover(3)];
        let [alone, in_order, backwards] = lead_in_sequences(&asked, &hover(3));
        assert!(alone.is_empty());
        assert_eq!(in_order, [hover(1), hover(2)]);
        assert_eq!(backwards, [hover(2), hover(1)]);
        assert_eq!(lead_in_sequences(&asked, &hover(9)).map(|lead| lead.len()), [0, 3, 3]);
    }
}
