//! Callers with access tokens of an authorization server: what a client that isn't let in is asked to do, what claims open, and what ends.
//!
//! The checks of a token alone are in `src/signon/tests.rs`; real authorization servers and clients are in the slow suite.

use std::fs;

use codeyard_test_support::authorization_server::AuthorizationServer;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::admin::wire::{Answer, Subscription, Way};
use crate::cli::harness::{Sandbox, ServeProcess};
use crate::mcp::until;

/// What clients call the server.
const PUBLIC: &str = "https://code.example.org/yard";
/// A tool of each catalog, with arguments that need no language server.
const SEARCHES: [(&str, &str, &str); 2] =
    [("code", "index_status", "search"), ("launch", "launch_list_runs", "launch")];

struct Service {
    sandbox: Sandbox,
    serving: ServeProcess,
    corp: AuthorizationServer,
    other: AuthorizationServer,
}

fn rules(name: &str, url: &str) -> String {
    let rule = |group: &str| {
        format!("[[issuers.{name}.callers]]\nclaim = \"groups\"\nis = \"{group}\"\ntenant = \"{group}\"\n")
    };
    format!("[issuers.{name}]\nurl = \"{url}\"\n{}{}", rule("team-a"), rule("team-b"))
}

impl Service {
    fn begin() -> Self {
        let corp = AuthorizationServer::start();
        let other = AuthorizationServer::start();
        let sandbox = Sandbox::new();
        let workspace = |name: &str, root: &str| format!("[[workspace]]\nname = \"{name}\"\nroots = [\"{root}\"]\n");
        let config = sandbox.configure(&format!(
            "[server]\npublic_url = \"{PUBLIC}\"\n[audit]\nenabled = true\n{}{}{}{}",
            rules("corp", &corp.url()),
            rules("other", &other.url()),
            workspace("team-a/web", "repo"),
            workspace("team-b/api", "other")
        ));
        let serving = sandbox.serve(&["--config", &config]);
        Self { sandbox, serving, corp, other }
    }

    fn token(&self, group: &str, path: &str, scope: &str) -> String {
        let more = json!({"groups": [group], "scope": scope});
        self.corp.sign("one", &self.corp.claims("ann", &format!("{PUBLIC}{path}"), &more))
    }

    fn get(&self, path: &str) -> Answer {
        Way::Tcp(self.serving.address.clone()).get(path)
    }

    fn post(&self, path: &str, token: Option<&str>, session: Option<&str>, message: &Value) -> Answer {
        let mut headers =
            vec!["Content-Type: application/json".to_owned(), "Accept: application/json, text/event-stream".to_owned()];
        headers.extend(token.map(|token| format!("Authorization: Bearer {token}")));
        headers.extend(session.map(|id| format!("Mcp-Session-Id: {id}")));
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        Way::Tcp(self.serving.address.clone()).send("POST", path, &headers, &message.to_string())
    }

    /// The answer to `initialize`.
    fn begin_session(&self, path: &str, token: Option<&str>) -> Answer {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        self.post(path, token, None, &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
    }

    fn session(&self, path: &str, token: &str) -> String {
        let answer = self.begin_session(path, Some(token));
        answer.header("mcp-session-id").unwrap_or_else(|| panic!("{answer:?}")).to_owned()
    }

    fn call(&self, path: &str, token: &str, session: &str, tool: &str) -> Answer {
        let message =
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": {}}});
        self.post(path, Some(token), Some(session), &message)
    }

    fn refusal(&self, path: &str, token: &str) -> (u16, String, String) {
        let answer = self.begin_session(path, Some(token));
        let reason = answer.json()["error"]["data"]["reason"].as_str().unwrap_or_default().to_owned();
        (answer.status, reason, answer.header("www-authenticate").unwrap_or_default().to_owned())
    }
}

#[test]
fn a_client_without_a_token_finds_the_authorization_server() {
    let service = Service::begin();
    for (path, scope) in [
        ("/mcp", "lsp"),
        ("/mcp/web", "lsp"),
        ("/mcp/nowhere/code", "search index"),
        ("/mcp/web/agent+launch", "lsp launch"),
        ("/mcp/@all/code", "search index"),
    ] {
        let answer = service.begin_session(path, None).is(401);
        let place = format!("/.well-known/oauth-protected-resource/yard{path}");
        let challenge = format!(
            "Bearer realm=\"codeyard\", scope=\"{scope}\", resource_metadata=\"https://code.example.org{place}\""
        );
        assert_eq!(answer.header("www-authenticate"), Some(challenge.as_str()));
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("resource_metadata") && !message.contains("no OAuth"), "{message}");
        let metadata = service.get(&place).is(200).json();
        assert_eq!(metadata["resource"], format!("{PUBLIC}{path}"));
        let mut servers = [service.corp.url(), service.other.url()];
        servers.sort();
        assert_eq!(metadata["authorization_servers"], json!(servers));
        assert_eq!(metadata["scopes_supported"], json!(scope.split(' ').collect::<Vec<_>>()));
        // A proxy may take the prefix away.
        assert_eq!(service.get(&place.replace("/yard", "")).is(200).json(), metadata);
    }
    let root = service.get("/.well-known/oauth-protected-resource").is(200).json();
    assert_eq!(root["resource"], PUBLIC);
    for path in
        ["/.well-known/oauth-protected-resource/elsewhere", "/.well-known/oauth-authorization-server", "/register"]
    {
        assert_eq!(service.get(path).status, 404, "{path}");
    }
    let host = Way::Tcp(service.serving.address.clone()).send(
        "GET",
        "/.well-known/oauth-protected-resource",
        &["Host: evil.example"],
        "",
    );
    assert_eq!(host.status, 403);
    assert_eq!(service.serving.stop(Signal::TERM), 0);
}

#[test]
fn claims_open_a_tenant_and_scopes_what_may_be_done_there() {
    let service = Service::begin();
    let ann = service.token("team-a", "/mcp/web/code", "search");
    let session = service.session("/mcp/web/code", &ann);
    let answer = service.call("/mcp/web/code", &ann, &session, "index_status").is(200).json();
    assert!(answer["result"]["isError"] != true, "{answer}");
    // Another tenant's workspace isn't there, and a token for one endpoint is none for another.
    let far = service.token("team-a", "/mcp/api/code", "search");
    assert_eq!(service.refusal("/mcp/api/code", &far).0, 404);
    let (status, _, challenge) = service.refusal("/mcp/web/agent", &ann);
    assert!(
        status == 401 && challenge.contains("error=\"invalid_token\"") && challenge.contains("error_description="),
        "{challenge}"
    );
    let whole = service.token("team-b", "", "search");
    assert_eq!((service.refusal("/mcp/api/code", &whole).0, service.refusal("/mcp/web/code", &whole).0), (200, 404));
    let (status, reason, _) = service.refusal("/mcp", &service.token("team-c", "/mcp", "lsp"));
    assert_eq!((status, reason.as_str()), (403, "no_tenant"));
    // What a wider token would allow is listed; a call of it asks for the scope.
    for (catalog, tool, scope) in SEARCHES {
        let path = format!("/mcp/web/{catalog}");
        let narrow = service.token("team-a", &path, "lsp");
        let session = service.session(&path, &narrow);
        let list = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
        assert!(service.post(&path, Some(&narrow), Some(&session), &list).is(200).body.contains(tool));
        let refused = service.call(&path, &narrow, &session, tool).is(403);
        let challenge = refused.header("www-authenticate").unwrap_or_default().to_owned();
        for part in ["error=\"insufficient_scope\"", &format!("scope=\"lsp {scope}\""), &format!("/yard{path}\"")] {
            assert!(challenge.contains(part), "no {part} in {challenge}");
        }
        assert!(refused.body.contains("insufficient_scope") && refused.header("retry-after").is_none(), "{refused:?}");
        let wide = service.token("team-a", &path, &format!("lsp {scope}"));
        assert_eq!(service.call(&path, &wide, &session, tool).status, 200, "the session is of the principal");
    }
    // Who has the same name at another issuer is somebody else.
    let claims =
        service.other.claims("ann", &format!("{PUBLIC}/mcp/web/code"), &json!({"groups": "team-a", "scope": "search"}));
    let stranger = service.other.sign("one", &claims);
    assert_eq!(service.call("/mcp/web/code", &stranger, &session, "index_status").status, 404);
    assert_eq!(service.serving.stop(Signal::TERM), 0);
}

#[test]
fn what_has_ended_ends_open_answers_and_nothing_of_a_token_is_logged() {
    let mut service = Service::begin();
    let ann = service.token("team-a", "/mcp/web/agent", "lsp");
    let mut subscription = Subscription::open(&service.serving.address, "/mcp/web/agent", &ann);
    let config = service.sandbox.path("codeyard.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replacen("is = \"team-a\"", "is = \"team-x\"", 1)).unwrap();
    service.serving.signal(Signal::HUP);
    assert!(until(10_000, || subscription.has_ended()), "{subscription:?}");
    assert_eq!(service.refusal("/mcp/web/agent", &ann).1, "no_tenant");

    service.corp.add_key("two");
    service.corp.set_down(true);
    service.other.set_down(true);
    let unknown = service.other.sign("one", &service.other.claims("bob", PUBLIC, &json!({"groups": "team-b"})));
    let answer = service.begin_session("/mcp/api/agent", Some(&unknown)).is(503);
    assert_eq!((answer.header("retry-after"), answer.header("www-authenticate")), (Some("10"), None));
    let wrong = format!("{}x", service.token("team-b", "", "lsp"));
    assert_eq!(service.refusal("/mcp/api/agent", &wrong).0, 401);

    let lines = service.sandbox.run(&["audit", "export"]).code(0).stdout;
    let signed_on =
        lines.lines().find(|line| line.contains("\"event\":\"sign_on\"")).unwrap_or_else(|| panic!("{lines}"));
    let line: Value = serde_json::from_str(signed_on).unwrap();
    assert_eq!(
        (&line["tenant"], &line["principal"], &line["arguments"]),
        (&json!("team-a"), &json!("ann@corp"), &json!({"operations": ["lsp"]}))
    );
    let log = service.serving.log();
    assert!(log.contains("the keys of an issuer can't be fetched"), "{log}");
    for token in [&ann, &unknown, &wrong] {
        for part in token.split('.') {
            assert!(!lines.contains(part) && !log.contains(part), "a part of a token is in the log");
        }
    }
    assert_eq!(service.serving.stop(Signal::TERM), 0);
}

#[test]
fn a_wrong_table_of_an_issuer_is_refused_with_advice() {
    let sandbox = Sandbox::new();
    let server = "[server]\npublic_url = \"https://code.example.org\"\n";
    let issuer = "[issuers.corp]\nurl = \"https://login.example.org\"\n";
    let rule = "[[issuers.corp.callers]]\ntenant = \"team-a\"\n";
    for (text, said) in [
        (format!("{issuer}{rule}"), "server.public_url: issuers need the server's own URL"),
        (format!("{server}[issuers.corp]\nurl = \"http://login.example.org\"\n{rule}"), "issuers.corp.url"),
        (format!("{server}{issuer}callers = []\n"), "say who may do what"),
        (format!("{server}{issuer}{rule}claim = \"groups\"\n"), "`claim` and `is` belong together"),
        (format!("{server}{issuer}{rule}operations = [\"admin:read\"]\n"), "needs a token of codeyard"),
        (format!("{server}{issuer}{rule}tenant_claim = \"team\"\n"), "one source of the tenant"),
        (format!("{server}{issuer}clock_skew_s = 3600\n{rule}"), "issuers.corp.clock_skew_s"),
        (format!("[server]\npublic_url = \"code.example.org\"\n{issuer}{rule}"), "server.public_url"),
    ] {
        let config = sandbox.configure(&text);
        let refused = sandbox.run(&["config", "check", &config]).code(1);
        assert!(format!("{}{}", refused.stdout, refused.stderr).contains(said), "{text}: {refused:?}");
    }
}
