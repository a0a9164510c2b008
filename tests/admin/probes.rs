//! `/livez`, `/readyz` and `/metrics` on the main listener answer only programs on this machine.

use rustix::process::Signal;
use serde_json::json;

use crate::harness::Sandbox;
use crate::wire::Way;

#[test]
fn probes_answer_local_programs_only() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    let way = Way::Tcp(serving.address.clone());
    assert_eq!(way.get("/livez").is(200).json(), json!({"live": true}));
    assert_eq!(way.get("/readyz").is(200).json(), json!({"ready": true, "failing": []}));
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
            "Origin: http://evil.example",
        ] {
            let answer = way.send("GET", path, &[header], "");
            assert_eq!((answer.status, &answer.body), (404, &unknown.body), "{path} {header}");
        }
        assert_eq!(way.send("POST", path, &[], "").body, unknown.body);
        assert_eq!(way.send("HEAD", path, &[], "").status, 200);
        for near in ["/", "x", "/x"] {
            assert_eq!(way.get(&format!("{path}{near}")).status, 404);
        }
    }
    assert_eq!(serving.stop(Signal::TERM), 0);
}
