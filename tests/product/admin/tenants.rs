//! Tenants: what a caller may not see is answered like what isn't there, at every endpoint, tool and route, and by every id.
//!
//! The table comes from the routes and the catalogs: a new tool or parameter fails here until it has a value.

use codeyard_catalog::CatalogId;
use codeyard_server::admin::routes::ROUTES;
use rustix::process::Signal;
use serde_json::{Map, Value, json};

use crate::admin::wire::{Answer, Way};
use crate::cli::harness::{Sandbox, ServeProcess};
use crate::mcp::until;

/// What belongs to `team-a`, and what isn't there, in texts of the same length.
const THEIRS: [(&str, &str); 4] =
    [("team-a", "team-x"), ("alphalab", "absntlab"), ("alphadir", "absntdir"), ("alpha_secret", "absnt_secret")];

/// Tools that begin a run of something outside, and so name nothing of another tenant.
const STARTS: [&str; 3] =
    ["launch_start_run", "launch_start_run_from_product_url", "launch_start_run_from_github_repo_url"];

/// Parameters that name nothing, and so can't name anything of another tenant.
const NAMELESS: [&str; 24] = [
    "operation", "position", "line", "character", "includeDeclaration", "pageSize", "format", "preview", "pageChars",
    "mode", "case", "word", "context_lines", "offset", "length", "limit", "detail_level", "compact",
    "freshness_policy", "ranking_explain_level", "confirm", "debug", "force", "depth",
];

/// A server with a workspace `shop` of three tenants, and the workspace `alphalab` of `team-a`.
struct Service {
    sandbox: Sandbox,
    config: String,
    admin: String,
    serving: ServeProcess,
}

impl Service {
    fn begin() -> Self {
        let sandbox = Sandbox::new();
        for folder in ["alphadir", "alphashop", "betashop"] {
            std::fs::create_dir(sandbox.path(folder)).unwrap();
        }
        for (file, text) in [
            ("alphadir/a.tiny", "def alpha_secret\ndef alpha_secret_too\nuse alpha_secret\n"),
            ("alphashop/a.tiny", "def alpha_secret\n"),
            ("betashop/a.tiny", "def beta\nuse beta\n"),
            ("alphadir/secret.py", "def alpha_secret():\n    pass\n"),
            ("betashop/plain.py", "def beta():\n    pass\n"),
        ] {
            std::fs::write(sandbox.path(file), text).unwrap();
        }
        let workspace = |name: &str, folder: &str| {
            format!("[[workspace]]\nname = \"{name}\"\nroots = [\"{folder}\"]\nisolation = \"trusted\"\n")
        };
        let config = sandbox.configure(&format!(
            "[admin]\nlisten = \"127.0.0.1:0\"\n[syntactic]\nmode = \"off\"\n[groups.alphas]\nworkspaces = [\"alpha*\"]\n{}{}{}{}",
            workspace("shop", "repo"),
            workspace("team-a/alphalab", "alphadir"),
            workspace("team-a/shop", "alphashop"),
            workspace("team-b/shop", "betashop"),
        ));
        let (serving, admin) = serve(&sandbox, &config);
        Self { sandbox, config, admin, serving }
    }

    fn restart(self) -> Self {
        assert_eq!(self.serving.stop(Signal::TERM), 0);
        let (serving, admin) = serve(&self.sandbox, &self.config);
        Self { serving, admin, ..self }
    }

    fn token(&self, words: &[&str]) -> String {
        self.sandbox.run(&[&["token", "add"], words].concat()).code(0).stdout.trim().to_owned()
    }

    fn admin(&self, method: &str, path: &str, token: &str) -> Answer {
        let authorization = format!("Authorization: Bearer {token}");
        Way::Tcp(self.admin.clone()).send(method, path, &[&authorization, "Content-Type: application/json"], "")
    }

    /// A request of the revision that the endpoint speaks: `lsp-v1` and `lsp-v1-safe` have sessions, the others need none.
    fn ask(&self, path: &str, token: Option<&str>, method: &str, params: Value) -> Answer {
        let has_session = path.contains("lsp-v1") || path.matches('/').count() < 3;
        if has_session {
            self.ask_in_session(path, token, method, &params)
        } else {
            self.ask_alone(path, token, method, params)
        }
    }

    fn ask_in_session(&self, path: &str, token: Option<&str>, method: &str, params: &Value) -> Answer {
        let mut headers = vec![
            "Content-Type: application/json".to_owned(),
            "Accept: application/json, text/event-stream".to_owned(),
            "MCP-Protocol-Version: 2025-11-25".to_owned(),
        ];
        headers.extend(token.map(|token| format!("Authorization: Bearer {token}")));
        let send = |headers: &[String], method: &str, params: &Value| {
            let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
            Way::Tcp(self.serving.address.clone()).send("POST", path, &headers, &body)
        };
        let info = json!({"name": "test", "version": "1"});
        let begin = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        let begun = send(&headers, "initialize", &begin);
        let Some(session) = begun.header("mcp-session-id") else { return begun };
        headers.push(format!("Mcp-Session-Id: {session}"));
        send(&headers, method, params)
    }

    fn ask_alone(&self, path: &str, token: Option<&str>, method: &str, mut params: Value) -> Answer {
        let version = "io.modelcontextprotocol/protocolVersion";
        let capabilities = "io.modelcontextprotocol/clientCapabilities";
        params["_meta"] = json!({version: "2026-07-28", capabilities: {}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let mut headers = vec![
            "Content-Type: application/json".to_owned(),
            "Accept: application/json, text/event-stream".to_owned(),
            "MCP-Protocol-Version: 2026-07-28".to_owned(),
            format!("Mcp-Method: {method}"),
        ];
        headers.extend(token.map(|token| format!("Authorization: Bearer {token}")));
        headers.extend(params["name"].as_str().map(|name| format!("Mcp-Name: {name}")));
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        Way::Tcp(self.serving.address.clone()).send("POST", path, &headers, &body)
    }

    fn call(&self, path: &str, token: &str, tool: &str, arguments: &Value) -> Answer {
        self.ask(path, Some(token), "tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The answer of a tool, repeated until it is one.
    fn answered(
        &self,
        path: &str,
        token: &str,
        tool: &str,
        arguments: &Value,
        is_done: impl Fn(&Value) -> bool,
    ) -> Value {
        let mut last = Value::Null;
        let done = until(30_000, || {
            last = self.call(path, token, tool, arguments).json()["result"]["structuredContent"].take();
            is_done(&last)
        });
        assert!(done, "{tool} {arguments}: {last}");
        last
    }
}

fn serve(sandbox: &Sandbox, config: &str) -> (ServeProcess, String) {
    let serving = sandbox.serve(&["--config", config]);
    let log = serving.log();
    let admin =
        log.lines().find_map(|line| line.strip_prefix("admin API at http://")).unwrap_or_else(|| panic!("{log}"));
    let admin = admin.split('/').next().unwrap().to_owned();
    (serving, admin)
}

/// The text with what belongs to `team-a` replaced by what isn't there.
fn absent(text: &str) -> String {
    THEIRS.iter().fold(text.to_owned(), |text, (theirs, absent)| text.replace(theirs, absent))
}

/// Asserts that two answers come to differ in no more than the names that were asked for. What differs because a server is just starting
/// doesn't stay.
#[track_caller]
fn assert_same(what: &str, theirs: impl Fn() -> Answer, none: impl Fn() -> Answer) -> Answer {
    let mut last = [theirs(), none()];
    let is_same = until(5_000, || {
        last = [theirs(), none()];
        same_text(&last[0]) == same_text(&last[1])
    });
    let [theirs, none] = last;
    assert!(is_same, "{what}: {} {}", same_text(&theirs), same_text(&none));
    theirs
}

/// The answer without times and numbers of jobs, and with what isn't there in place of what is another tenant's.
fn same_text(answer: &Answer) -> String {
    let head: Vec<&str> = answer.head.lines().filter(|line| !line.to_lowercase().starts_with("date:")).collect();
    let digits = |c: char| c.is_ascii_hexdigit() || c == '-';
    let after_mark = |text: &str, mark: &str| {
        let parts: Vec<&str> = text.split(mark).collect();
        let rest = parts.iter().skip(1).map(|part| format!("{mark}{}", part.trim_start_matches(digits)));
        format!("{}{}", parts[0], rest.collect::<String>())
    };
    let body = after_mark(&after_mark(&answer.body, "\"uptime_seconds\":"), "job-");
    absent(&format!("{}\n{body}", head.join("\n")))
}

/// Something of `team-a` that a caller may hold: cursors and ids.
struct Held {
    cursors: Vec<String>,
    ids: Map<String, Value>,
}

/// Lets `team-a` use its workspaces, and returns what its answers gave it.
fn use_as(service: &Service, ann: &str) -> Held {
    let path = "/mcp/alphalab/lsp-v1";
    let uri = format!("file://{}", service.sandbox.path("alphadir/a.tiny").display());
    let hover = json!({"uri": uri, "position": {"line": 0, "character": 5}});
    service.answered(path, ann, "vscode.lsp.hover", &hover, |found| {
        found["contents"].to_string().contains("alpha_secret")
    });
    let code = "/mcp/alphalab/code";
    service.call(code, ann, "index_repo", &json!({}));
    let asked = json!({"name": "alpha_secret"});
    let found = service.answered(code, ann, "locate_symbol", &asked, |found| found["results"][0].is_object());
    let row = found["results"][0].as_object().unwrap();
    let ids = row.iter().filter(|(key, _)| key.ends_with("_id")).map(|(key, value)| (key.clone(), value.clone()));
    let ids: Map<String, Value> = ids.collect();
    assert!(ids.contains_key("symbol_id") && ids.contains_key("result_id"), "{found}");
    let page = json!({"operation": "workspaceSymbol", "query": "", "pageChars": 1_000});
    let text = service.call("/mcp/alphalab/agent", ann, "lsp", &page).body;
    let cursors =
        text.split("\\\"").chain(text.split('"')).filter(|part| part.len() > 40 && !part.contains([' ', '/']));
    let mut cursors: Vec<String> = cursors.map(str::to_owned).collect();
    cursors.push("bm90IGEgY3Vyc29y".to_owned());
    Held { cursors, ids }
}

/// The values by which a parameter can name something of `team-a`.
fn values(parameter: &str, service: &Service, held: &Held) -> Vec<Value> {
    let file = service.sandbox.path("alphadir/a.tiny").display().to_string();
    match parameter {
        "workspace" => ["alphalab", "team-a/alphalab", "alpha*", "alphadir"].map(Value::from).into(),
        "uri" => vec![json!(format!("file://{file}"))],
        "filePath" | "path" => vec![json!(file), json!("../alphadir/a.tiny"), json!("alphalab/a.tiny")],
        "paths" => vec![json!([file]), json!(["alphadir/**"])],
        "query" => ["alpha_secret", "repo:alphalab alpha_secret", "repo:team-a/alphalab x"].map(Value::from).into(),
        "name" => vec![json!("alpha_secret")],
        "run_id" => vec![json!("run_0000000000000000000000000001")],
        "cursor" => held.cursors.iter().map(|cursor| json!(cursor)).collect(),
        "symbol_id" | "symbol_stable_id" | "result_id" => {
            vec![held.ids.get(parameter).cloned().unwrap_or(json!("sym.x"))]
        }
        "ref" => vec![json!("alphalab")],
        "artifact_name" => vec![json!("events.ndjson")],
        "filter" => vec![json!({"product_slug": "alphalab"})],
        "language" | "kind" => vec![],
        named if NAMELESS.contains(&named) => vec![],
        unknown => panic!("say by which values `{unknown}` can name something of another tenant"),
    }
}

/// A value of a required parameter that names nothing.
fn plain(parameter: &str, service: &Service) -> Value {
    match parameter {
        "uri" => json!(format!("file://{}", service.sandbox.path("betashop/a.tiny").display())),
        "position" => json!({"line": 0, "character": 5}),
        "query" | "name" => json!("beta"),
        "path" => json!("plain.py"),
        "operation" => json!("hover"),
        "run_id" => json!("run_0000000000000000000000000009"),
        "artifact_name" => json!("events.ndjson"),
        unknown => panic!("say what a call without names gives for `{unknown}`"),
    }
}

/// All calls of a tool that name something of `team-a` in one parameter.
fn calls(tool: &Value, service: &Service, held: &Held) -> Vec<Value> {
    let name = tool["name"].as_str().unwrap();
    let schema = &tool["inputSchema"];
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut bare: Map<String, Value> = required.iter().map(|key| ((*key).to_owned(), plain(key, service))).collect();
    if name == "lsp" {
        bare.extend([
            ("filePath".to_owned(), json!("a.tiny")),
            ("line".to_owned(), json!(1)),
            ("character".to_owned(), json!(5)),
        ]);
    }
    let mut all = Vec::new();
    for parameter in schema["properties"].as_object().unwrap().keys() {
        for value in values(parameter, service, held) {
            let mut call = bare.clone();
            if let (true, "symbol_id" | "symbol_stable_id" | "result_id") =
                (name == "locate_symbol", parameter.as_str())
            {
                call.remove("name");
            }
            if name == "locate_symbol" && parameter == "workspace" {
                call.insert("name".to_owned(), json!("beta"));
            }
            if let ("lsp", "query" | "cursor") = (name, parameter.as_str()) {
                call = Map::from_iter([
                    ("operation".to_owned(), json!("workspaceSymbol")),
                    ("query".to_owned(), json!("beta")),
                ]);
            }
            call.insert(parameter.clone(), value);
            all.push(Value::Object(call));
        }
    }
    all
}

/// Every endpoint by every name, for a caller that may not see `alphalab`.
fn check_endpoints(service: &Service, token: Option<&str>) {
    let mut catalogs = vec![String::new(), "/agent+code".to_owned(), "/nonesuch".to_owned()];
    catalogs.extend(CatalogId::ALL.iter().map(|id| format!("/{}", id.as_str())));
    for workspace in ["alphalab", "team-a", "team-a/alphalab", "team-a%2Falphalab", "%61lphalab"] {
        for catalog in &catalogs {
            for method in ["tools/list", "server/discover", "tools/call", "subscriptions/listen"] {
                let path = format!("/mcp/{workspace}{catalog}");
                let params = || json!({"name": "lsp", "arguments": {}});
                let ask = |path: &str| service.ask(path, token, method, params());
                let theirs = assert_same(&format!("{path} {method}"), || ask(&path), || ask(&absent(&path)));
                assert!(theirs.status >= 400, "{path}: {theirs:?}");
            }
        }
    }
    for path in ["/mcp/@alphas/code", "/mcp/@alphas"] {
        let ask = |path: &str| service.ask(path, token, "tools/list", json!({}));
        assert_same(path, || ask(path), || ask(&path.replace("alphas", "absent")));
    }
}

/// Every tool of every catalog at the endpoints of `team-b`, with names and ids of `team-a`.
fn check_tools(service: &Service, token: &str, held: &Held) {
    let mut asked = 0;
    let own = CatalogId::ALL.iter().map(|id| format!("/mcp/shop/{}", id.as_str()));
    for path in own.chain(["/mcp/@all/code".to_owned()]) {
        let list = service.ask(&path, Some(token), "tools/list", json!({})).is(200).json();
        let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{path}: {list}")).clone();
        for tool in tools.iter().filter(|tool| !STARTS.iter().any(|start| tool["name"] == *start)) {
            let name = tool["name"].as_str().unwrap();
            for arguments in calls(tool, service, held) {
                let none: Value = serde_json::from_str(&absent(&arguments.to_string())).unwrap();
                let ask = |arguments: &Value| service.call(&path, token, name, arguments);
                assert_same(&format!("{path} {name} {arguments}"), || ask(&arguments), || ask(&none));
                asked += 1;
            }
        }
    }
    assert!(asked > 60, "{asked}");
}

/// Every route of the admin API, for an administrator of `team-b`.
fn check_routes(service: &Service, token: &str) {
    for route in ROUTES {
        let named = |workspace: &str| {
            route.path.replace("{name}", workspace).replace("{workspace}", workspace).replace("{id}", "tiny-1")
        };
        for workspace in ["team-a%2Falphalab", "team-a%2Fshop", "shop", "alphalab"] {
            let none = if workspace == "shop" { "nope".to_owned() } else { absent(workspace) };
            let none = none.replace("team-x%2Fshop", "team-x%2Fnope");
            let ask = |workspace: &str| service.admin(route.method, &named(workspace), token);
            let theirs = match route.path.contains('{') {
                false => ask(workspace),
                true => {
                    let what = format!("{} {}", route.method, named(workspace));
                    let theirs = assert_same(&what, || ask(workspace), || ask(&none));
                    assert!(theirs.status >= 400, "{theirs:?}");
                    theirs
                }
            };
            let leaks = THEIRS.iter().any(|(theirs_text, _)| theirs.body.contains(theirs_text));
            assert!(!leaks, "{} {}: {}", route.method, route.path, theirs.body);
        }
    }
    let workspaces = service.admin("GET", "/admin/v1/workspaces", token).is(200).json();
    let names: Vec<&Value> = workspaces["workspaces"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["team-b/shop"]);
    for path in ["/admin/v1/service", "/metrics", "/readyz"] {
        let ask = |path: &str| service.admin("GET", path, token);
        assert_same(path, || ask(path), || ask("/admin/v1/nothing"));
    }
}

#[test]
fn another_tenants_workspaces_are_not_there() {
    let mut service = Service::begin();
    let ann = service.token(&["ann", "--tenant", "team-a"]);
    let bob = service.token(&["bob", "--tenant", "team-b"]);
    let narrow = service.token(&["eve", "--tenant", "team-a", "--workspace", "team-a/shop"]);
    let nobody = service.token(&["nobody", "--tenant", "team-c"]);
    let scraper = service.token(&["scraper", "--probes"]);
    let operator = service.token(&["ops", "--admin"]);
    let of_team = service.token(&["lead", "--admin", "--tenant", "team-b"]);
    let reader = service.token(&["reader", "--admin", "--tenant", "team-b", "--operation", "admin:read"]);
    // Cold: nobody has asked anything.
    let others = [&bob, &narrow, &nobody, &service.serving.token.clone(), &scraper, &operator, &of_team];
    let check_all = |service: &Service| {
        others.iter().for_each(|token| check_endpoints(service, Some(token)));
        check_endpoints(service, None);
        check_routes(service, &of_team);
        check_routes(service, &reader);
        for token in [&ann, &bob, &scraper] {
            service.admin("GET", "/admin/v1/workspaces", token).is(401);
        }
    };
    check_all(&service);
    // Warm, and after a restart.
    for round in 0..2 {
        let held = use_as(&service, &ann);
        let own = json!({"operation": "hover", "filePath": "a.tiny", "line": 1, "character": 5});
        let is_own = |text: &str| text.contains("tiny says: def beta");
        assert!(
            until(30_000, || is_own(&service.call("/mcp/shop/agent", &bob, "lsp", &own).body)),
            "the same name is its own"
        );
        service.call("/mcp/shop/code", &bob, "index_repo", &json!({}));
        service.answered("/mcp/shop/code", &bob, "locate_symbol", &json!({"name": "beta"}), |found| {
            found["results"][0].is_object()
        });
        check_all(&service);
        check_tools(&service, &bob, &held);
        let listed = service.call("/mcp/@all/code", &bob, "index_status", &json!({})).body;
        assert!(listed.contains("shop") && THEIRS.iter().all(|(text, _)| !listed.contains(text)), "{listed}");
        if round == 0 {
            service = service.restart();
        }
    }
    let all = service.admin("GET", "/admin/v1/workspaces", &operator).is(200).body;
    assert!(["\"shop\"", "team-a/alphalab", "team-b/shop"].iter().all(|name| all.contains(name)), "{all}");
    service.admin("POST", "/admin/v1/servers/team-b%2Fshop/tiny-1/restart", &reader).problem(403);
    let watcher = service.token(&["watcher", "--admin", "--operation", "admin:read"]);
    service.admin("GET", "/admin/v1/service", &watcher).is(200);
    service.admin("DELETE", "/admin/v1/workspaces/shop", &watcher).problem(403);
    service.sandbox.run(&["token", "add", "x", "--admin", "--tenant", "default"]).code(2).says(&["--workspace '*'"]);
    let of_default = service.token(&["x", "--admin", "--workspace", "*"]);
    let seen = service.admin("GET", "/admin/v1/workspaces", &of_default).is(200).json();
    assert_eq!(seen["workspaces"].as_array().map(Vec::len), Some(1), "{seen}");
    service.admin("GET", "/admin/v1/service", &of_default).problem(404);
    assert_eq!(service.serving.stop(Signal::TERM), 0);
}

#[test]
fn a_token_allows_its_operations_and_says_so() {
    let service = Service::begin();
    let searcher = service.token(&["bob", "--tenant", "team-b", "--operation", "search", "--expires", "90d"]);
    let listed = service.sandbox.run(&["token", "list", "--json"]).code(0).json();
    let id = listed.as_array().unwrap().iter().find(|row| row["name"] == "team-b/bob").unwrap()["id"].clone();
    let shown = service.sandbox.run(&["token", "show", id.as_str().unwrap()]).code(0).stdout;
    for words in ["principal `bob` in the tenant `team-b`", "all workspaces", "search", "is refused from 20"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!shown.contains("launch"), "{shown}");
    let tools = |path: &str| {
        let list = service.ask(path, Some(&searcher), "tools/list", json!({})).is(200).json();
        let tools = list["result"]["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(tools("/mcp/shop/agent"), Vec::<String>::new());
    assert!(tools("/mcp/shop/agent+code").contains(&"search_code".to_owned()));
    assert!(!tools("/mcp/shop/code").contains(&"index_repo".to_owned()));
    let hover = json!({"operation": "hover", "filePath": "a.tiny", "line": 1, "character": 5});
    let refused = service.call("/mcp/shop/agent", &searcher, "lsp", &hover).is(200).json();
    let text = refused["result"].to_string();
    assert!(
        refused["result"]["isError"] == true && text.contains("`lsp`") && text.contains("codeyard token show"),
        "{text}"
    );
    let sandbox = &service.sandbox;
    sandbox.run(&["token", "add", "x", "--operation", "lps"]).code(2).says(&["`lps` is no operation", "lsp, search"]);
    sandbox.run(&["token", "add", "x", "--operation", "admin:read"]).code(2).says(&["--admin"]);
    sandbox.run(&["token", "add", "x", "--workspace", "team-a/*"]).code(2).says(&["--tenant team-a"]);
    sandbox.run(&["token", "add", "a/b"]).code(1).says(&["--tenant"]);
    sandbox.run(&["token", "add", "x", "--tenant", "A"]).code(2).says(&["name of a tenant"]);
    assert_eq!(service.serving.stop(Signal::TERM), 0);
}
