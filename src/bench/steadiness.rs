//! Whether a language server contradicts itself over a question: then nobody's answer to it can be called wrong.
//!
//! Some servers' words hang on what they were asked before. So the bare server is asked again, and others are started and
//! asked: this question alone, all of the run's questions in the order in which codeyard's server got them, and in the
//! reverse order. Invariant: a difference is excused only by what a bare server said, never by codeyard's answer alone; an answer
//! that no bare server contradicts stays wrong.

use std::time::Duration;

use super::Bench;
use super::bare::Bare;
use super::canonical::{Judge, Verdict};
use super::corpus::Corpus;
use super::questions::Ask;
use codeyard_base::clock::Instant;

/// How often a server is asked again, all at once: several threads may remember different things.
const AGAIN: usize = 16;
/// Longest time for the questions before the one that counts.
const LEAD_TIME: Duration = Duration::from_secs(20);

/// What a bare server says to the question in dispute, beside what it said first and what codeyard said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// What the bare server said at first, and not what codeyard said.
    First,
    /// What codeyard said.
    Ours,
    /// Something else again.
    Other,
    /// Nothing that can be compared.
    Nothing,
}

impl Said {
    /// Whether the server contradicts itself by this.
    fn excuses(self) -> bool {
        matches!(self, Self::Ours | Self::Other)
    }
}

/// A question to which a bare server and codeyard gave different answers.
pub(crate) struct Dispute<'a> {
    /// Compares.
    pub judge: &'a Judge,
    /// The question.
    pub ask: &'a Ask,
    /// What the bare server said.
    pub bare: &'a [u8],
    /// What codeyard said.
    pub ours: &'a [u8],
}

impl Dispute<'_> {
    /// Whether a bare server contradicts itself. `asked` are the run's questions in the order they were put.
    pub(crate) async fn is_unsteady(&self, bench: &Bench, corpus: &Corpus, bare: &Bare, asked: &[Ask]) -> bool {
        if self.ask_again(bare).await {
            return true;
        }
        for lead in leads(asked, self.ask) {
            let Ok(cache) = bench.scratch.folder("bare") else { return false };
            let fresh = Bare::start(corpus.language, &corpus.root, &bench.installer, &cache).await;
            let Ok(fresh) = fresh else { return false };
            let began = Instant::now();
            for other in &lead {
                if began.elapsed() > LEAD_TIME {
                    break;
                }
                // Only what it does to the answer after it counts.
                let _ = fresh.ask(other).await;
            }
            let unsteady = self.ask_again(&fresh).await;
            fresh.stop().await;
            if unsteady {
                return true;
            }
        }
        false
    }

    async fn ask_again(&self, bare: &Bare) -> bool {
        // First alone, as the answer that comes first may decide the others.
        let alone = bare.ask(self.ask).await;
        if alone.is_ok_and(|said| self.hears(&said).excuses()) {
            return true;
        }
        let said = futures::future::join_all((0..AGAIN).map(|_| bare.ask(self.ask))).await;
        said.into_iter().flatten().any(|said| self.hears(&said).excuses())
    }

    /// How an answer of a bare server stands to the two in dispute.
    fn hears(&self, said: &[u8]) -> Said {
        match self.judge.compare(self.ask, said, self.ours) {
            Verdict::Same => Said::Ours,
            Verdict::Different(_) if self.judge.agree(self.ask, said, self.bare) => Said::First,
            Verdict::Different(_) => Said::Other,
            Verdict::Failed(_) | Verdict::Incomparable => Said::Nothing,
        }
    }
}

/// What is asked before the question, of one server each: nothing; all in order up to it; all backwards.
fn leads(asked: &[Ask], ask: &Ask) -> [Vec<Ask>; 3] {
    let until = asked.iter().position(|other| other == ask).unwrap_or(asked.len());
    let backwards = asked.iter().rev().filter(|other| *other != ask);
    [vec![], asked[..until].to_vec(), backwards.cloned().collect()]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::questions::At;

    fn hover(line: usize) -> Ask {
        Ask::Hover(At { path: "/a".into(), line, character: 0 })
    }

    fn bare(text: &str) -> Vec<u8> {
        json!({"result": {"contents": {"kind": "markdown", "value": text}}}).to_string().into_bytes()
    }

    fn ours(result: &Value) -> Vec<u8> {
        json!({"result": {"structuredContent": result}}).to_string().into_bytes()
    }

    #[test]
    fn only_what_a_bare_server_says_excuses_a_difference() {
        let (judge, ask, first) = (Judge::new(Path::new("/")), hover(1), bare("of string"));
        let said = ours(&json!({"contents": [{"value": "of T"}]}));
        let dispute = Dispute { judge: &judge, ask: &ask, bare: &first, ours: &said };
        for (text, expected) in [("of string", Said::First), ("of T", Said::Ours), ("of number", Said::Other)] {
            assert_eq!(dispute.hears(&bare(text)), expected, "{text}");
        }
        assert_eq!(dispute.hears(br#"{"error": {"code": -32603}}"#), Said::Nothing);
        assert!(Said::Ours.excuses() && Said::Other.excuses(), "the server contradicts itself");
        assert!(!Said::First.excuses() && !Said::Nothing.excuses(), "an answer that nobody contradicts stays wrong");
    }

    #[test]
    fn an_answer_of_codeyard_that_is_wrong_each_time_stays_wrong() {
        let (judge, ask, first) = (Judge::new(Path::new("/")), hover(1), bare("a"));
        for wrong in [json!({"contents": []}), json!({"contents": [{"value": "b"}]}), json!({})] {
            let said = ours(&wrong);
            let dispute = Dispute { judge: &judge, ask: &ask, bare: &first, ours: &said };
            assert_eq!(dispute.hears(&first), Said::First, "{wrong}");
        }
    }

    #[test]
    fn the_question_in_dispute_comes_after_what_leads_to_it() {
        let asked = [hover(1), hover(2), hover(3)];
        let [alone, in_order, backwards] = leads(&asked, &hover(3));
        assert!(alone.is_empty());
        assert_eq!(in_order, [hover(1), hover(2)]);
        assert_eq!(backwards, [hover(2), hover(1)]);
        assert_eq!(leads(&asked, &hover(9)).map(|lead| lead.len()), [0, 3, 3]);
    }
}
