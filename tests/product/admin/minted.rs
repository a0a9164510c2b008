//! Tokens that a caller makes from its own, and the end of what is open with a token that is removed.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::admin::wire::{Answer, Subscription, Way};
use crate::cli::harness::{Sandbox, ServeProcess};
use crate::mcp::until;

struct Service {
    sandbox: Sandbox,
    serving: ServeProcess,
}

impl Service {
    fn begin() -> Self {
        let sandbox = Sandbox::new();
        let workspace = |name: &str, root: &str| format!("[[workspace]]\nname = \"{name}\"\nroots = [\"{root}\"]\n");
        let config = sandbox.configure(&(workspace("team-a/web", "repo") + &workspace("team-a/api", "other")));
        let serving = sandbox.serve(&["--config", &config]);
        Self { sandbox, serving }
    }

    fn token(&self, words: &[&str]) -> String {
        self.sandbox.run(&[&["token", "add"], words].concat()).code(0).stdout.trim().to_owned()
    }

    fn send(&self, method: &str, path: &str, token: &str, body: &str) -> Answer {
        let authorization = format!("Authorization: Bearer {token}");
        Way::Tcp(self.serving.address.clone()).send(
            method,
            path,
            &[&authorization, "Content-Type: application/json"],
            body,
        )
    }

    /// A minted token and its id.
    fn mint(&self, token: &str, wanted: &Value) -> (String, String) {
        let made = self.send("POST", "/tokens", token, &wanted.to_string()).is(201).json();
        let text = |key: &str| made[key].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        (text("token"), text("id"))
    }

    fn reason(&self, method: &str, path: &str, token: &str, body: &str) -> (u16, String) {
        let answer = self.send(method, path, token, body);
        (answer.status, answer.json()["error"]["data"]["reason"].as_str().unwrap_or_default().to_owned())
    }
}

#[test]
fn a_minted_token_opens_less_and_ends_with_its_minter() {
    let service = Service::begin();
    let ann = service.token(&["ann", "--tenant", "team-a", "--operation", "lsp,search"]);
    let bob = service.token(&["bob", "--tenant", "team-a"]);
    let (job, id) = service.mint(&ann, &json!({"workspaces": ["web"], "operations": ["search"], "expires_in_s": 60}));
    let status = |path: &str, token: &str| service.serving.status(path, token);
    assert_eq!(
        [status("/mcp/web/code", &job), status("/mcp/api/code", &job), status("/mcp/api/code", &ann)],
        [200, 404, 200]
    );
    let listed = service.send("GET", "/tokens", &ann, "").is(200).json();
    assert_eq!(
        (listed[0]["id"].as_str(), &listed[0]["operations"]),
        (Some(id.as_str()), &json!(["search"])),
        "{listed}"
    );
    assert!(listed[0].get("token").is_none() && listed[0]["expires"].is_string(), "{listed}");
    assert_eq!(service.send("GET", "/tokens", &bob, "").is(200).json(), json!([]), "each sees its own");
    let refused = |token: &str, wanted: Value| service.reason("POST", "/tokens", token, &wanted.to_string());
    let wrong = || (422, "invalid_token_request".to_owned());
    for wanted in [
        json!({"operations": ["launch"]}),
        json!({"operations": ["admin:read"]}),
        json!({"operations": ["nothing"]}),
        json!({"expires_in_s": 3_601}),
        json!({"expires_in_s": 0}),
        json!({"workspaces": ["a/b"]}),
        json!({"tenant": "team-b"}),
        json!([["web"], ["lsp"], 60]),
    ] {
        assert_eq!(refused(&ann, wanted.clone()), wrong(), "{wanted}");
    }
    assert_eq!(refused(&job, json!({})), wrong(), "a minted token mints none");
    let removal = format!("/tokens/{id}");
    assert_eq!(service.reason("DELETE", &removal, &bob, ""), (404, "unknown_token".to_owned()));
    assert_eq!(service.reason("DELETE", "/tokens/0123456789", &ann, ""), (404, "unknown_token".to_owned()));
    assert_eq!(service.reason("PUT", "/tokens", &ann, ""), (405, "token_method_not_allowed".to_owned()));
    for (method, path) in [("GET", "/tokens"), ("PUT", "/tokens"), ("DELETE", "/tokens/garbage")] {
        assert_eq!(service.reason(method, path, "none", ""), (401, "bearer_required".to_owned()), "{method} {path}");
    }
    service.send("DELETE", &removal, &ann, "").is(204);
    assert_eq!(status("/mcp/web/code", &job), 401, "from the next request on");
    let (job, _) = service.mint(&ann, &json!({}));
    assert_eq!(status("/mcp/api/agent", &job), 200);
    let rows = || service.sandbox.run(&["token", "list", "--json"]).code(0).json();
    let minted = rows().as_array().unwrap().iter().find(|row| row["minted_from"].is_string()).unwrap()["id"].clone();
    let shown = service.sandbox.run(&["token", "show", minted.as_str().unwrap()]).code(0).stdout;
    assert!(shown.contains("the workspaces of the token that it was minted from"), "{shown}");
    service.sandbox.run(&["token", "rotate", minted.as_str().unwrap()]).code(2).says(&["was minted from"]);
    // Who mints tokens of a name doesn't keep an operator from removing the name's own.
    service.sandbox.run(&["token", "remove", "team-a/ann"]).code(0);
    assert_eq!([status("/mcp/web/code", &ann), status("/mcp/web/code", &job)], [401, 401]);
    assert!(rows().as_array().unwrap().iter().all(|row| row["name"] != "team-a/ann"), "none is left");
    assert_eq!(service.serving.stop(Signal::TERM), 0);
}

#[test]
fn a_removed_token_ends_what_is_open() {
    let service = Service::begin();
    let ann = service.token(&["ann", "--tenant", "team-a"]);
    let mut subscription = Subscription::open(&service.serving.address, "/mcp/web/agent", &ann);
    service.sandbox.run(&["token", "remove", "team-a/ann"]).code(0);
    assert!(until(10_000, || subscription.has_ended()), "{subscription:?}");
    assert_eq!(service.serving.stop(Signal::TERM), 0);
}
