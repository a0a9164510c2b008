//! Prompts to the person behind a session: sent on the stream of a call, answered by a message of the session.
//!
//! The content of a prompt and the consequence of an answer are not decided here. Invariants: an answer counts once, and only
//! in the session of its prompt; a session has at most one open prompt per subject, and all calls with that subject share the
//! answer; a prompt without a waiting call is withdrawn; an answer after that has no effect, except that the word that is to be
//! remembered is remembered; the numbers of open and of overdue prompts are bounded.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout_at;

use crate::limits::{MAX_OPEN_PROMPTS, MAX_OVERDUE_PROMPTS};
use codeyard_access::Principal;
use codeyard_base::base64url;
use codeyard_base::blocking;
use codeyard_base::clock::Deadline;
use codeyard_base::ids::WorkspaceName;
use codeyard_protocol::elicit::{self, Choice, Form, FormAnswer};
use codeyard_protocol::id::RequestId;
use codeyard_protocol::revision::Revision;

/// Messages of one call that may wait for its client: the prompt and its withdrawal, with some reserve.
const PROMPT_QUEUE_MESSAGES: usize = 4;

/// The subject of a prompt. Two prompts with the same subject are the same question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSubject {
    /// The caller.
    pub principal: Principal,
    /// The workspace that is called.
    pub workspace: WorkspaceName,
    /// The key of the workspace's root set.
    pub roots: String,
    /// The permission's name.
    pub permission: &'static str,
}

/// A prompt to a person.
pub struct Prompt {
    /// The subject.
    pub subject: PromptSubject,
    /// The text that the person reads.
    pub text: String,
    /// The label of the form's field.
    pub title: &'static str,
    /// The choices.
    pub choices: &'static [Choice],
    /// The word whose choice is to be remembered.
    pub remembered_word: &'static str,
    /// Remembers that choice. May block.
    pub remember: Arc<dyn Fn() + Send + Sync>,
}

impl Prompt {
    /// The form that the client shows.
    pub fn form(&self) -> Form<'_> {
        Form { text: &self.text, title: self.title, choices: self.choices }
    }
}

/// Why a prompt has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// The client can't show a form, or its stream is closed.
    Unavailable,
    /// The session has too many open prompts.
    TooMany,
    /// No answer came in time, or the service stops.
    TimedOut,
}

/// The client of one session, as the receiver of prompts.
#[derive(Default)]
pub struct SessionClient {
    /// The session's revision, if the client can show a form and the revision has prompts.
    forms: Mutex<Option<Revision>>,
    prompts: Mutex<Vec<SentPrompt>>,
}

/// Sends prompts on the stream of one call. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PromptSender {
    client: Arc<SessionClient>,
    messages: mpsc::Sender<Vec<u8>>,
}

/// The transport's end of a [`PromptSender`]: our JSON-RPC messages to the client.
pub type PromptReceiver = mpsc::Receiver<Vec<u8>>;

/// A prompt that was sent.
struct SentPrompt {
    id: RequestId,
    subject: PromptSubject,
    stage: PromptStage,
    outcome: watch::Sender<Option<PromptOutcome>>,
    remembered_word: &'static str,
    remember: Arc<dyn Fn() + Send + Sync>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PromptStage {
    /// A call waits for the answer.
    Open,
    /// The answer has arrived and is being remembered.
    Remembering,
    /// The deadline has passed, and no call waits.
    Overdue,
}

#[derive(Debug, Clone)]
enum PromptOutcome {
    Answered(FormAnswer),
    Unanswered,
}

type AnswerSubscription = watch::Receiver<Option<PromptOutcome>>;

/// Held by the call that sent a prompt. Dropped before there is an answer, it withdraws the prompt.
struct WithdrawOnDrop<'a> {
    sender: &'a PromptSender,
    id: RequestId,
}

/// A connected sender and receiver of prompts to `client`.
pub fn prompt_channel(client: &Arc<SessionClient>) -> (PromptSender, PromptReceiver) {
    let (messages, receiver) = mpsc::channel(PROMPT_QUEUE_MESSAGES);
    (PromptSender { client: Arc::clone(client), messages }, receiver)
}

impl fmt::Debug for SessionClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionClient").field("forms", &self.forms).finish_non_exhaustive()
    }
}

impl SessionClient {
    /// Records the session's revision, and whether the client can show a form (its `initialize` declares the capability).
    pub fn set_supports_forms(&self, supports_forms: bool, revision: Revision) {
        *self.forms.lock() = Some(revision).filter(|revision| supports_forms && revision.has_elicitation());
    }

    /// Whether the client can show a form.
    pub fn supports_forms(&self) -> bool {
        self.forms.lock().is_some()
    }

    /// The number of open prompts.
    pub fn open_prompts(&self) -> usize {
        self.prompts.lock().iter().filter(|prompt| prompt.stage == PromptStage::Open).count()
    }

    /// Handles the client's response to our request `id`. An unknown id is ignored. Must run inside a tokio runtime.
    pub fn handle_response(self: &Arc<Self>, id: &RequestId, outcome: Result<&RawValue, &RawValue>) {
        let answer = elicit::answer(outcome);
        let mut prompts = self.prompts.lock();
        let matches = |prompt: &SentPrompt| prompt.id == *id && prompt.stage != PromptStage::Remembering;
        let Some(at) = prompts.iter().position(matches) else { return };
        if !matches!(&answer, FormAnswer::Accepted(Some(word)) if word == prompts[at].remembered_word) {
            let prompt = prompts.remove(at);
            prompt.outcome.send_replace(Some(PromptOutcome::Answered(answer)));
            return;
        }
        prompts[at].stage = PromptStage::Remembering;
        let remember = Arc::clone(&prompts[at].remember);
        let client = Arc::clone(self);
        let id = id.clone();
        drop(prompts);
        tokio::spawn(async move {
            // `remember` logs its own failures.
            drop(blocking::spawn(move || remember()).await);
            client.finish_remembered(&id, &answer);
        });
    }

    /// Sends an answer that was remembered to all calls that wait for one on the same subject.
    fn finish_remembered(&self, id: &RequestId, answer: &FormAnswer) {
        let mut prompts = self.prompts.lock();
        let Some(at) = prompts.iter().position(|prompt| prompt.id == *id) else { return };
        let remembered = prompts.remove(at);
        for prompt in prompts.iter().filter(|prompt| prompt.subject == remembered.subject).chain([&remembered]) {
            prompt.outcome.send_replace(Some(PromptOutcome::Answered(answer.clone())));
        }
    }

    /// Subscribes to the answer of the prompt with this subject; `None` if there is none.
    fn subscribe(&self, subject: &PromptSubject) -> Option<AnswerSubscription> {
        let same = |prompt: &&SentPrompt| prompt.stage != PromptStage::Overdue && prompt.subject == *subject;
        self.prompts.lock().iter().find(same).map(|prompt| prompt.outcome.subscribe())
    }

    /// Ends all waits and accepts no more prompts: the service stops.
    pub fn close(&self) {
        self.set_supports_forms(false, Revision::DEFAULT);
        for prompt in self.prompts.lock().iter().filter(|prompt| prompt.stage == PromptStage::Open) {
            prompt.outcome.send_replace(Some(PromptOutcome::Unanswered));
        }
    }

    /// Marks the prompt `id` as overdue. Returns whether it was still open.
    fn mark_overdue(&self, id: &RequestId) -> bool {
        let mut prompts = self.prompts.lock();
        let open = |prompt: &&mut SentPrompt| prompt.id == *id && prompt.stage == PromptStage::Open;
        let Some(prompt) = prompts.iter_mut().find(open) else { return false };
        prompt.stage = PromptStage::Overdue;
        prompt.outcome.send_replace(Some(PromptOutcome::Unanswered));
        if prompts.iter().filter(|prompt| prompt.stage == PromptStage::Overdue).count() > MAX_OVERDUE_PROMPTS
            && let Some(oldest) = prompts.iter().position(|prompt| prompt.stage == PromptStage::Overdue)
        {
            prompts.remove(oldest);
        }
        true
    }
}

impl PromptSender {
    /// Sends `prompt`, or joins the open prompt with the same subject, and waits for the answer until `deadline`. Dropping
    /// the future withdraws the prompt that it sent; other calls that wait for its answer then send it themselves.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub async fn ask(&self, prompt: &Prompt, deadline: Deadline) -> Result<FormAnswer, NoAnswer> {
        let revision = self.client.forms.lock().ok_or(NoAnswer::Unavailable)?;
        loop {
            let (own_prompt, mut subscription) = match self.client.subscribe(&prompt.subject) {
                Some(subscription) => (None, subscription),
                None => match self.send(prompt, revision)? {
                    Some((own_prompt, subscription)) => (Some(own_prompt), subscription),
                    // Another call has sent the same prompt since.
                    None => continue,
                },
            };
            let outcome = timeout_at(deadline.instant(), subscription.wait_for(Option::is_some)).await;
            let outcome = outcome.map(|received| received.map(|outcome| outcome.clone()));
            match (outcome, own_prompt) {
                (Ok(Ok(Some(PromptOutcome::Answered(answer)))), _) => return Ok(answer),
                (Ok(Ok(_)), _) => return Err(NoAnswer::TimedOut),
                (Err(_), own_prompt) => {
                    if let Some(own_prompt) = own_prompt.filter(|own| self.client.mark_overdue(&own.id)) {
                        own_prompt.withdraw("no answer in time");
                    }
                    return Err(NoAnswer::TimedOut);
                }
                // The call that sent the prompt was dropped and has withdrawn it: send it again.
                (Ok(Err(_)), _) => {}
            }
        }
    }

    /// Sends `prompt`; `None` if one with the same subject is open.
    fn send(
        &self,
        prompt: &Prompt,
        revision: Revision,
    ) -> Result<Option<(WithdrawOnDrop<'_>, AnswerSubscription)>, NoAnswer> {
        let id = RequestId::of_text(&format!("ask-{}", base64url::encode(rand::random::<[u8; 16]>())));
        let mut prompts = self.client.prompts.lock();
        let mut open = prompts.iter().filter(|sent| sent.stage != PromptStage::Overdue);
        if open.clone().any(|sent| sent.subject == prompt.subject) {
            return Ok(None);
        }
        if open.by_ref().count() >= MAX_OPEN_PROMPTS {
            return Err(NoAnswer::TooMany);
        }
        let message = prompt.form().request(&id, revision);
        self.messages.try_send(message).map_err(|_| NoAnswer::Unavailable)?;
        let (outcome, subscription) = watch::channel(None);
        prompts.push(SentPrompt {
            id: id.clone(),
            subject: prompt.subject.clone(),
            stage: PromptStage::Open,
            outcome,
            remembered_word: prompt.remembered_word,
            remember: Arc::clone(&prompt.remember),
        });
        Ok(Some((WithdrawOnDrop { sender: self, id }, subscription)))
    }
}

impl WithdrawOnDrop<'_> {
    fn withdraw(&self, reason: &str) {
        // A failed send means that the stream is closed, and the prompt with it.
        drop(self.sender.messages.try_send(elicit::withdrawal(&self.id, reason)));
    }
}

impl Drop for WithdrawOnDrop<'_> {
    fn drop(&mut self) {
        let mut prompts = self.sender.client.prompts.lock();
        let open = |prompt: &SentPrompt| prompt.id == self.id && prompt.stage == PromptStage::Open;
        if let Some(at) = prompts.iter().position(open) {
            prompts.remove(at);
            drop(prompts);
            self.withdraw("the answer is no longer needed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::time::Duration;

    use super::*;

    struct Fixture {
        client: Arc<SessionClient>,
        sender: PromptSender,
        receiver: PromptReceiver,
        remembered: Arc<AtomicUsize>,
    }

    impl Fixture {
        fn new() -> Self {
            let client = Arc::new(SessionClient::default());
            client.set_supports_forms(true, Revision::DEFAULT);
            let (sender, receiver) = prompt_channel(&client);
            Self { client, sender, receiver, remembered: Arc::default() }
        }

        fn prompt(&self, roots: usize) -> Prompt {
            let remembered = self.remembered.clone();
            let subject = PromptSubject {
                principal: Principal::local(),
                workspace: WorkspaceName::new("w").unwrap(),
                roots: roots.to_string(),
                permission: "lsp",
            };
            let remember = Arc::new(move || {
                remembered.fetch_add(1, Relaxed);
            });
            Prompt { subject, text: String::new(), title: "", choices: &[], remembered_word: "always", remember }
        }

        /// Sends a prompt and lets its deadline pass. Returns the prompt's id.
        async fn overdue(&mut self, roots: usize) -> RequestId {
            let prompt = self.prompt(roots);
            let asked = self.sender.ask(&prompt, Deadline::after(Duration::from_secs(5))).await;
            assert_eq!(asked, Err(NoAnswer::TimedOut));
            let sent: serde_json::Value = serde_json::from_slice(&self.receiver.recv().await.unwrap()).unwrap();
            let withdrawn: serde_json::Value = serde_json::from_slice(&self.receiver.recv().await.unwrap()).unwrap();
            assert_eq!(sent["id"], withdrawn["params"]["requestId"]);
            RequestId::of_text(sent["id"].as_str().unwrap())
        }
    }

    fn answer(client: &Arc<SessionClient>, id: &RequestId, word: &str) {
        let result = serde_json::json!({"action": "accept", "content": {"decision": word}});
        client.handle_response(id, Ok(&RawValue::from_string(result.to_string()).unwrap()));
    }

    #[tokio::test(start_paused = true)]
    async fn late_answers_are_accepted_for_a_bounded_number_of_prompts() {
        let mut fixture = Fixture::new();
        let mut ids = Vec::new();
        for roots in 0..=MAX_OVERDUE_PROMPTS {
            ids.push(fixture.overdue(roots).await);
        }
        assert_eq!(fixture.client.prompts.lock().len(), MAX_OVERDUE_PROMPTS);
        assert_eq!(fixture.client.open_prompts(), 0);
        answer(&fixture.client, &ids[0], "always");
        assert_eq!(fixture.client.prompts.lock().len(), MAX_OVERDUE_PROMPTS, "the oldest is dropped");
        for id in &ids[1..] {
            answer(&fixture.client, id, "always");
        }
        while !fixture.client.prompts.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(fixture.remembered.load(Relaxed), MAX_OVERDUE_PROMPTS);
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_always_answers_a_newer_prompt_with_the_same_subject() {
        let mut fixture = Fixture::new();
        let late = fixture.overdue(1).await;
        let (sender, mut receiver) = prompt_channel(&fixture.client);
        let prompt = fixture.prompt(1);
        let answered = tokio::spawn(async move { sender.ask(&prompt, Deadline::after(Duration::from_secs(60))).await });
        let newer: serde_json::Value = serde_json::from_slice(&receiver.recv().await.unwrap()).unwrap();
        answer(&fixture.client, &late, "always");
        assert_eq!(answered.await.unwrap(), Ok(FormAnswer::Accepted(Some("always".to_owned()))));
        let withdrawn: serde_json::Value = serde_json::from_slice(&receiver.recv().await.unwrap()).unwrap();
        assert_eq!(withdrawn["params"]["requestId"], newer["id"], "its form is no longer needed");
        assert!(fixture.client.prompts.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn closing_the_client_ends_all_waits_for_a_person() {
        let mut fixture = Fixture::new();
        let prompt = fixture.prompt(1);
        let client = fixture.client.clone();
        let deadline = Deadline::after(Duration::from_secs(60));
        let (asked, ()) = tokio::join!(fixture.sender.ask(&prompt, deadline), async { client.close() });
        assert_eq!((asked, deadline.passed()), (Err(NoAnswer::TimedOut), false));
        fixture.receiver.recv().await.unwrap();
        let withdrawn = String::from_utf8(fixture.receiver.recv().await.unwrap()).unwrap();
        assert!(withdrawn.contains("notifications/cancelled") && fixture.client.prompts.lock().is_empty());
        assert_eq!(fixture.sender.ask(&prompt, deadline).await, Err(NoAnswer::Unavailable));
    }
}
