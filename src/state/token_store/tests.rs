//! The tokens as a server and `codeyard token` use them: validity, changes by other processes, ids, uses, ends and migration.

use super::*;
use crate::{STATE_FILE, SqliteStore};
use codeyard_base::ids::{TenantId, WorkspaceName};

fn store(folder: &std::path::Path) -> StoreHandle {
    Arc::new(SqliteStore::open(folder).unwrap())
}

fn open_or_create(folder: &std::path::Path) -> (TokenStore, Option<Token>) {
    TokenStore::open_or_create(store(folder), TokenAudience::Mcp).unwrap()
}

fn named(store: &TokenStore, token: &str) -> Option<String> {
    store.principal(token).map(|principal| principal.key())
}

fn grant(name: &str) -> TokenGrant {
    TokenGrant::of(PrincipalId::new(name))
}

#[tokio::test]
async fn the_first_token_is_shown_once_and_kept_as_a_hash() {
    let dir = tempfile::tempdir().unwrap();
    let (store, made) = open_or_create(dir.path());
    let token = made.unwrap();
    assert_eq!(named(&store, token.reveal()).as_deref(), Some("local"));
    assert!(!format!("{store:?}").contains(&token.hash().to_hex()));
    let (again, none) = open_or_create(dir.path());
    assert!(none.is_none() && named(&again, token.reveal()).is_some());
    for wrong in ["", "cyd_", "x", &token.reveal()[1..], &format!("{} ", token.reveal())] {
        assert_eq!(named(&store, wrong), None);
    }
    let admin = TokenStore::open(again.store.clone(), TokenAudience::Admin).unwrap();
    assert_eq!(named(&admin, token.reveal()), None, "an audience accepts its own tokens only");
    // The log holds the last changes and the database the others.
    let files = [STATE_FILE.to_owned(), format!("{STATE_FILE}-wal")];
    let bytes = files.map(|file| std::fs::read(dir.path().join(file)).unwrap()).concat();
    let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(!holds(&token.reveal()[4..]) && holds(&token.hash().to_hex()));
}

#[tokio::test]
async fn a_token_that_is_not_shown_is_not_stored() {
    let dir = tempfile::tempdir().unwrap();
    let handle = store(dir.path());
    let failed =
        TokenStore::open_or_show(handle.clone(), TokenAudience::Mcp, |_| Err(io::ErrorKind::BrokenPipe.into()));
    assert!(matches!(failed, Err(TokenError::NotShown(_))));
    let (store, made) = TokenStore::open_or_create(handle, TokenAudience::Mcp).unwrap();
    assert!(made.is_some());
    assert_eq!(store.remove("local").unwrap(), 1);
    assert!(open_or_create(dir.path()).1.is_none(), "once its owner has removed it, it stays away");
}

#[tokio::test]
async fn changes_by_another_process_are_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (server, first) = open_or_create(dir.path());
    let (tool, _) = open_or_create(dir.path());
    let second = tool.add(&grant("ci")).unwrap();
    assert_eq!(named(&server, second.reveal()).as_deref(), Some("ci"), "an unknown token is looked up at once");
    assert_eq!(tool.remove("local").unwrap(), 1);
    assert_eq!(named(&server, first.unwrap().reveal()), None);
    assert_eq!(named(&server, second.reveal()).as_deref(), Some("ci"));
    let not_a_token = &mut |_: &crate::Snapshot| vec![Write::Put { key: "x".into(), value: "{}".into() }];
    tool.store.update(TOKENS, not_a_token).unwrap();
    assert_eq!(named(&server, second.reveal()), None, "fails closed");
    assert!(matches!(TokenStore::open(tool.store.clone(), TokenAudience::Mcp), Err(TokenError::Store(_))));
    tool.store.update(TOKENS, &mut |_| vec![Write::Remove { key: "x".into() }]).unwrap();
    assert_eq!(named(&server, second.reveal()).as_deref(), Some("ci"));
    for file in ["", "-wal", "-shm"] {
        std::fs::remove_file(dir.path().join(format!("{STATE_FILE}{file}"))).unwrap();
    }
    assert_eq!(named(&server, second.reveal()), None, "without the database nobody gets in");
    let (_, third) = open_or_create(dir.path());
    assert_eq!(named(&server, third.unwrap().reveal()).as_deref(), Some("local"), "the new database is followed");
}

#[tokio::test]
async fn bad_names_and_too_many_tokens_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open_or_create(dir.path());
    for bad in ["", "a b", "ä", "team-a/ci", &"x".repeat(65)] {
        assert!(matches!(store.add(&grant(bad)), Err(TokenError::Name)), "{bad}");
    }
    let token = Token::generate().unwrap().hash().to_hex();
    let many = &mut |before: &crate::Snapshot| {
        let free = MAX_TOKENS - before.records.len();
        (0..free)
            .map(|n| Write::Put {
                key: format!("{n:05}{}", &token[5..]),
                value: TokenValue::new(&grant("ci"), 1).encode(),
            })
            .collect()
    };
    store.store.update(TOKENS, many).unwrap();
    assert!(matches!(store.add(&grant("ci")), Err(TokenError::Full)));
    assert_eq!(store.remove("ci").unwrap(), MAX_TOKENS - 1);
    assert!(store.add(&grant("ci")).is_ok());
}

/// A database as the version with schema 1 left it: two tokens of `ci` and one of an operator.
fn database_of_schema_1(folder: &std::path::Path) -> [Token; 2] {
    drop(store(folder));
    let tokens = [Token::generate().unwrap(), Token::generate().unwrap()];
    let database = rusqlite::Connection::open(folder.join(STATE_FILE)).unwrap();
    let put = "INSERT INTO record (namespace, key, version, value) VALUES (?1, ?2, ?3, ?4)";
    let [first, second] = [&tokens[0], &tokens[1]].map(|token| token.hash().to_hex());
    for (namespace, key, version) in [("tokens", &first, 1), ("tokens", &second, 2), ("admin-tokens", &first, 1)] {
        database.execute(put, rusqlite::params![namespace, key, version, r#"{"principal":"ci"}"#]).unwrap();
    }
    database.execute("INSERT INTO namespace VALUES ('tokens', 2), ('admin-tokens', 1)", []).unwrap();
    database.pragma_update(None, "user_version", 1).unwrap();
    tokens
}

/// The schema that the file of the database has.
fn schema_of(folder: &std::path::Path) -> u32 {
    let database = rusqlite::Connection::open(folder.join(STATE_FILE)).unwrap();
    database.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_database_of_schema_1_is_migrated_and_its_tokens_stay_valid() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = database_of_schema_1(dir.path());
    let (ci, none) = open_or_create(dir.path());
    assert!(none.is_none() && schema_of(dir.path()) == 3);
    assert!(tokens.iter().all(|token| named(&ci, token.reveal()).as_deref() == Some("ci")));
    let listed = ci.list();
    assert!(listed.iter().all(|info| info.created.is_none() && info.grant == grant("ci")), "{listed:?}");
    let admin = TokenStore::open(ci.store.clone(), TokenAudience::Admin).unwrap();
    assert_eq!(admin.list()[0].id, tokens[0].id());
    assert!(ci.remove_one(&tokens[0].id()).unwrap() && !ci.remove_one(&tokens[0].id()).unwrap());
    assert_eq!((named(&ci, tokens[0].reveal()), ci.list().len(), admin.list().len()), (None, 1, 1));
}

/// The folder for the child of the test below.
const HOLDER_FOLDER: &str = "CODEYARD_TEST_LOCK_HOLDER";

/// Does nothing unless the test below started it: then it holds the lock of a state directory until its standard input ends.
#[test]
fn child_that_holds_the_lock_of_a_state_directory() {
    let Some(folder) = std::env::var_os(HOLDER_FOLDER) else { return };
    let _lock = crate::StateDir::open(std::path::Path::new(&folder)).unwrap().lock().unwrap();
    println!("locked");
    io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn a_database_that_a_server_of_an_earlier_version_reads_is_not_migrated() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let dir = tempfile::tempdir().unwrap();
    database_of_schema_1(dir.path());
    #[expect(clippy::disallowed_methods, reason = "the test starts itself as a second process")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "token_store::tests::child_that_holds_the_lock_of_a_state_directory", "--nocapture"]);
    command.env(HOLDER_FOLDER, dir.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("locked")));
    let error = SqliteStore::open(dir.path()).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, StateError::InUse { pid: Some(_), .. }) && text.contains("stop it"), "{text}");
    assert_eq!(schema_of(dir.path()), 1);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(SqliteStore::open(dir.path()).is_ok() && schema_of(dir.path()) == 3);
}

/// The use that another process sees of the token `id`, as soon as it is another one than `than`.
async fn stored_use(folder: &std::path::Path, id: &TokenId, than: Option<u64>) -> u64 {
    loop {
        let (tool, _) = open_or_create(folder);
        let used = tool.list().into_iter().find(|info| info.id == *id).and_then(|info| info.last_used);
        match used {
            Some(used) if Some(used) != than => return used,
            _ => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn the_last_use_is_stored_once_in_a_minute_and_never_by_the_call() {
    let dir = tempfile::tempdir().unwrap();
    let (server, first) = open_or_create(dir.path());
    let token = first.unwrap();
    let info = &server.list()[0];
    assert!(info.created.is_some_and(|at| at.abs_diff(wall_s()) < 600) && info.last_used.is_none());
    // A writer holds the database: no check of a token waits for it.
    server
        .store
        .clone()
        .update(Namespace::new("other"), &mut |_| {
            let checks = std::iter::repeat_with(|| server.principal(token.reveal())).take(100);
            assert_eq!(checks.flatten().count(), 100);
            vec![Write::Put { key: "k".into(), value: "1".into() }]
        })
        .unwrap();
    let used = stored_use(dir.path(), &token.id(), None).await;
    let version = || server.store.list(TOKENS).unwrap().version;
    let before = version();
    for _ in 0..100 {
        assert!(named(&server, token.reveal()).is_some());
    }
    assert!(!server.uses.is_busy() && version() == before, "less than a minute ago");
    // A use of long ago is replaced.
    let long_ago = TokenInfo { last_used: Some(used - 2 * TOKEN_USE_INTERVAL_S), ..server.list()[0].clone() };
    let value = TokenValue::of(&long_ago).encode();
    let (tool, _) = open_or_create(dir.path());
    tool.store.update(TOKENS, &mut |_| vec![Write::Put { key: long_ago.key.clone(), value: value.clone() }]).unwrap();
    let (later, _) = open_or_create(dir.path());
    assert!(named(&later, token.reveal()).is_some());
    assert!(stored_use(dir.path(), &token.id(), long_ago.last_used).await >= used);
    // A use that is noted late doesn't bring a removed token back.
    assert_eq!(tool.remove("local").unwrap(), 1);
    tool.uses.note(token.hash().to_hex(), wall_s());
    while tool.uses.is_busy() {
        tokio::task::yield_now().await;
    }
    assert_eq!(open_or_create(dir.path()).0.list(), []);
}

#[tokio::test]
async fn a_rotated_token_has_the_same_principal_and_the_old_one_ends_when_it_was_said() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open_or_create(dir.path());
    let old = store.add(&grant("ci")).unwrap();
    let unknown = TokenId::parse("0123456789").unwrap();
    assert!(store.rotate(&unknown, None).unwrap().is_none() && !store.remove_one(&unknown).unwrap());
    let new = store.rotate(&old.id(), None).unwrap().unwrap();
    assert!([&old, &new].iter().all(|token| named(&store, token.reveal()).as_deref() == Some("ci")));
    assert_eq!(store.list().len(), 3, "no token was removed");
    let later = wall_s() + 3_600;
    let third = store.rotate(&old.id(), Some(later)).unwrap().unwrap();
    assert!(named(&store, old.reveal()).is_some(), "it has not ended yet");
    assert!(store.rotate(&old.id(), Some(later + 9)).unwrap().is_some());
    let ends = store.list().into_iter().find(|info| info.id == old.id()).unwrap().ends();
    assert_eq!(ends, Some(later), "an end is never put off");
    assert!(
        store.list().iter().filter(|info| info.id != old.id()).all(|info| info.ends().is_none()),
        "of the old one alone"
    );
    assert!(store.rotate(&old.id(), Some(wall_s())).unwrap().is_some());
    assert_eq!(named(&store, old.reveal()), None);
    assert!(store.list().iter().all(|info| info.id != old.id()) && named(&store, third.reveal()).is_some());
    let count = store.store.list(TOKENS).unwrap().records.len();
    store.add(&grant("ann")).unwrap();
    assert_eq!(store.store.list(TOKENS).unwrap().records.len(), count, "the next change removes one that has ended");
}

/// A token of `ann` in the tenant `team-a`.
fn of_team(patterns: &[&str], operations: &[&str]) -> TokenGrant {
    TokenGrant {
        tenant: TenantId::new("team-a").unwrap(),
        workspaces: patterns.iter().map(|pattern| (*pattern).to_owned()).collect(),
        operations: Some(OperationSet::parse(operations.iter().copied()).unwrap()),
        ..grant("ann")
    }
}

/// Which of four workspaces a token opens, and for what.
fn opened(store: &TokenStore, token: &Token) -> Option<(Vec<&'static str>, String)> {
    let principal = store.principal(token.reveal())?;
    let names = ["web", "team-a/web", "team-a/api", "team-b/web"];
    let seen = names.into_iter().filter(|name| principal.sees(&WorkspaceName::new(name).unwrap()));
    Some((seen.collect(), principal.scope.operations().to_words()))
}

#[tokio::test]
async fn a_token_opens_the_workspaces_of_its_tenant_and_scope_for_its_operations() {
    let dir = tempfile::tempdir().unwrap();
    let (store, first) = open_or_create(dir.path());
    let words = |text: &str| text.to_owned();
    let of_all = words("lsp, search, index, launch, edit");
    assert_eq!(opened(&store, &first.unwrap()), Some((vec!["web"], of_all.clone())), "one without a tenant");
    let narrow = store.add(&of_team(&["w*"], &["lsp", "admin:read"])).unwrap();
    let wide = store.add(&TokenGrant { operations: None, ..of_team(&[], &[]) }).unwrap();
    let (again, _) = open_or_create(dir.path());
    assert_eq!(opened(&again, &narrow), Some((vec!["team-a/web"], words("lsp, admin:read"))));
    assert_eq!(opened(&again, &wide), Some((vec!["team-a/web", "team-a/api"], of_all)));
    assert_eq!(named(&again, narrow.reveal()).as_deref(), Some("team-a ann"));
    let rotated = again.rotate(&narrow.id(), None).unwrap().unwrap();
    assert_eq!(opened(&again, &rotated), opened(&again, &narrow));
    assert_eq!(again.remove("ann").unwrap(), 0, "the name is one of a tenant");
    assert!(matches!(store.add(&of_team(&["a/*"], &["lsp"])), Err(TokenError::Workspaces(_))));
    let principals = again.principals().iter().map(Principal::key).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(principals, ["local", "team-a ann"].map(words).into());
    let held = again.principal(wide.reveal()).unwrap();
    assert!(store.is_valid(&held) && store.is_valid(&Principal::local()));
    store.remove_one(&wide.id()).unwrap();
    assert!(!again.is_valid(&held) && again.principal(wide.reveal()).is_none(), "at once, in another process too");
}

#[tokio::test]
async fn a_minted_token_allows_no_more_than_its_minter_and_ends_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open_or_create(dir.path());
    let minter = store.add(&of_team(&["w*"], &["lsp", "search"])).unwrap();
    let mint = |patterns: &[&str], operations: &[&str], from: &Token| {
        store.add(&TokenGrant { minter: Some(from.id()), ..of_team(patterns, operations) }).unwrap()
    };
    let minted = mint(&["*"], &["search", "launch"], &minter);
    assert_eq!(opened(&store, &minted), Some((vec!["team-a/web"], "search".to_owned())));
    assert_eq!(opened(&store, &mint(&["api"], &["search"], &minter)).unwrap().0, Vec::<&str>::new());
    let by_minted = TokenGrant { minter: Some(minted.id()), ..of_team(&["w*"], &["search"]) };
    assert!(matches!(store.add(&by_minted), Err(TokenError::Minted)));
    store.rotate(&minter.id(), Some(wall_s())).unwrap();
    assert_eq!(opened(&store, &minted), None, "its minter has ended");
    assert_eq!(store.store.list(TOKENS).unwrap().records.len(), 5, "records of the ended ones go with the next change");
    let other = store.add(&of_team(&[], &["lsp"])).unwrap();
    assert_eq!(store.store.list(TOKENS).unwrap().records.len(), 3);
    let minted = mint(&[], &["lsp"], &other);
    assert!(opened(&store, &minted).is_some());
    store.remove_one(&other.id()).unwrap();
    assert_eq!(opened(&store, &minted), None, "its minter is gone");
    assert_eq!(store.store.list(TOKENS).unwrap().records.len(), 2, "and so is its record");
}
