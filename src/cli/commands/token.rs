//! `codeyard token`: adds, lists, rotates and removes bearer tokens. Only hashes are stored; a token is printed once, when it is created.

use serde::Serialize;

use crate::Failure;
use crate::args::{StateArgs, TokenCommand};
use crate::shared::{assemble, output};
use codeyard_base::clock::{utc, wall_s};
use codeyard_state::{TokenAudience, TokenError, TokenId, TokenInfo, TokenStore};

#[derive(Debug, Serialize)]
struct TokenRow {
    id: String,
    name: String,
    kind: &'static str,
    created: Option<String>,
    last_used: Option<String>,
    ends: Option<String>,
}

/// A stored token, and the store that has it.
struct StoredToken<'a> {
    audience: TokenAudience,
    store: &'a TokenStore,
    info: TokenInfo,
}

pub(crate) fn run(command: TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::Add { name, admin, probes, state } => {
            let audience = audience(admin, probes).unwrap_or(TokenAudience::Mcp);
            add(&open(&state, Some(audience))?, &name)
        }
        TokenCommand::List { admin, probes, state, json } => {
            let audience = audience(admin, probes);
            list(&open(&state, audience)?, audience, json)
        }
        TokenCommand::Remove { token, admin, probes, state } => remove(&open(&state, audience(admin, probes))?, &token),
        TokenCommand::Rotate { id, remove_after, state } => rotate(&open(&state, None)?, &id, remove_after),
    }
}

/// The audience that the flags select; `None` without a flag.
fn audience(admin: bool, probes: bool) -> Option<TokenAudience> {
    match (admin, probes) {
        (true, _) => Some(TokenAudience::Admin),
        (_, true) => Some(TokenAudience::Probes),
        _ => None,
    }
}

/// The tokens of one audience, or of all.
type Stores = Vec<(TokenAudience, TokenStore)>;

fn open(args: &StateArgs, audience: Option<TokenAudience>) -> Result<Stores, Failure> {
    let state = assemble::open_state(args.state_dir.as_deref())?;
    let store = assemble::open_store(&state)?;
    let wanted = TokenAudience::ALL.into_iter().filter(|one| audience.is_none_or(|wanted| wanted == *one));
    let opened = wanted.map(|one| TokenStore::open(store.clone(), one).map(|tokens| (one, tokens)));
    opened.collect::<Result<_, TokenError>>().map_err(|error| Failure::new(error.to_string()))
}

fn all(stores: &Stores) -> Vec<StoredToken<'_>> {
    let of = |(audience, store): &'_ (TokenAudience, TokenStore)| (*audience, store.list());
    let listed = stores.iter().map(|entry| (&entry.1, of(entry)));
    listed
        .flat_map(|(store, (audience, infos))| infos.into_iter().map(move |info| StoredToken { audience, store, info }))
        .collect()
}

fn add(stores: &Stores, name: &str) -> Result<(), Failure> {
    for (_, store) in stores {
        let token = store.add(name).map_err(|error| Failure::new(format!("no token was created: {error}")))?;
        output::print(format_args!("{}\n", token.reveal()))?;
    }
    Ok(())
}

fn list(stores: &Stores, audience: Option<TokenAudience>, json: bool) -> Result<(), Failure> {
    let rows: Vec<TokenRow> = all(stores).iter().map(row).collect();
    output::print_json_or(json, &rows, || {
        if rows.is_empty() {
            let text = match audience {
                None => "no tokens; the first `codeyard serve` creates one, or `codeyard token add NAME`\n",
                Some(TokenAudience::Mcp) => "no tokens; `codeyard token add NAME` creates one\n",
                Some(TokenAudience::Admin) => "no admin tokens; `codeyard token add --admin NAME` creates one\n",
                Some(TokenAudience::Probes) => "no tokens of probes; `codeyard token add --probes NAME` creates one\n",
            };
            return text.to_owned();
        }
        let has_end = rows.iter().any(|row| row.ends.is_some());
        let mut table = vec![["ID", "NAME", "KIND", "CREATED", "LAST USED"].map(str::to_owned).to_vec()];
        table[0].extend(has_end.then(|| "ENDS".to_owned()));
        table.extend(rows.iter().map(cells));
        output::columns(&table)
    })
}

fn row(token: &StoredToken<'_>) -> TokenRow {
    let info = &token.info;
    TokenRow {
        id: info.id.to_string(),
        name: info.principal.to_string(),
        kind: token.audience.as_str(),
        created: info.created.map(utc),
        last_used: info.last_used.map(utc),
        ends: info.ends.map(utc),
    }
}

fn cells(row: &TokenRow) -> Vec<String> {
    let time = |time: &Option<String>, without: &str| time.clone().unwrap_or_else(|| without.to_owned());
    let created = time(&row.created, "unknown");
    let last_used = time(&row.last_used, "never");
    vec![row.id.clone(), row.name.clone(), row.kind.to_owned(), created, last_used, time(&row.ends, "")]
}

/// Removes the token of this id, or the only one of this name.
fn remove(stores: &Stores, wanted: &str) -> Result<(), Failure> {
    let all = all(stores);
    let by_id: Vec<_> = all.iter().filter(|token| token.info.id.as_str() == wanted).collect();
    let by_name = || all.iter().filter(|token| token.info.principal.as_str() == wanted).collect();
    let found: Vec<&StoredToken<'_>> = if by_id.is_empty() { by_name() } else { by_id };
    let token = match found.as_slice() {
        [] => {
            return Err(Failure::missing(format!(
                "no token has the id or the name `{wanted}`; `codeyard token list` shows the tokens"
            )));
        }
        [token] => token,
        several => return Err(ambiguous(wanted, several)),
    };
    let removed = token.store.remove_one(&token.info.id);
    removed.map_err(|error| Failure::new(format!("no token was removed: {error}")))?;
    let id = &token.info.id;
    let name = &token.info.principal;
    let kind = token.audience.as_str();
    output::print(format_args!("removed {id} ({name}, {kind}); a running server refuses it within a second\n"))
}

/// The failure of a name that several tokens have.
fn ambiguous(name: &str, tokens: &[&StoredToken<'_>]) -> Failure {
    let rows: Vec<_> = tokens.iter().map(|token| cells(&row(token))).collect();
    Failure::usage(format!(
        "`{name}` has {} tokens; remove one of them by its id with `codeyard token remove ID`:\n{}",
        tokens.len(),
        output::columns(&rows).trim_end()
    ))
}

fn rotate(stores: &Stores, id: &str, remove_after: Option<u64>) -> Result<(), Failure> {
    let unknown = || {
        let hint = "`codeyard token list` shows the ids";
        Failure::missing(match TokenId::parse(id) {
            Some(_) => format!("no token has the id `{id}`; {hint}"),
            None => format!("`{id}` is not the id of a token; {hint}"),
        })
    };
    let all = all(stores);
    let old = all.iter().find(|token| token.info.id.as_str() == id).ok_or_else(unknown)?;
    let ends = remove_after.map(|after| wall_s().saturating_add(after));
    let rotated = old.store.rotate(&old.info.id, ends);
    let token = rotated.map_err(|error| Failure::new(format!("no token was created: {error}")))?.ok_or_else(unknown)?;
    output::print(format_args!("{}\n", token.reveal()))?;
    let name = &old.info.principal;
    let kind = old.audience.as_str();
    let ends = old.info.ends.into_iter().chain(ends).min();
    output::eprint_line(match ends {
        None => format!(
            "new token {} ({name}, {kind}); the old one stays valid: move the clients, then run `codeyard token remove {id}`",
            token.id()
        ),
        Some(ends) => format!(
            "new token {} ({name}, {kind}); the old one is refused from {} on: move the clients before, or remove it earlier with \
             `codeyard token remove {id}`",
            token.id(),
            utc(ends)
        ),
    });
    Ok(())
}
