//! `codeyard token`: who may call. The file holds hashes; a token is printed once, when it is made.

use super::args::TokenCommand;
use super::{Failure, assemble, output};
use crate::auth::TokenStore;
use crate::base::ids::PrincipalId;
use crate::store::StateDir;

/// Adds, lists or removes.
pub fn run(command: TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::Add { name, state } => add(&assemble::open_state(state.state_dir.as_deref())?, &name),
        TokenCommand::List { state, json } => list(&assemble::open_state(state.state_dir.as_deref())?, json),
        TokenCommand::Remove { name, state } => remove(&assemble::open_state(state.state_dir.as_deref())?, &name),
    }
}

fn add(state: &StateDir, name: &str) -> Result<(), Failure> {
    let (store, made) = open(state)?;
    let token = store.add(name).map_err(|error| Failure::new(format!("no token was made: {error}")));
    if made {
        // Nobody has seen the token that a new file begins with, so it is of no use.
        let spare = PrincipalId::local();
        if token.is_err() || name != spare.as_str() {
            remove_from(&store, spare.as_str())?;
        }
    }
    output::print(format_args!("{}\n", token?.reveal()))
}

fn list(state: &StateDir, json: bool) -> Result<(), Failure> {
    let names: Vec<String> = if state.tokens().exists() {
        open(state)?.0.principals().iter().map(ToString::to_string).collect()
    } else {
        Vec::new()
    };
    output::print_either(json, &names, || {
        if names.is_empty() {
            return "no tokens; the first `codeyard serve` makes one, or `codeyard token add NAME`\n".to_owned();
        }
        names.iter().map(|name| format!("{name}\n")).collect()
    })
}

fn remove(state: &StateDir, name: &str) -> Result<(), Failure> {
    let removed = if state.tokens().exists() { remove_from(&open(state)?.0, name)? } else { 0 };
    if removed == 0 {
        return Err(Failure::missing(format!(
            "nobody called `{name}` has a token; `codeyard token list` shows who has"
        )));
    }
    output::print(format_args!("removed {removed}; a running server refuses it within a second\n"))
}

fn remove_from(store: &TokenStore, name: &str) -> Result<usize, Failure> {
    store.remove(name).map_err(|error| Failure::new(format!("nothing was removed: {error}")))
}

/// The tokens, and whether the file was made just now.
fn open(state: &StateDir) -> Result<(TokenStore, bool), Failure> {
    let (store, made) = TokenStore::open_or_create(&state.tokens()).map_err(|error| {
        Failure::new(format!("{error}; look at {}, and take it away to begin anew", state.tokens().display()))
    })?;
    Ok((store, made.is_some()))
}
