//! `codeyard token`: adds, lists and removes bearer tokens. Only hashes are stored; a token is printed once, when it is created.

use crate::Failure;
use crate::args::{StateArgs, TokenCommand};
use crate::shared::{assemble, output};
use codeyard_state::{TokenAudience, TokenStore};

/// Runs the subcommand.
pub(crate) fn run(command: TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::Add { name, admin, probes, state } => add(&open(&state, audience(admin, probes))?, &name),
        TokenCommand::List { admin, probes, state, json } => {
            let audience = audience(admin, probes);
            list(&open(&state, audience)?, audience, json)
        }
        TokenCommand::Remove { name, admin, probes, state } => {
            let audience = audience(admin, probes);
            remove(&open(&state, audience)?, audience, &name)
        }
    }
}

/// The audience that the flags select.
fn audience(admin: bool, probes: bool) -> TokenAudience {
    match (admin, probes) {
        (true, _) => TokenAudience::Admin,
        (_, true) => TokenAudience::Probes,
        _ => TokenAudience::Mcp,
    }
}

/// The flag that selects the audience, with a space in front.
fn flag(audience: TokenAudience) -> &'static str {
    match audience {
        TokenAudience::Mcp => "",
        TokenAudience::Admin => " --admin",
        TokenAudience::Probes => " --probes",
    }
}

fn open(args: &StateArgs, audience: TokenAudience) -> Result<TokenStore, Failure> {
    let state = assemble::open_state(args.state_dir.as_deref())?;
    TokenStore::open(assemble::open_store(&state)?, audience).map_err(|error| Failure::new(error.to_string()))
}

fn add(store: &TokenStore, name: &str) -> Result<(), Failure> {
    let token = store.add(name).map_err(|error| Failure::new(format!("no token was created: {error}")))?;
    output::print(format_args!("{}\n", token.reveal()))
}

fn list(store: &TokenStore, audience: TokenAudience, json: bool) -> Result<(), Failure> {
    let names: Vec<String> = store.principals().iter().map(ToString::to_string).collect();
    output::print_json_or(json, &names, || {
        if !names.is_empty() {
            return names.iter().map(|name| format!("{name}\n")).collect();
        }
        let text = match audience {
            TokenAudience::Mcp => "no tokens; the first `codeyard serve` creates one, or `codeyard token add NAME`\n",
            TokenAudience::Admin => "no admin tokens; `codeyard token add --admin NAME` creates one\n",
            TokenAudience::Probes => "no tokens of probes; `codeyard token add --probes NAME` creates one\n",
        };
        text.to_owned()
    })
}

fn remove(store: &TokenStore, audience: TokenAudience, name: &str) -> Result<(), Failure> {
    let removed = store.remove(name).map_err(|error| Failure::new(format!("no token was removed: {error}")))?;
    if removed == 0 {
        let flag = flag(audience);
        return Err(Failure::missing(format!(
            "`{name}` has no token; `codeyard token list{flag}` shows the names that have one"
        )));
    }
    output::print(format_args!("removed {removed}; a running server refuses them within a second\n"))
}
