//! Hands out the token that a server makes at its first start: to the person at the terminal, else through a file.
//!
//! Standard error of a service ends in a journal or a log store that others read. Invariant: a token is written to a terminal or to a
//! file of mode 0600 in the state directory, and nowhere else.

use std::io::IsTerminal;
use std::path::PathBuf;

use serde_json::json;

use crate::Failure;
use crate::shared::audit;
use crate::shared::{assemble, output};
use codeyard_audit::{AuditEvent, EventKind};
use codeyard_base::atomic_file::{self, Durability};
use codeyard_state::{StateDir, Token, TokenAudience, TokenError, TokenStore};

/// The words for the tokens of an audience.
struct Words {
    /// What the token is called.
    name: &'static str,
    /// The file in the state directory.
    file: &'static str,
    /// The command that makes another one.
    command: &'static str,
}

/// Opens the tokens of `audience`. If there never was one, makes the first and hands it out.
pub(crate) fn open_tokens(state: &StateDir, audience: TokenAudience) -> Result<TokenStore, Failure> {
    let words = words(audience);
    let store = assemble::open_store(state)?;
    let hand_out = |token: &Token| {
        hand_out(state, &words, token)?;
        let arguments = json!({ "id": token.id().as_str(), "kind": audience.as_str(), "name": words.name });
        let event = AuditEvent::new(EventKind::Token, "ok");
        let event = AuditEvent { operation: Some("add"), arguments: Some(arguments), ..event };
        audit::record(state, event).map_err(|failure| std::io::Error::other(failure.message))
    };
    let opened = TokenStore::open_or_show(store, audience, hand_out);
    opened.map_err(|error| match error {
        TokenError::NotShown(_) => {
            Failure::new(format!("{error}, so no token was created; run `{}`, then start again", words.command))
        }
        error => Failure::new(error.to_string()),
    })
}

fn words(audience: TokenAudience) -> Words {
    match audience {
        TokenAudience::Mcp => Words { name: "first token", file: "first-token", command: "codeyard token add NAME" },
        TokenAudience::Admin => {
            Words { name: "first admin token", file: "first-admin-token", command: "codeyard token add --admin NAME" }
        }
        TokenAudience::Probes => Words {
            name: "first token of the probes",
            file: "first-probes-token",
            command: "codeyard token add --probes NAME",
        },
    }
}

fn hand_out(state: &StateDir, words: &Words, token: &Token) -> std::io::Result<()> {
    let Words { name, file, command } = words;
    if std::io::stderr().is_terminal() {
        let token = token.reveal();
        return output::try_eprint_line(format_args!("{name} {token} (shown once; create another with `{command}`)"));
    }
    let path: PathBuf = state.path().join(file);
    atomic_file::replace_with(&path, Durability::Power, format!("{}\n", token.reveal()).as_bytes())?;
    let path = path.display();
    output::eprint_line(format_args!(
        "{name} is in {path} (only its owner can read it); copy it, then delete the file; `{command}` creates another"
    ));
    Ok(())
}
