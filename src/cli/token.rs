//! `codeyard token`: who may call. The file holds hashes; a token is printed once, when it is made.

use std::path::{Path, PathBuf};

use super::args::{StateArgs, TokenCommand};
use super::{Failure, assemble, output};
use codeyard_base::ids::PrincipalId;
use codeyard_state::auth::TokenStore;

/// Adds, lists or removes.
pub(crate) fn run(command: TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::Add { name, admin, state } => add(&file(&state, admin)?, &name),
        TokenCommand::List { admin, state, json } => list(&file(&state, admin)?, admin, json),
        TokenCommand::Remove { name, admin, state } => remove(&file(&state, admin)?, &name),
    }
}

/// The file of the callers' tokens, or of the operators'.
fn file(args: &StateArgs, admin: bool) -> Result<PathBuf, Failure> {
    let state = assemble::open_state(args.state_dir.as_deref())?;
    Ok(if admin { state.admin_tokens() } else { state.tokens() })
}

fn add(file: &Path, name: &str) -> Result<(), Failure> {
    let (store, made) = open(file)?;
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

fn list(file: &Path, admin: bool, json: bool) -> Result<(), Failure> {
    let names: Vec<String> =
        if file.exists() { open(file)?.0.principals().iter().map(ToString::to_string).collect() } else { Vec::new() };
    output::print_either(json, &names, || {
        match (names.is_empty(), admin) {
            (true, true) => return "no operators' tokens; `codeyard token add --admin NAME` makes one\n".to_owned(),
            (true, false) => {
                return "no tokens; the first `codeyard serve` makes one, or `codeyard token add NAME`\n".to_owned();
            }
            (false, _) => {}
        }
        names.iter().map(|name| format!("{name}\n")).collect()
    })
}

fn remove(file: &Path, name: &str) -> Result<(), Failure> {
    let removed = if file.exists() { remove_from(&open(file)?.0, name)? } else { 0 };
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
fn open(file: &Path) -> Result<(TokenStore, bool), Failure> {
    let (store, made) = TokenStore::open_or_create(file).map_err(|error| {
        Failure::new(format!("{error}; look at {}, and take it away to begin anew", file.display()))
    })?;
    Ok((store, made.is_some()))
}
