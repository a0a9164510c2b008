//! The `requestState` of a result that asks a person for permission: proof, in the retried call, that it was this call that asked.
//!
//! What is asked, and what an answer means, is decided in `permission`. Invariants: a state is valid for one principal, workspace, root
//! set, permission, tool and arguments, for [`PERMISSION_WAIT_MS`], once, and in this process only; a state that isn't valid never counts
//! as an answer; the number of remembered states is bounded, and a principal can use up its own share only.

use std::collections::HashMap;
use std::time::Duration;

use codeyard_base::authentication_code::AuthenticationKey;
use codeyard_base::base64url;
use codeyard_base::clock::Instant;
use parking_lot::Mutex;

use crate::limits::{MAX_REQUEST_STATES, MAX_REQUEST_STATES_PER_PRINCIPAL, PERMISSION_WAIT_MS};

/// Bytes of the random part of a state.
const NONCE_BYTES: usize = 16;

type Nonce = [u8; NONCE_BYTES];

/// What a state is valid for, as parts of text, the principal first. Their order and number are the same for all states.
pub(super) type Subject<'a> = [&'a str; 6];

/// The states that were given out and haven't come back.
pub(super) struct RequestStates {
    key: AuthenticationKey,
    wait: Duration,
    open: Mutex<HashMap<Nonce, OpenState>>,
}

/// A state that was given out.
struct OpenState {
    principal: String,
    until: Instant,
}

/// What a state that came back is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateCheck {
    /// It was given out for this subject, and comes back for the first time.
    Valid,
    /// It was given out for this subject, but too long ago, or it came back before.
    Expired,
    /// It wasn't given out for this subject, or not by this process.
    Foreign,
}

impl Default for RequestStates {
    fn default() -> Self {
        Self::new(Duration::from_millis(PERMISSION_WAIT_MS))
    }
}

impl RequestStates {
    /// No states. One is valid for `wait`.
    pub(super) fn new(wait: Duration) -> Self {
        Self { key: AuthenticationKey::new(rand::random()), wait, open: Mutex::default() }
    }

    /// A new state for `subject`; `None` if too many are open.
    pub(super) fn issue(&self, subject: &Subject<'_>) -> Option<String> {
        let now = Instant::now();
        let nonce: Nonce = rand::random();
        let principal = subject[0];
        let mut open = self.open.lock();
        open.retain(|_, state| state.until > now);
        let own = open.values().filter(|state| state.principal == principal).count();
        if open.len() >= MAX_REQUEST_STATES || own >= MAX_REQUEST_STATES_PER_PRINCIPAL {
            return None;
        }
        open.insert(nonce, OpenState { principal: principal.to_owned(), until: now + self.wait });
        Some(base64url::encode([&nonce[..], &self.key.code(&parts(&nonce, subject))].concat()))
    }

    /// Checks a state that came back, and ends it.
    pub(super) fn redeem(&self, state: &str, subject: &Subject<'_>) -> StateCheck {
        let Some(bytes) = base64url::decode(state) else { return StateCheck::Foreign };
        let Some((nonce, code)) = bytes.split_first_chunk::<NONCE_BYTES>() else { return StateCheck::Foreign };
        if !self.key.is_code(code, &parts(nonce, subject)) {
            return StateCheck::Foreign;
        }
        match self.open.lock().remove(nonce) {
            Some(state) if state.until > Instant::now() => StateCheck::Valid,
            _ => StateCheck::Expired,
        }
    }
}

/// What a state is the authentication code of.
fn parts<'a>(nonce: &'a Nonce, subject: &Subject<'a>) -> Vec<&'a [u8]> {
    std::iter::once(&nonce[..]).chain(subject.iter().map(|part| part.as_bytes())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: Subject<'_> = ["local", "main", "roots", "lsp", "tool", "{}"];

    #[test]
    fn a_state_is_valid_once_for_its_subject() {
        let states = RequestStates::default();
        let state = states.issue(&SUBJECT).unwrap();
        for at in 0..SUBJECT.len() {
            let mut other = SUBJECT;
            other[at] = "other";
            assert_eq!(states.redeem(&state, &other), StateCheck::Foreign, "part {at}");
        }
        let shifted = ["localm", "ain", "roots", "lsp", "tool", "{}"];
        assert_eq!(states.redeem(&state, &shifted), StateCheck::Foreign);
        assert_eq!(states.redeem(&state, &SUBJECT), StateCheck::Valid);
        assert_eq!(states.redeem(&state, &SUBJECT), StateCheck::Expired, "it came back before");
    }

    #[test]
    fn a_changed_state_and_one_of_another_process_are_foreign() {
        let states = RequestStates::default();
        let others = RequestStates::default();
        let state = states.issue(&SUBJECT).unwrap();
        assert_eq!(others.redeem(&state, &SUBJECT), StateCheck::Foreign);
        for at in 0..state.len() {
            let mut changed = state.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_ne!(states.redeem(&changed, &SUBJECT), StateCheck::Valid, "byte {at}");
        }
        for bad in ["", "x", "=", &state[..20], &state.repeat(2)] {
            assert_eq!(states.redeem(bad, &SUBJECT), StateCheck::Foreign, "{bad}");
        }
        assert_eq!(states.redeem(&state, &SUBJECT), StateCheck::Valid);
    }

    #[tokio::test(start_paused = true)]
    async fn states_expire_and_their_number_is_bounded() {
        let states = RequestStates::default();
        let first = states.issue(&SUBJECT).unwrap();
        for _ in 1..MAX_REQUEST_STATES_PER_PRINCIPAL {
            assert!(states.issue(&SUBJECT).is_some());
        }
        assert!(states.issue(&SUBJECT).is_none());
        let mut other = SUBJECT;
        other[0] = "other";
        assert!(states.issue(&other).is_some(), "the share of another principal");
        tokio::time::advance(Duration::from_millis(PERMISSION_WAIT_MS)).await;
        assert_eq!(states.redeem(&first, &SUBJECT), StateCheck::Expired);
        assert!(states.issue(&SUBJECT).is_some(), "those that expired make room");
    }
}
