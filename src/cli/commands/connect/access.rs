//! The token of a connection: the one that the host has already, or a new one.
//!
//! Invariants: a token is made only if none that is known works; one that the endpoint refuses is removed again; an endpoint that needs no
//! token gets none.

use serde_json::Value;

use super::hosts::{Host, TokenPlace};
use super::target::Target;
use crate::Failure;
use crate::args::ConnectArgs;
use crate::shared::assemble;
use crate::shared::mcp_client::Client;
use codeyard_base::ids::PrincipalId;
use codeyard_state::{Token, TokenAudience, TokenGrant, TokenStore};

/// The environment variable that hosts read.
const VARIABLE: &str = "CODEYARD_TOKEN";

/// The token that a host uses.
pub(super) enum Access {
    /// None is needed.
    Open,
    /// The one in the host's file.
    Kept(String),
    /// The one in the environment variable.
    Set(String),
    /// A new one.
    Made { tokens: Box<TokenStore>, token: Token },
}

impl Access {
    /// The token for `target`; `before` is the entry that the file has.
    pub(super) async fn find(
        host: &Host,
        args: &ConnectArgs,
        target: &Target,
        before: Option<&Value>,
    ) -> Result<Self, Failure> {
        let Some(url) = target.guarded_url() else { return Ok(Self::Open) };
        // A host that reads the variable has a token already if it is set.
        let set = std::env::var(VARIABLE).ok().filter(|token| !token.is_empty() && host.token != TokenPlace::File);
        if let Some(token) = set
            && works(url, &token).await.is_ok()
        {
            return Ok(Self::Set(token));
        }
        if let Some(token) = before.and_then(token_in)
            && works(url, token).await.is_ok()
        {
            return Ok(Self::Kept(token.to_owned()));
        }
        let made = Self::make(host, args)?;
        let refused = match made.token() {
            Some(token) => works(url, token).await.err(),
            None => None,
        };
        match refused {
            None => Ok(made),
            Some(error) => {
                made.withdraw()?;
                Err(Failure::new(format!(
                    "the server at {url} does not accept a new token ({error}): it belongs to another state directory, which \
                     --state-dir names. Nothing was written, and the token is removed again"
                )))
            }
        }
    }

    fn make(host: &Host, args: &ConnectArgs) -> Result<Self, Failure> {
        let state = assemble::open_state(args.state.state_dir.as_deref())?;
        let store = assemble::open_store(&state)?;
        let made = TokenStore::open(store, TokenAudience::Mcp).and_then(|tokens| {
            let token = tokens.add(&TokenGrant::of(PrincipalId::new(host.name)))?;
            Ok(Self::Made { tokens: Box::new(tokens), token })
        });
        made.map_err(|error| Failure::new(format!("no token was created: {error}")))
    }

    pub(super) fn token(&self) -> Option<&str> {
        match self {
            Self::Open => None,
            Self::Kept(token) | Self::Set(token) => Some(token),
            Self::Made { token, .. } => Some(token.reveal()),
        }
    }

    /// The token that the host's file has to hold.
    pub(super) fn token_in_file(&self, host: &Host) -> Option<&str> {
        match self {
            Self::Kept(token) => Some(token),
            Self::Made { token, .. } if host.token == TokenPlace::File => Some(token.reveal()),
            _ => None,
        }
    }

    /// Removes a token that was made: nobody has it.
    pub(super) fn withdraw(&self) -> Result<(), Failure> {
        let Self::Made { tokens, token } = self else { return Ok(()) };
        let removed = tokens.remove_one(&token.id());
        removed.map(|_| ()).map_err(|error| {
            let id = token.id();
            Failure::new(format!("the token {} has no use and could not be removed: {error}", id.as_str()))
        })
    }
}

/// The token that an entry holds; `None` for one that names a variable.
pub(super) fn token_in(entry: &Value) -> Option<&str> {
    let token = entry.get("headers")?.get("Authorization")?.as_str()?.strip_prefix("Bearer ")?;
    (!token.is_empty() && !token.contains(['$', '{', ' '])).then_some(token)
}

/// Opens a session with the token; an error is a sentence.
async fn works(url: &str, token: &str) -> Result<(), String> {
    let client = Client::over_http(url, Some(token)).await.map_err(|error| error.to_string())?;
    client.close().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_token_itself_is_taken_from_an_entry() {
        let entry = |value: &str| json!({"headers": {"Authorization": value}});
        assert_eq!(token_in(&entry("Bearer cyd_x")), Some("cyd_x"));
        for other in ["Bearer ${CODEYARD_TOKEN}", "Bearer {env:CODEYARD_TOKEN}", "Bearer ", "Basic x"] {
            assert_eq!(token_in(&entry(other)), None, "{other}");
        }
        assert_eq!(token_in(&json!({"command": "x"})), None);
    }
}
