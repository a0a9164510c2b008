//! `/livez`, `/readyz` and `/metrics` on the main listener: programs on this machine, named networks, tokens; `codeyard health`.

use rustix::process::Signal;
use serde_json::json;

use crate::admin::wire::Way;
use crate::cli::harness::Sandbox;
use crate::mcp::until;

#[test]
fn probes_answer_local_programs_only() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    let way = Way::Tcp(serving.address.clone());
    assert_eq!(way.get("/livez").is(200).json(), json!({"live": true}));
    assert_eq!(way.get("/readyz").is(200).json(), json!({"ready": true, "failing": [], "degraded": []}));
    let uri = json!({"uri": format!("file://{}", sandbox.path("repo/a.tiny").display())});
    serving.client("repo").ask("vscode.lsp.documentSymbols", &uri).unwrap();
    let metrics = way.get("/metrics").is(200);
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    assert!(metrics.body.contains("documentSymbols"), "{metrics:?}");
    assert!(!metrics.body.contains(&sandbox.path("").display().to_string()), "no path: {metrics:?}");
    let unknown = way.get("/elsewhere");
    for path in ["/livez", "/readyz", "/metrics"] {
        for header in [
            "Host: evil.example",
            "X-Forwarded-For: 127.0.0.1",
            "x-forwarded-host: localhost",
            "Forwarded: for=127.0.0.1",
            "Via: 1.1 proxy",
            "CF-Connecting-IP: 127.0.0.1",
            "True-Client-IP: 127.0.0.1",
            "X-Client-IP: 127.0.0.1",
            "X-Original-Forwarded-For: 127.0.0.1",
            "X-Envoy-External-Address: 127.0.0.1",
            "Fly-Client-IP: 127.0.0.1",
            "Origin: http://evil.example",
        ] {
            let answer = way.send("GET", path, &[header], "");
            assert_eq!((answer.status, &answer.body), (404, &unknown.body), "{path} {header}");
        }
        let old = way.raw(&format!("GET {path} HTTP/1.0\r\nHost: {}\r\nConnection: close\r\n\r\n", serving.address));
        assert_eq!((old.status, &old.body), (404, &unknown.body), "{path}: as proxies ask that add no header");
        assert_eq!(way.send("POST", path, &[], "").body, unknown.body);
        assert_eq!(way.send("HEAD", path, &[], "").status, 200);
        for near in ["/", "x", "/x"] {
            assert_eq!(way.get(&format!("{path}{near}")).status, 404);
        }
    }
    assert_eq!(serving.stop(Signal::TERM), 0);
}

/// The same client as one of a network, because it names the server by an address that isn't a loopback one.
const ADDRESS: &str = "Host: 192.0.2.1";

#[test]
fn clients_of_named_networks_need_no_token() {
    let sandbox = Sandbox::new();
    let file = sandbox
        .configure("[probes]\nnetworks = [\"127.0.0.0/8\"]\n[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n");
    let serving = sandbox.serve(&["--config", &file]);
    let way = Way::Tcp(serving.address.clone());
    for path in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(way.send("GET", path, &[ADDRESS], "").status, 200, "{path}");
        assert_eq!(way.send("GET", path, &["Host: evil.example"], "").status, 404, "a name, as a web page sends it");
        for header in ["X-Forwarded-For: 127.0.0.1", "Origin: http://evil.example"] {
            assert_eq!(way.send("GET", path, &[ADDRESS, header], "").status, 404, "{path} {header}");
        }
    }
    assert_eq!(serving.stop(Signal::TERM), 0);
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    let status = Way::Tcp(serving.address.clone()).send("GET", "/livez", &[ADDRESS], "").status;
    assert_eq!(status, 404, "no network is named");
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn programs_on_this_machine_need_a_token_if_the_operator_says_so() {
    let sandbox = Sandbox::new();
    let file = sandbox.configure("[probes]\nlocal = false\n[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n");
    let serving = sandbox.serve(&["--config", &file]);
    let way = Way::Tcp(serving.address.clone());
    let bearer =
        format!("Authorization: Bearer {}", sandbox.run(&["token", "add", "--probes", "s"]).code(0).stdout.trim());
    for path in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(way.get(path).status, 404, "{path}");
        assert!(until(10_000, || way.send("GET", path, &[&bearer], "").status == 200), "{path}");
    }
    sandbox.run(&["health"]).code(0);
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn a_token_of_the_probes_opens_them_and_nothing_else() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    let way = Way::Tcp(serving.address.clone());
    let added = sandbox.run(&["token", "add", "--probes", "scraper"]).code(0);
    let bearer = format!("Authorization: Bearer {}", added.stdout.trim());
    let remote = ["Host: metrics.example", "X-Forwarded-For: 192.0.2.9", bearer.as_str()];
    assert!(until(10_000, || way.send("GET", "/metrics", &remote, "").status == 200), "the token is not accepted");
    let wrong = ["Host: metrics.example", "Authorization: Bearer wrong"];
    assert_eq!(way.send("GET", "/metrics", &wrong, "").status, 404);
    let callers = format!("Authorization: Bearer {}", serving.token);
    assert_eq!(way.send("GET", "/metrics", &["Host: metrics.example", &callers], "").status, 404, "a caller's token");
    assert_eq!(serving.status("/mcp", added.stdout.trim()), 401, "no token of a caller");
    sandbox.run(&["token", "remove", "--probes", "scraper"]).code(0);
    assert!(until(10_000, || way.send("GET", "/metrics", &remote, "").status == 404), "the token is still accepted");
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn health_reports_the_running_server() {
    let sandbox = Sandbox::new();
    sandbox.run(&["health"]).code(3).says(&["codeyard serve"]);
    let both =
        "[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n[[workspace]]\nname = \"gone\"\nroots = [\"gone\"]\n";
    let serving = sandbox.serve(&["--config", &sandbox.configure(both)]);
    serving.wait_for("serving repo (default); 1 could not be opened");
    let ready = sandbox.run(&["health"]).code(0).stdout;
    assert!(ready.starts_with("ready\ndegraded: workspace_not_open workspace gone; `codeyard workspaces` "), "{ready}");
    assert!(sandbox.run(&["workspaces"]).code(0).stdout.contains("gone can't be opened"));
    assert_eq!(sandbox.run(&["health", "--live"]).code(0).stdout, "live\n");
    let json = sandbox.run(&["health", "--json"]).code(0);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let not_open = json!([{"check": "workspace_not_open", "workspace": "gone"}]);
    assert_eq!(json, json!({"ready": true, "failing": [], "degraded": not_open}));
    assert_eq!(serving.stop(Signal::TERM), 0);
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    assert_eq!(sandbox.run(&["health"]).code(0).stdout, "ready\n");
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn no_forwarding_header_and_no_other_scheme_opens_the_probes() {
    let sandbox = Sandbox::new();
    let file = sandbox.configure(
        "[probes]\nnetworks = [\"::ffff:127.0.0.0/104\"]\n[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n",
    );
    let serving = sandbox.serve(&["--config", &file]);
    let way = Way::Tcp(serving.address.clone());
    assert_eq!(way.send("GET", "/metrics", &[ADDRESS], "").status, 200, "a mapped network is the IPv4 one");
    // A header that names an allowed address must not open what the peer's address doesn't, and marks a proxy.
    for header in
        ["X-Forwarded-For: 10.0.0.1", "X-Real-IP: 127.0.0.1", "X-Forwarded-Proto: https", "Forwarded: for=10.0.0.1"]
    {
        assert_eq!(way.send("GET", "/metrics", &[ADDRESS, header], "").status, 404, "{header}");
    }
    let added = sandbox.run(&["token", "add", "--probes", "scraper"]).code(0).stdout.trim().to_owned();
    let remote = "Host: metrics.example";
    let bearer = format!("Authorization: Bearer {added}");
    assert!(until(10_000, || way.send("GET", "/metrics", &[remote, &bearer], "").status == 200));
    for wrong in [
        format!("Authorization: Basic {added}"),
        format!("Authorization: {added}"),
        format!("Authorization: Bearer {added}x"),
        format!("Authorization: Bearer {}", &added[1..]),
        "Authorization: Bearer ".to_owned(),
    ] {
        assert_eq!(way.send("GET", "/metrics", &[remote, &wrong], "").status, 404, "{wrong}");
    }
    assert_eq!(way.send("GET", "/metrics", &[remote, &bearer, &bearer], "").status, 404, "two of them");
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn health_without_its_socket_or_server_names_the_next_command() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    std::fs::remove_file(sandbox.path("state/run/admin.sock")).unwrap();
    for words in [&["health"][..], &["health", "--live"], &["health", "--json"]] {
        let ended = sandbox.run(words);
        assert!(ended.code == 3 || ended.code == 1, "{ended:?}");
        assert!(ended.stderr.contains("codeyard serve"), "{ended:?}");
    }
    assert_eq!(serving.stop(Signal::TERM), 0);
    // A killed server leaves its socket.
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    let socket = sandbox.path("state/run/admin.sock");
    assert!(socket.exists());
    drop(serving);
    assert!(socket.exists(), "a server that was killed couldn't remove it");
    sandbox.run(&["health"]).code(3).says(&["codeyard serve"]);
    sandbox.run(&["health", "--live"]).code(3);
}
