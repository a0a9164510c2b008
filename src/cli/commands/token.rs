//! `codeyard token`: adds, lists and removes bearer tokens. Only hashes are stored; a token is printed once, when it is created.

use crate::Failure;
use crate::args::{StateArgs, TokenCommand};
use crate::shared::{assemble, output};
use codeyard_state::{TokenAudience, TokenStore};

/// Runs the subcommand.
pub(crate) fn run(command: TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::Add { name, admin, state } => add(&open(&state, admin)?, &name),
        TokenCommand::List { admin, state, json } => list(&open(&state, admin)?, admin, json),
        TokenCommand::Remove { name, admin, state } => remove(&open(&state, admin)?, &name),
    }
}

/// The tokens of `/mcp`, or of the admin API.
fn open(args: &StateArgs, admin: bool) -> Result<TokenStore, Failure> {
    let state = assemble::open_state(args.state_dir.as_deref())?;
    let audience = if admin { TokenAudience::Admin } else { TokenAudience::Mcp };
    TokenStore::open(assemble::open_store(&state)?, audience).map_err(|error| Failure::new(error.to_string()))
}

fn add(store: &TokenStore, name: &str) -> Result<(), Failure> {
    let token = store.add(name).map_err(|error| Failure::new(format!("no token was created: {error}")))?;
    output::print(format_args!("{}\n", token.reveal()))
}

fn list(store: &TokenStore, admin: bool, json: bool) -> Result<(), Failure> {
    let names: Vec<String> = store.principals().iter().map(ToString::to_string).collect();
    output::print_json_or(json, &names, || {
        match (names.is_empty(), admin) {
            (true, true) => return "no admin tokens; `codeyard token add --admin NAME` creates one\n".to_owned(),
            (true, false) => {
                return "no tokens; the first `codeyard serve` creates one, or `codeyard token add NAME`\n".to_owned();
            }
            (false, _) => {}
        }
        names.iter().map(|name| format!("{name}\n")).collect()
    })
}

fn remove(store: &TokenStore, name: &str) -> Result<(), Failure> {
    let removed = store.remove(name).map_err(|error| Failure::new(format!("no token was removed: {error}")))?;
    if removed == 0 {
        return Err(Failure::missing(format!(
            "`{name}` has no token; `codeyard token list` shows the names that have one"
        )));
    }
    output::print(format_args!("removed {removed}; a running server refuses them within a second\n"))
}
