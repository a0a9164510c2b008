//! Questions to the person behind a session: asked on the stream of a call, answered by a message of the session.
//!
//! What is asked, and what follows from the answer, is not decided here. Invariants: an answer counts only in the session
//! that was asked, and once; the same question is open once in a session, and all who ask it share the answer; a question
//! that nobody waits for any more is withdrawn; an answer after that changes nothing, except that a choice which is to be
//! kept is kept; what is open, and what is overdue, is bounded.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout_at;

use crate::limits::{MAX_OVERDUE_QUESTIONS, MAX_QUESTIONS};
use codeyard_base::base64url;
use codeyard_base::blocking;
use codeyard_base::clock::Deadline;
use codeyard_base::ids::{PrincipalId, WorkspaceName};
use codeyard_protocol::elicit::{self, Answer, Choice};
use codeyard_protocol::id::RequestId;

/// Messages to the client that one call may have waiting: its question, and the end of it.
const LINE_MESSAGES: usize = 4;

/// What a question is about. Two with the same subject are the same question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Who wants it.
    pub principal: PrincipalId,
    /// Where.
    pub workspace: WorkspaceName,
    /// The `rootsKey` of the workspace.
    pub roots: String,
    /// The permission's name.
    pub permission: &'static str,
}

/// A question to a person.
pub struct Question {
    /// What it is about.
    pub subject: Subject,
    /// What the person reads.
    pub text: String,
    /// What the choice is called.
    pub title: &'static str,
    /// The choices.
    pub choices: &'static [Choice],
    /// The word of the choice that is to be kept.
    pub kept: &'static str,
    /// Keeps it. May block.
    pub keep: Arc<dyn Fn() + Send + Sync>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// The client can't be asked.
    Unable,
    /// Too many questions are open in the session.
    TooMany,
    /// None came in time.
    Late,
}

/// The client of one session, as somebody to ask.
#[derive(Default)]
pub struct Client {
    offers_forms: AtomicBool,
    open: Mutex<Vec<Open>>,
}

/// A call's way to its client.
#[derive(Debug, Clone)]
pub struct Line {
    client: Arc<Client>,
    messages: mpsc::Sender<Vec<u8>>,
}

/// The client's end of a [`Line`]: messages of ours, JSON text.
pub type LineEnd = mpsc::Receiver<Vec<u8>>;

/// A question that was asked.
struct Open {
    id: RequestId,
    subject: Subject,
    stage: Stage,
    said: watch::Sender<Option<Said>>,
    kept: &'static str,
    keep: Arc<dyn Fn() + Send + Sync>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A call waits for the answer.
    Waiting,
    /// The answer is there, and being kept.
    Keeping,
    /// Nobody waits any more.
    Overdue,
}

#[derive(Debug, Clone)]
enum Said {
    Answer(Answer),
    Nothing,
}

type Hearing = watch::Receiver<Option<Said>>;

/// The call that asks. Dropped before there is an answer, it withdraws the question.
struct Asking<'a> {
    line: &'a Line,
    id: RequestId,
}

/// A line of `client`, and its end.
pub fn line(client: &Arc<Client>) -> (Line, LineEnd) {
    let (messages, end) = mpsc::channel(LINE_MESSAGES);
    (Line { client: Arc::clone(client), messages }, end)
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("offers_forms", &self.offers_forms).finish_non_exhaustive()
    }
}

impl Client {
    /// The client says whether it can show a form.
    pub fn offer_forms(&self, offers: bool) {
        self.offers_forms.store(offers, Relaxed);
    }

    /// Whether it can show a form.
    pub fn takes_forms(&self) -> bool {
        self.offers_forms.load(Relaxed)
    }

    /// How many questions wait for an answer.
    pub fn waiting(&self) -> usize {
        self.open.lock().iter().filter(|open| open.stage == Stage::Waiting).count()
    }

    /// The client has answered our request `id`. One that isn't known is ignored. Must run inside a tokio runtime.
    pub fn answered(self: &Arc<Self>, id: &RequestId, outcome: Result<&RawValue, &RawValue>) {
        let answer = elicit::answer(outcome);
        let mut all = self.open.lock();
        let known = |open: &Open| open.id == *id && open.stage != Stage::Keeping;
        let Some(at) = all.iter().position(known) else { return };
        if !matches!(&answer, Answer::Accepted(Some(word)) if word == all[at].kept) {
            let open = all.remove(at);
            open.said.send_replace(Some(Said::Answer(answer)));
            return;
        }
        all[at].stage = Stage::Keeping;
        let (keep, client, id) = (Arc::clone(&all[at].keep), Arc::clone(self), id.clone());
        drop(all);
        tokio::spawn(async move {
            // What can't be kept is complained of by who keeps it.
            drop(blocking::spawn(move || keep()).await);
            client.kept(&id, &answer);
        });
    }

    /// Tells an answer that was kept to all who wait for one on the same subject.
    fn kept(&self, id: &RequestId, answer: &Answer) {
        let mut all = self.open.lock();
        let Some(at) = all.iter().position(|open| open.id == *id) else { return };
        let kept = all.remove(at);
        for open in all.iter().filter(|open| open.subject == kept.subject).chain([&kept]) {
            open.said.send_replace(Some(Said::Answer(answer.clone())));
        }
    }

    /// The answer that will come to the same question, if it is open.
    fn hear(&self, subject: &Subject) -> Option<Hearing> {
        let same = |open: &&Open| open.stage != Stage::Overdue && open.subject == *subject;
        self.open.lock().iter().find(same).map(|open| open.said.subscribe())
    }

    /// Nobody is asked any more, and nobody waits for an answer: the service ends.
    pub fn close(&self) {
        self.offer_forms(false);
        for open in self.open.lock().iter().filter(|open| open.stage == Stage::Waiting) {
            open.said.send_replace(Some(Said::Nothing));
        }
    }

    /// The question has had its time; whether it was still open.
    fn overdue(&self, id: &RequestId) -> bool {
        let mut all = self.open.lock();
        let waiting = |open: &&mut Open| open.id == *id && open.stage == Stage::Waiting;
        let Some(open) = all.iter_mut().find(waiting) else { return false };
        open.stage = Stage::Overdue;
        open.said.send_replace(Some(Said::Nothing));
        if all.iter().filter(|open| open.stage == Stage::Overdue).count() > MAX_OVERDUE_QUESTIONS
            && let Some(oldest) = all.iter().position(|open| open.stage == Stage::Overdue)
        {
            all.remove(oldest);
        }
        true
    }
}

impl Line {
    /// Asks, or waits for the answer if the same is being asked, until `deadline`. Dropping the future withdraws the
    /// question; others who wait for its answer then ask it themselves.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub async fn ask(&self, question: &Question, deadline: Deadline) -> Result<Answer, NoAnswer> {
        if !self.client.takes_forms() {
            return Err(NoAnswer::Unable);
        }
        loop {
            let (asking, mut hearing) = match self.client.hear(&question.subject) {
                Some(hearing) => (None, hearing),
                None => match self.put(question)? {
                    Some((asking, hearing)) => (Some(asking), hearing),
                    // Somebody else was faster.
                    None => continue,
                },
            };
            let said = timeout_at(deadline.instant(), hearing.wait_for(Option::is_some)).await;
            let said = said.map(|heard| heard.map(|said| said.clone()));
            match (said, asking) {
                (Ok(Ok(Some(Said::Answer(answer)))), _) => return Ok(answer),
                (Ok(Ok(_)), _) => return Err(NoAnswer::Late),
                (Err(_), asking) => {
                    if let Some(asking) = asking.filter(|asking| self.client.overdue(&asking.id)) {
                        asking.withdraw("no answer in time");
                    }
                    return Err(NoAnswer::Late);
                }
                // Who asked has gone, and with him the question.
                (Ok(Err(_)), _) => {}
            }
        }
    }

    /// Sends the question; `None` if the same is open already.
    fn put(&self, question: &Question) -> Result<Option<(Asking<'_>, Hearing)>, NoAnswer> {
        let id = RequestId::of_text(&format!("ask-{}", base64url::encode(rand::random::<[u8; 16]>())));
        let mut all = self.client.open.lock();
        let mut open = all.iter().filter(|open| open.stage != Stage::Overdue);
        if open.clone().any(|open| open.subject == question.subject) {
            return Ok(None);
        }
        if open.by_ref().count() >= MAX_QUESTIONS {
            return Err(NoAnswer::TooMany);
        }
        let message = elicit::request(&id, &question.text, question.title, question.choices);
        self.messages.try_send(message).map_err(|_| NoAnswer::Unable)?;
        let (said, hearing) = watch::channel(None);
        all.push(Open {
            id: id.clone(),
            subject: question.subject.clone(),
            stage: Stage::Waiting,
            said,
            kept: question.kept,
            keep: Arc::clone(&question.keep),
        });
        Ok(Some((Asking { line: self, id }, hearing)))
    }
}

impl Asking<'_> {
    fn withdraw(&self, reason: &str) {
        // Where the stream has gone there is nobody to tell.
        drop(self.line.messages.try_send(elicit::withdrawal(&self.id, reason)));
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut all = self.line.client.open.lock();
        let waiting = |open: &Open| open.id == self.id && open.stage == Stage::Waiting;
        if let Some(at) = all.iter().position(waiting) {
            all.remove(at);
            drop(all);
            self.withdraw("the answer is no longer needed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use super::*;

    struct Bench {
        client: Arc<Client>,
        line: Line,
        end: LineEnd,
        kept: Arc<AtomicUsize>,
    }

    impl Bench {
        fn new() -> Self {
            let client = Arc::new(Client::default());
            client.offer_forms(true);
            let (line, end) = line(&client);
            Self { client, line, end, kept: Arc::default() }
        }

        fn question(&self, roots: usize) -> Question {
            let kept = self.kept.clone();
            let subject = Subject {
                principal: PrincipalId::local(),
                workspace: WorkspaceName::new("w").unwrap(),
                roots: roots.to_string(),
                permission: "lsp",
            };
            let keep = Arc::new(move || {
                kept.fetch_add(1, Relaxed);
            });
            Question { subject, text: String::new(), title: "", choices: &[], kept: "always", keep }
        }

        /// Asks, and lets the time run out; the question's id.
        async fn overdue(&mut self, roots: usize) -> RequestId {
            let question = self.question(roots);
            let asked = self.line.ask(&question, Deadline::after(Duration::from_secs(5))).await;
            assert_eq!(asked, Err(NoAnswer::Late));
            let sent: serde_json::Value = serde_json::from_slice(&self.end.recv().await.unwrap()).unwrap();
            let withdrawn: serde_json::Value = serde_json::from_slice(&self.end.recv().await.unwrap()).unwrap();
            assert_eq!(sent["id"], withdrawn["params"]["requestId"]);
            RequestId::of_text(sent["id"].as_str().unwrap())
        }
    }

    fn answer(client: &Arc<Client>, id: &RequestId, word: &str) {
        let result = serde_json::json!({"action": "accept", "content": {"decision": word}});
        client.answered(id, Ok(&RawValue::from_string(result.to_string()).unwrap()));
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_late_answers_are_listened_for() {
        let mut bench = Bench::new();
        let mut ids = Vec::new();
        for roots in 0..=MAX_OVERDUE_QUESTIONS {
            ids.push(bench.overdue(roots).await);
        }
        assert_eq!(bench.client.open.lock().len(), MAX_OVERDUE_QUESTIONS);
        assert_eq!(bench.client.waiting(), 0);
        answer(&bench.client, &ids[0], "always");
        assert_eq!(bench.client.open.lock().len(), MAX_OVERDUE_QUESTIONS, "the oldest is forgotten");
        for id in &ids[1..] {
            answer(&bench.client, id, "always");
        }
        while !bench.client.open.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(bench.kept.load(Relaxed), MAX_OVERDUE_QUESTIONS);
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_always_answers_the_same_question_that_was_asked_anew() {
        let mut bench = Bench::new();
        let late = bench.overdue(1).await;
        let (line, mut end) = line(&bench.client);
        let question = bench.question(1);
        let asking = tokio::spawn(async move { line.ask(&question, Deadline::after(Duration::from_secs(60))).await });
        let anew: serde_json::Value = serde_json::from_slice(&end.recv().await.unwrap()).unwrap();
        answer(&bench.client, &late, "always");
        assert_eq!(asking.await.unwrap(), Ok(Answer::Accepted(Some("always".to_owned()))));
        let withdrawn: serde_json::Value = serde_json::from_slice(&end.recv().await.unwrap()).unwrap();
        assert_eq!(withdrawn["params"]["requestId"], anew["id"], "its form has become needless");
        assert!(bench.client.open.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn when_the_service_ends_nobody_waits_for_a_person() {
        let mut bench = Bench::new();
        let (question, client) = (bench.question(1), bench.client.clone());
        let deadline = Deadline::after(Duration::from_secs(60));
        let (asked, ()) = tokio::join!(bench.line.ask(&question, deadline), async { client.close() });
        assert_eq!((asked, deadline.passed()), (Err(NoAnswer::Late), false));
        bench.end.recv().await.unwrap();
        let withdrawn = String::from_utf8(bench.end.recv().await.unwrap()).unwrap();
        assert!(withdrawn.contains("notifications/cancelled") && bench.client.open.lock().is_empty());
        assert_eq!(bench.line.ask(&question, deadline).await, Err(NoAnswer::Unable));
    }
}
