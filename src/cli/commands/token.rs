//! `codeyard token`: adds, lists, rotates and removes bearer tokens. Only hashes are stored; a token is printed once, when it is created.

use serde::Serialize;
use serde_json::json;

use crate::Failure;
use crate::args::{StateArgs, TokenCommand};
use crate::shared::{assemble, audit, output};
use codeyard_access::{Operation, OperationSet};
use codeyard_audit::{AuditEvent, EventKind};
use codeyard_base::clock::{utc, wall_s};
use codeyard_base::ids::{PrincipalId, TenantId};
use codeyard_state::{StateDir, TokenAudience, TokenError, TokenGrant, TokenId, TokenInfo, TokenStore};

/// Patterns of a token that a row of the list shows.
const MAX_PATTERNS_SHOWN: usize = 8;

#[derive(Debug, Serialize)]
struct TokenRow {
    id: String,
    /// `TENANT/NAME` in another tenant than `default`.
    name: String,
    kind: &'static str,
    /// Patterns; none: all of the tenant.
    workspaces: Vec<String>,
    operations: Vec<&'static str>,
    minted_from: Option<String>,
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
        TokenCommand::Add { name, tenant, workspaces, operations, expires, admin, probes, state } => {
            let audience = audience(admin, probes).unwrap_or(TokenAudience::Mcp);
            if admin && workspaces.is_empty() && tenant.as_deref() == Some("default") {
                let text = "an --admin token of the tenant `default` with all its workspaces would be an operator's, who may do everything: leave \
                            --tenant out for that, or add --workspace '*' for an administrator of the tenant";
                return Err(Failure::usage(text.to_owned()));
            }
            let grant = TokenGrant {
                tenant: tenant.as_deref().map_or_else(|| Ok(TenantId::default_tenant()), tenant_of)?,
                operations: operations_of(&operations, audience)?,
                ends: expires.map(|after| wall_s().saturating_add(after)),
                ..TokenGrant::of(PrincipalId::new(&name))
            };
            let workspaces = patterns(&workspaces, &grant.tenant)?;
            add(&open(&state, Some(audience))?, &TokenGrant { workspaces, ..grant })
        }
        TokenCommand::Show { id, state } => show(&open(&state, None)?, &id),
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
struct Stores {
    state: StateDir,
    opened: Vec<(TokenAudience, TokenStore)>,
}

fn open(args: &StateArgs, audience: Option<TokenAudience>) -> Result<Stores, Failure> {
    let state = assemble::open_state(args.state_dir.as_deref())?;
    let store = assemble::open_store(&state)?;
    let wanted = TokenAudience::ALL.into_iter().filter(|one| audience.is_none_or(|wanted| wanted == *one));
    let opened = wanted.map(|one| TokenStore::open(store.clone(), one).map(|tokens| (one, tokens)));
    let opened = opened.collect::<Result<_, TokenError>>().map_err(|error| Failure::new(error.to_string()))?;
    Ok(Stores { state, opened })
}

impl Stores {
    /// Writes the audit line of a change.
    fn audit(
        &self,
        operation: &str,
        audience: TokenAudience,
        id: &TokenId,
        grant: &TokenGrant,
        replaced: Option<&TokenInfo>,
    ) -> Result<(), Failure> {
        let operations = grant.operations.unwrap_or(audience.operations());
        let mut token = json!({
            "id": id.as_str(), "kind": audience.as_str(), "name": grant.tenant.qualified(grant.principal.as_str()),
            "workspaces": grant.workspaces, "operations": operations.iter().map(Operation::as_str).collect::<Vec<_>>(),
            "ends": grant.ends.map(utc),
        });
        if let Some(old) = replaced {
            token["replaces"] = json!(old.id.as_str());
            token["replaced_ends"] = json!(old.ends().map(utc));
        }
        let event = AuditEvent {
            operation: Some(operation),
            arguments: Some(token),
            ..AuditEvent::new(EventKind::Token, "ok")
        };
        audit::record(&self.state, event)
    }
}

fn all(stores: &Stores) -> Vec<StoredToken<'_>> {
    let of = |(audience, store): &'_ (TokenAudience, TokenStore)| (*audience, store.list());
    let listed = stores.opened.iter().map(|entry| (&entry.1, of(entry)));
    listed
        .flat_map(|(store, (audience, infos))| infos.into_iter().map(move |info| StoredToken { audience, store, info }))
        .collect()
}

fn tenant_of(text: &str) -> Result<TenantId, Failure> {
    TenantId::new(text).ok_or_else(|| {
        Failure::usage(format!(
            "`{text}` is not the name of a tenant, which has 1 to 64 of a-z, 0-9, '.', '_', '-' and starts with a letter or digit"
        ))
    })
}

/// The operations of these words, all of them ones of the audience. `None`: none are named.
fn operations_of(words: &[String], audience: TokenAudience) -> Result<Option<OperationSet>, Failure> {
    if words.is_empty() {
        return Ok(None);
    }
    let set =
        OperationSet::parse(words.iter().map(String::as_str)).map_err(|wrong| Failure::usage(wrong.to_string()))?;
    match set.iter().find(|operation| !audience.operations().contains(*operation)) {
        None => Ok(Some(set)),
        Some(other) => Err(Failure::usage(format!(
            "a token of this kind can't have the operation `{}`: tokens with --admin have admin:read and admin:write, those of the probes have \
             none, and others have lsp, search, index, launch and edit; make a token of each kind",
            other.as_str()
        ))),
    }
}

/// The patterns by names in the tenant. `TENANT/` in front is accepted.
fn patterns(given: &[String], tenant: &TenantId) -> Result<Vec<String>, Failure> {
    let own = |pattern: &String| {
        let (not, bare) = pattern.strip_prefix('!').map_or(("", pattern.as_str()), |bare| ("!", bare));
        match bare.split_once('/') {
            None => Ok(pattern.clone()),
            Some((named, rest)) if named == tenant.as_str() => Ok(format!("{not}{rest}")),
            Some((named, _)) => Err(Failure::usage(format!(
                "`{pattern}` is about workspaces of the tenant `{named}`, and the token is one of `{tenant}`; name the tenant with --tenant {named}"
            ))),
        }
    };
    given.iter().map(own).collect()
}

fn add(stores: &Stores, grant: &TokenGrant) -> Result<(), Failure> {
    for (audience, store) in &stores.opened {
        let token = store.add(grant).map_err(|error| Failure::new(format!("no token was created: {error}")))?;
        if let Err(failure) = stores.audit("add", *audience, &token.id(), grant, None) {
            let removed = store.remove_one(&token.id());
            removed.map_err(|error| {
                Failure::new(format!("{}; and the token can't be removed: {error}", failure.message))
            })?;
            return Err(Failure::new(format!("no token was created: {}", failure.message)));
        }
        output::print(format_args!("{}\n", token.reveal()))?;
        let id = token.id();
        output::eprint_line(format!("its id is {id}; `codeyard token show {id}` says what it may do"));
    }
    Ok(())
}

fn list(stores: &Stores, audience: Option<TokenAudience>, json: bool) -> Result<(), Failure> {
    let all = all(stores);
    let rows: Vec<TokenRow> = all.iter().map(row).collect();
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
        table(&all, &rows)
    })
}

/// The rows as columns. What a token opens is shown if one opens less than all.
fn table(all: &[StoredToken<'_>], rows: &[TokenRow]) -> String {
    let is_narrow = |token: &StoredToken<'_>| {
        let grant = &token.info.grant;
        !grant.workspaces.is_empty() || grant.operations.is_some() || grant.minter.is_some()
    };
    let shows_scope = all.iter().any(is_narrow);
    let shows_end = rows.iter().any(|row| row.ends.is_some());
    let mut table = vec![["ID", "NAME", "KIND", "CREATED", "LAST USED"].map(str::to_owned).to_vec()];
    table[0].extend(shows_end.then(|| "ENDS".to_owned()));
    table[0].extend(shows_scope.then_some(["WORKSPACES", "OPERATIONS"]).into_iter().flatten().map(str::to_owned));
    table.extend(rows.iter().map(|row| {
        let mut cells = cells(row);
        if !shows_end {
            cells.pop();
        }
        if shows_scope {
            let workspaces = match (row.workspaces.as_slice(), &row.minted_from) {
                ([], None) => "all".to_owned(),
                ([], Some(minter)) => format!("those of {minter}"),
                (patterns, _) => shown_patterns(patterns),
            };
            cells.extend([workspaces, row.operations.join(",")]);
        }
        cells
    }));
    output::columns(&table)
}

/// The patterns, the first of them if they are many.
fn shown_patterns(patterns: &[String]) -> String {
    match patterns.get(..MAX_PATTERNS_SHOWN) {
        Some(first) if patterns.len() > MAX_PATTERNS_SHOWN => {
            format!("{} and {} more", first.join(","), patterns.len() - first.len())
        }
        _ => patterns.join(","),
    }
}

/// What a token may do, in words.
fn show(stores: &Stores, id: &str) -> Result<(), Failure> {
    let all = all(stores);
    let token = all.iter().find(|token| token.info.id.as_str() == id).ok_or_else(|| unknown(id))?;
    let grant = &token.info.grant;
    let kind = match token.audience {
        TokenAudience::Mcp => "calls of tools",
        TokenAudience::Admin => "the admin API",
        TokenAudience::Probes => "the probes and the metrics",
    };
    let mut text = format!("{id} is a token for {kind}, of the principal `{}`", grant.principal);
    text.push_str(&format!(" in the tenant `{}`.\n", grant.tenant));
    if token.audience != TokenAudience::Probes {
        let is_operators = token.audience == TokenAudience::Admin && grant.tenant.is_default();
        text.push_str(&match (grant.workspaces.as_slice(), is_operators) {
            ([], _) if grant.minter.is_some() => {
                "It opens the workspaces of the token that it was minted from.\n".to_owned()
            }
            ([], true) => "It opens the whole service, with all tenants.\n".to_owned(),
            ([], false) => format!("It opens all workspaces of the tenant `{}`, and those that come.\n", grant.tenant),
            (patterns, _) => format!(
                "It opens the workspaces of the tenant `{}` that match {}.\n",
                grant.tenant,
                patterns.join(", ")
            ),
        });
        text.push_str("It allows:\n");
        let operations = grant.operations.unwrap_or(token.audience.operations());
        for operation in operations.iter() {
            text.push_str(&format!("  {:<12} {}\n", operation.as_str(), operation.meaning()));
        }
    }
    if let Some(minter) = &grant.minter {
        text.push_str(&format!(
            "It was minted from the token {minter}: it allows no more than that one, and ends with it.\n"
        ));
    }
    match token.info.ends() {
        Some(ends) => text.push_str(&format!("It is refused from {} on.\n", utc(ends))),
        None => text.push_str("It has no end.\n"),
    }
    output::print(format_args!("{text}"))
}

fn row(token: &StoredToken<'_>) -> TokenRow {
    let info = &token.info;
    let grant = &info.grant;
    TokenRow {
        id: info.id.to_string(),
        name: name(info),
        kind: token.audience.as_str(),
        workspaces: grant.workspaces.clone(),
        operations: grant.operations.unwrap_or(token.audience.operations()).iter().map(Operation::as_str).collect(),
        minted_from: grant.minter.as_ref().map(ToString::to_string),
        created: info.created.map(utc),
        last_used: info.last_used.map(utc),
        ends: info.ends().map(utc),
    }
}

/// The name of a token's principal: `TENANT/NAME` in another tenant than `default`.
fn name(info: &TokenInfo) -> String {
    let TokenGrant { tenant, principal, .. } = &info.grant;
    tenant.qualified(principal.as_str())
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
    // A caller mints tokens of its own name.
    let has_name = |token: &&StoredToken<'_>| name(&token.info) == wanted && token.info.grant.minter.is_none();
    let by_name = || all.iter().filter(has_name).collect();
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
    stores.audit("remove", token.audience, &token.info.id, &token.info.grant, None)?;
    let id = &token.info.id;
    let name = name(&token.info);
    let kind = token.audience.as_str();
    output::print(format_args!("removed {id} ({name}, {kind}); a running server refuses it from the next request on\n"))
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

fn unknown(id: &str) -> Failure {
    let hint = "`codeyard token list` shows the ids";
    Failure::missing(match TokenId::parse(id) {
        Some(_) => format!("no token has the id `{id}`; {hint}"),
        None => format!("`{id}` is not the id of a token; {hint}"),
    })
}

fn rotate(stores: &Stores, id: &str, remove_after: Option<u64>) -> Result<(), Failure> {
    let all = all(stores);
    let old = all.iter().find(|token| token.info.id.as_str() == id).ok_or_else(|| unknown(id))?;
    if let Some(minter) = &old.info.grant.minter {
        return Err(Failure::usage(format!("the token {id} was minted from {minter}; its holder mints another one")));
    }
    let ends = remove_after.map(|after| wall_s().saturating_add(after));
    let rotated = old.store.rotate(&old.info.id, ends);
    let token =
        rotated.map_err(|error| Failure::new(format!("no token was created: {error}")))?.ok_or_else(|| unknown(id))?;
    output::print(format_args!("{}\n", token.reveal()))?;
    let replaced = old.store.list().into_iter().find(|info| info.id == old.info.id);
    stores.audit("rotate", old.audience, &token.id(), &old.info.grant, replaced.as_ref())?;
    let name = name(&old.info);
    let kind = old.audience.as_str();
    let ends = old.info.ends().into_iter().chain(ends).min();
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
