//! Tokens against an authorization server on loopback.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use codeyard_access::{CredentialKind, Operation};
use codeyard_base::base64url;
use codeyard_config::Config;
use codeyard_test_support::authorization_server::{AuthorizationServer, SigningKey};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::issuer::TokenProblem;
use crate::limits::{FETCH_INTERVAL, FETCH_TIMEOUT, KEYS_FRESH, KEYS_KEPT, MAX_ACCESS_TOKEN_BYTES};
use crate::sign_on::SignOn;

const SERVER: &str = "https://code.example.org/yard";
const MCP: &str = "https://code.example.org/yard/mcp";

/// A configuration with one issuer, whose table has these lines too.
fn config(server: &AuthorizationServer, lines: &str) -> Config {
    let text = format!("[server]\npublic_url = \"{SERVER}/\"\n[issuers.corp]\nurl = \"{}\"\n{lines}", server.url());
    codeyard_config::parse(&text, Path::new("/")).unwrap_or_else(|error| panic!("{error}"))
}

const EVERYBODY: &str = "[[issuers.corp.callers]]\ntenant = \"team-a\"\n";

async fn seen(sign_on: &SignOn, token: &str) -> Result<String, TokenProblem> {
    sign_on.principal(token, "/mcp").await.map(|signed_on| {
        let principal = signed_on.principal;
        format!("{} {}", principal.name(), principal.scope.operations().to_words())
    })
}

fn scoped(more: &Value) -> Value {
    let mut all = json!({"scope": "openid lsp search"});
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    all
}

#[tokio::test]
async fn wrong_tokens_are_refused_each_for_its_reason() {
    let server = AuthorizationServer::start();
    let other = AuthorizationServer::start();
    let sign_on = SignOn::new(&config(
        &server,
        &format!("clients = [\"test\"]\naudiences = [\"extra\", \"https://a.example/*\"]\n{EVERYBODY}"),
    ));
    let token = |more: &Value| server.sign("one", &server.claims("ann", MCP, &scoped(more)));
    assert_eq!(seen(&sign_on, &token(&json!({}))).await.as_deref(), Ok("team-a/ann@corp lsp, search"));
    let now = codeyard_base::clock::wall_s();
    for (more, problem) in [
        (json!({"exp": now - 61}), TokenProblem::Expired),
        (json!({"exp": null}), TokenProblem::Claims),
        (json!({"exp": "tomorrow"}), TokenProblem::Claims),
        (json!({"nbf": now + 90}), TokenProblem::NotYet),
        (json!({"aud": "https://code.example.org/yard/mcp/other"}), TokenProblem::Audience),
        (json!({"aud": "https://code.example.org/yar"}), TokenProblem::Audience),
        (json!({"aud": null}), TokenProblem::Audience),
        (json!({"aud": ["extr", "https://b.example/"]}), TokenProblem::Audience),
        (json!({"iss": other.url()}), TokenProblem::Issuer),
        (json!({"iss": [server.url()]}), TokenProblem::Issuer),
        (json!({"iss": null}), TokenProblem::Issuer),
        (json!({"azp": "other"}), TokenProblem::Client),
        (json!({"client_id": null}), TokenProblem::Client),
        (json!({"at_hash": "x"}), TokenProblem::Kind),
        (json!({"events": {}}), TokenProblem::Kind),
        (json!({"cnf": {"jkt": "x"}}), TokenProblem::Bound),
        (json!({"sub": null}), TokenProblem::Name),
        (json!({"sub": 7}), TokenProblem::Name),
        (json!({"pad": "x".repeat(MAX_ACCESS_TOKEN_BYTES)}), TokenProblem::Malformed),
    ] {
        assert_eq!(seen(&sign_on, &token(&more)).await, Err(problem), "{more}");
    }
    for more in [
        json!({"exp": now - 30}),
        json!({"nbf": now + 30}),
        json!({"aud": ["x", MCP]}),
        json!({"aud": SERVER}),
        json!({"aud": format!("{MCP}/")}),
        json!({"aud": "extra"}),
        json!({"aud": "https://a.example/x"}),
        json!({"azp": "test", "client_id": "other"}),
        json!({"exp": 4_000_000_000.5}),
    ] {
        assert!(seen(&sign_on, &token(&more)).await.is_ok(), "{more}");
    }
    assert_eq!(server.key_requests(), 1, "one fetch for all");
}

#[tokio::test]
async fn wrong_signatures_and_headers_are_refused() {
    let server = AuthorizationServer::start();
    let sign_on = SignOn::new(&config(&server, EVERYBODY));
    let claims = server.claims("ann", MCP, &json!({})).to_string();
    let with = |header: &Value| server.key("one").sign(&header.to_string(), &claims);
    let good = with(&json!({"alg": "ES256"}));
    assert!(seen(&sign_on, &good).await.is_ok(), "without an id, every key is tried");
    let (message, signature) = good.rsplit_once('.').unwrap();
    let none = format!("{}.{}.", base64url::encode(br#"{"alg":"none"}"#), base64url::encode(claims.as_bytes()));
    let stranger = SigningKey::generate();
    let mut changed = base64url::decode(signature).unwrap();
    changed[5] ^= 1;
    let twice = claims.replacen('{', "{\"sub\":\"eve\",", 1);
    for (token, problem) in [
        (none, TokenProblem::Malformed),
        (with(&json!({"alg": "HS256"})), TokenProblem::Algorithm),
        (with(&json!({"alg": "RS256"})), TokenProblem::Signature),
        (with(&json!({"alg": "ES256", "kid": "nobody"})), TokenProblem::Signature),
        (with(&json!({"alg": "ES256", "typ": "logout+jwt"})), TokenProblem::Kind),
        (with(&json!({"alg": "ES256", "cty": "JWT"})), TokenProblem::Kind),
        (with(&json!({"alg": "ES256", "crit": ["new"], "new": 1})), TokenProblem::Malformed),
        (stranger.sign(r#"{"alg":"ES256"}"#, &claims), TokenProblem::Signature),
        (
            stranger.sign(&json!({"alg": "ES256", "jwk": stranger.jwk("x")}).to_string(), &claims),
            TokenProblem::Signature,
        ),
        (server.key("one").sign(r#"{"alg":"ES256","alg":"ES256"}"#, &claims), TokenProblem::Malformed),
        (server.key("one").sign(r#"{"alg":"ES256"}"#, &twice), TokenProblem::Malformed),
        (server.key("one").sign(r#"{"alg":"ES256"}"#, "[]"), TokenProblem::Malformed),
        (format!("{message}."), TokenProblem::Signature),
        (format!("{message}.{}", base64url::encode(&changed)), TokenProblem::Signature),
        (message.to_owned(), TokenProblem::Malformed),
        (format!("{good}.{signature}"), TokenProblem::Malformed),
        (format!("{good}="), TokenProblem::Malformed),
        ("a.b.c".to_owned(), TokenProblem::Malformed),
        (String::new(), TokenProblem::Malformed),
    ] {
        let shown = token.chars().take(120).collect::<String>();
        assert_eq!(seen(&sign_on, &token).await, Err(problem), "{shown}");
        assert!(!problem_text(&sign_on, &token).await.contains(signature), "no part of a token is in an error");
    }
}

async fn problem_text(sign_on: &SignOn, token: &str) -> String {
    seen(sign_on, token).await.unwrap_err().to_string()
}

#[tokio::test]
async fn the_first_rule_that_fits_decides_tenant_workspaces_and_operations() {
    let server = AuthorizationServer::start();
    let rules = r#"
[[issuers.corp.callers]]
claim = "groups"
is = "cn=Launch,ou=Groups,dc=example"
tenant = "team-a"
workspaces = ["web*"]
operations = ["lsp", "launch"]

[[issuers.corp.callers]]
claim = "realm_access.roles"
is = "dev"
tenant_claim = "teams"
tenants = ["team-b", "team-c"]

[[issuers.corp.callers]]
claim = "email"
is = "ann@example.org"
tenant = "team-d"
"#;
    let sign_on = SignOn::new(&config(&server, rules));
    let all = "lsp search index launch edit";
    let of = async |more: Value| {
        let mut claims = json!({"scope": all});
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        seen(&sign_on, &server.sign("one", &server.claims("ann", MCP, &claims))).await
    };
    assert_eq!(
        of(json!({"groups": ["x", "CN=launch, OU=groups, DC=example"]})).await.as_deref(),
        Ok("team-a/ann@corp lsp, launch")
    );
    let roles = json!({"realm_access": {"roles": ["dev"]}, "teams": ["team-x", "team-c"]});
    assert_eq!(of(roles).await.as_deref(), Ok("team-c/ann@corp lsp, search, index, launch, edit"));
    assert_eq!(of(json!({"realm_access": {"roles": ["dev"]}, "teams": "team-x"})).await, Err(TokenProblem::NoRule));
    assert_eq!(
        of(json!({"email": "ann@example.org", "email_verified": true})).await.as_deref(),
        Ok("team-d/ann@corp lsp, search, index, launch, edit")
    );
    assert_eq!(of(json!({"email": "ann@example.org", "email_verified": false})).await, Err(TokenProblem::NoRule));
    assert_eq!(
        of(json!({"email": "ann@example.org"})).await,
        Err(TokenProblem::NoRule),
        "nobody says that it was checked"
    );
    assert_eq!(of(json!({"groups": "x;cn=Launch,ou=Groups,dc=example"})).await, Err(TokenProblem::NoRule));
    assert_eq!(of(json!({"groups": "nobody"})).await, Err(TokenProblem::NoRule));
    let odd = of(json!({"email": "ann@example.org", "email_verified": true, "sub": "a/b c"})).await.unwrap();
    assert!(
        odd.starts_with("team-d/")
            && odd.contains("@corp ")
            && odd.len() == "team-d/sha256:0123456789abcdef@corp lsp, search, index, launch, edit".len(),
        "{odd}"
    );
}

#[tokio::test]
async fn a_narrow_token_can_be_replaced_by_a_wider_one_unless_scopes_do_not_count() {
    let server = AuthorizationServer::start();
    let rule = "[[issuers.corp.callers]]\ntenant = \"team-a\"\noperations = [\"lsp\", \"search\"]\n";
    let sign_on = SignOn::new(&config(&server, rule));
    let token = server.sign("one", &server.claims("ann", MCP, &json!({"scope": "lsp launch"})));
    let scope = sign_on.principal(&token, "/mcp").await.unwrap().principal.scope;
    assert_eq!(
        (scope.operations().to_words(), scope.obtainable().to_words()),
        ("lsp".to_owned(), "lsp, search".to_owned())
    );
    assert!(!scope.permits(Operation::Launch), "a scope gives nothing that the rule doesn't");
    sign_on.configure(&config(&server, &format!("scopes = false\n{rule}")));
    assert_eq!(seen(&sign_on, &token).await.as_deref(), Ok("team-a/ann@corp lsp, search"));
    assert!(!sign_on.challenge("/mcp", None, scope.obtainable()).unwrap().contains("scope="));
}

#[tokio::test]
async fn what_a_configuration_takes_away_ends_and_keys_stay_known() {
    let server = AuthorizationServer::start();
    let sign_on = SignOn::new(&config(&server, EVERYBODY));
    let token = server.sign("one", &server.claims("ann", MCP, &json!({})));
    let first = sign_on.principal(&token, "/mcp").await.unwrap();
    assert!(first.is_new && !sign_on.principal(&token, "/mcp").await.unwrap().is_new);
    assert!(sign_on.is_valid(&first.principal) && sign_on.known(&token, "/mcp").is_some());
    assert!(sign_on.known(&token, "/mcp/other").is_none(), "the audience is of the request");
    sign_on.configure(&config(&server, EVERYBODY));
    assert!(sign_on.is_valid(&first.principal), "the same configuration changes nothing");
    sign_on.configure(&config(&server, &EVERYBODY.replace("team-a", "team-b")));
    assert!(!sign_on.is_valid(&first.principal) && sign_on.known(&token, "/mcp").is_none());
    assert_eq!(seen(&sign_on, &token).await.as_deref(), Ok("team-b/ann@corp "));
    assert_eq!(server.key_requests(), 1);
    sign_on.configure(&codeyard_config::parse("", Path::new("/")).unwrap());
    assert!(
        !sign_on.is_on()
            && sign_on.known(&token, "/mcp").is_none()
            && sign_on.resource_path("/.well-known/oauth-protected-resource").is_none()
    );
    assert!(matches!(first.principal.credential.unwrap().kind, CredentialKind::SignedOn { .. }));
}

/// Time passes for the limits, while sockets work in real time.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn keys_are_fetched_again_for_an_unknown_key_at_a_bounded_rate() {
    let mut server = AuthorizationServer::start();
    let sign_on = SignOn::new(&config(&server, EVERYBODY));
    let claims = server.claims("ann", MCP, &json!({}));
    let old = server.sign("one", &claims);
    assert!(seen(&sign_on, &old).await.is_ok());
    server.add_key("two");
    server.withdraw_key("one");
    let new = server.sign("two", &claims);
    for _ in 0..20 {
        assert_eq!(seen(&sign_on, &new).await, Err(TokenProblem::Signature), "asked a moment ago");
    }
    assert_eq!(server.key_requests(), 1);
    pass(FETCH_INTERVAL).await;
    assert!(seen(&sign_on, &new).await.is_ok());
    assert_eq!(server.key_requests(), 2);
    assert_eq!(seen(&sign_on, &old).await, Err(TokenProblem::Signature), "its key was withdrawn");
}

#[tokio::test]
async fn known_keys_count_through_an_outage_of_bounded_length() {
    let server = AuthorizationServer::start();
    let sign_on = SignOn::new(&config(&server, EVERYBODY));
    let token = |end: u64| server.sign("one", &server.claims("ann", MCP, &json!({"exp": end})));
    server.set_down(true);
    assert_eq!(seen(&sign_on, &token(4_000_000_000)).await, Err(TokenProblem::Unavailable));
    server.set_down(false);
    assert_eq!(seen(&sign_on, &token(4_000_000_000)).await, Err(TokenProblem::Unavailable), "asked a moment ago");
    pass(FETCH_INTERVAL).await;
    assert!(seen(&sign_on, &token(4_000_000_000)).await.is_ok());
    server.set_down(true);
    pass(KEYS_KEPT - Duration::from_secs(60)).await;
    assert!(seen(&sign_on, &token(4_000_000_001)).await.is_ok());
    pass(Duration::from_secs(60)).await;
    assert_eq!(
        seen(&sign_on, &token(4_000_000_000)).await,
        Err(TokenProblem::Unavailable),
        "a token that was checked, too"
    );
    server.set_down(false);
    pass(FETCH_INTERVAL).await;
    assert!(seen(&sign_on, &token(4_000_000_000)).await.is_ok());
}

/// Waits until a token is answered so.
async fn until_seen(sign_on: &SignOn, token: &str, wanted: Result<&str, TokenProblem>) {
    for _ in 0..2_000 {
        if seen(sign_on, token).await.as_deref() == wanted.as_ref().map(|text| *text) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it stays {:?}", seen(sign_on, token).await);
}

#[tokio::test]
async fn a_key_that_is_withdrawn_ends_tokens_that_were_checked_and_what_is_open_with_them() {
    let mut server = AuthorizationServer::start();
    let sign_on = SignOn::new(&config(&server, EVERYBODY));
    let token = server.sign("one", &server.claims("ann", MCP, &json!({"exp": 4_000_000_000_u64})));
    let principal = sign_on.principal(&token, "/mcp").await.unwrap().principal;
    pass(KEYS_FRESH).await;
    until_seen(&sign_on, &token, Ok("team-a/ann@corp ")).await;
    assert!(sign_on.is_valid(&principal), "the same keys, fetched again, change nothing");
    assert!(!sign_on.principal(&token, "/mcp").await.unwrap().is_new);
    server.add_key("two");
    server.withdraw_key("one");
    pass(KEYS_FRESH).await;
    until_seen(&sign_on, &token, Err(TokenProblem::Signature)).await;
    assert!(!sign_on.is_valid(&principal));
    // An empty list is no outage.
    let other = server.sign("two", &server.claims("ann", MCP, &json!({"exp": 4_000_000_000_u64})));
    assert!(seen(&sign_on, &other).await.is_ok());
    server.withdraw_key("two");
    pass(KEYS_FRESH).await;
    until_seen(&sign_on, &other, Err(TokenProblem::Signature)).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_waited_for_once() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let text = format!("[server]\npublic_url = \"{SERVER}\"\n[issuers.corp]\nurl = \"{issuer}\"\n{EVERYBODY}");
    let sign_on = Arc::new(SignOn::new(&codeyard_config::parse(&text, Path::new("/")).unwrap()));
    let claims = json!({"iss": issuer, "sub": "ann", "aud": MCP, "exp": 4_000_000_000_u64}).to_string();
    let token = SigningKey::generate().sign(r#"{"alg":"ES256"}"#, &claims);
    let began = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..20 {
        let sign_on = sign_on.clone();
        let token = token.clone();
        callers.spawn(async move { seen(&sign_on, &token).await });
    }
    while let Some(answer) = callers.join_next().await {
        assert_eq!(answer.unwrap(), Err(TokenProblem::Unavailable));
    }
    assert!(began.elapsed() < FETCH_TIMEOUT * 2, "{:?}", began.elapsed());
}

#[tokio::test]
async fn the_first_success_of_a_token_is_new_whatever_was_tried_before() {
    let server = AuthorizationServer::start();
    let sign_on = SignOn::new(&config(&server, EVERYBODY));
    let token = server.sign("one", &server.claims("ann", MCP, &json!({})));
    assert_eq!(sign_on.principal(&token, "/mcp/other").await.unwrap_err(), TokenProblem::Audience);
    assert!(sign_on.principal(&token, "/mcp").await.unwrap().is_new);
}
