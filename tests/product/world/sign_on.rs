//! Sign-on with a real authorization server behind TLS: the official clients go from no token to a call, and to a wider token where a call
//! needs it.

use std::path::Path;
use std::process::Command;

use codeyard_test_support::certificates::Authority;
use serde_json::{Value, json};

use crate::running_server::codeyard;
use crate::world::parts::{node, npm_packages, python_packages};
use crate::world::program::{Service, run_well};

const AUTHORIZATION_SERVER: &str = "oidc-provider@9.13.3";
/// Packages of TypeScript clients.
const TYPESCRIPT: [(&str, &str, &str); 2] = [
    ("ts-1.32", "@modelcontextprotocol/sdk", "@modelcontextprotocol/sdk@1.32.2"),
    ("ts-2", "@modelcontextprotocol/client", "@modelcontextprotocol/client@2.4.0"),
];
const PYTHON: (&str, &str) = ("py-2", "mcp==2.3.0");
/// What a client calls: the first tool with its first token, the second with a wider one.
const CALLS: [&str; 4] = ["index_status", "{}", "launch_list_runs", "{}"];

fn script(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/world/clients").join(name)
}

/// What a client prints, and whose asked scopes begin with these.
fn assert_signed_on(client: &str, command: &mut Command, address: &str) {
    let printed = run_well(command);
    let seen: Value = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{client}: {error}: {printed}"));
    let answers = json!([{"tool": "index_status", "isError": false}, {"tool": "launch_list_runs", "isError": false}]);
    assert_eq!(seen["answers"], answers, "{client}: {seen}");
    // The user agrees to `launch` the second time only.
    assert_eq!(seen["resources"], json!([address, address]), "{client}: {seen}");
    for scope in seen["scopes"].as_array().expect("a list") {
        let scope = scope.as_str().expect("a text");
        assert!(["lsp", "search index launch"].iter().any(|start| scope.starts_with(start)), "{client}: {seen}");
    }
    let tools = seen["tools"].as_array().expect("a list");
    assert!(tools.contains(&json!("launch_list_runs")) && tools.contains(&json!("search_code")), "{client}: {seen}");
}

#[test]
#[ignore = "slow: fetches an authorization server and clients from npm and PyPI"]
fn official_clients_sign_on_and_ask_for_a_wider_token() {
    let folder = tempfile::tempdir().expect("a folder");
    let authority = Authority::new("authority of the test");
    let (certificate, key) = authority.issue(&["localhost", "127.0.0.1"]).write(folder.path());
    let authorities = folder.path().join("authorities.pem");
    std::fs::write(&authorities, &authority.pem).expect("a file");
    let packages = npm_packages("authorization-server", &[AUTHORIZATION_SERVER]);
    let provider = Service::start(
        1,
        |ports| {
            let mut command = node();
            command
                .arg(script("authorization_server.mjs"))
                .arg(&packages)
                .arg(ports[0].to_string())
                .arg("team-a,others");
            command.arg(&certificate).arg(&key);
            command
        },
        |ports| std::net::TcpStream::connect(("127.0.0.1", ports[0])).is_ok(),
    );
    let root = folder.path().join("root");
    std::fs::create_dir(&root).expect("a folder");
    std::fs::write(root.join("a.py"), "def shelf(): pass\n").expect("a file");
    let file = folder.path().join("codeyard.toml");
    let yard = Service::start(
        1,
        |ports| {
            // Clients compare the resource with the address that they call, so the port is known before.
            let configuration = format!(
                "[server]\nlisten = \"127.0.0.1:{port}\"\npublic_url = \"https://localhost:{port}\"\n\
                 [server.tls]\ncertificate = {certificate:?}\nkey = {key:?}\n\
                 [issuers.corp]\nurl = \"https://localhost:{}\"\nauthorities = {authorities:?}\n\
                 [[issuers.corp.callers]]\nclaim = \"groups\"\nis = \"team-a\"\ntenant = \"team-a\"\n\
                 [[workspace]]\nname = \"team-a/web\"\nroots = [{root:?}]\n",
                provider.port(0),
                port = ports[0]
            );
            std::fs::write(&file, configuration).expect("a file");
            let mut command = codeyard("serve", &folder.path().join("state"));
            command.arg("--config").arg(&file);
            command
        },
        |ports| std::net::TcpStream::connect(("127.0.0.1", ports[0])).is_ok(),
    );
    let address = format!("https://localhost:{}/mcp/web/code+launch", yard.port(0));
    for (name, package, pin) in TYPESCRIPT {
        let mut command = node();
        command.arg(script("sign_on.mjs")).arg(npm_packages(name, &[pin])).args([package, &address]).args(CALLS);
        assert_signed_on(name, command.env("NODE_EXTRA_CA_CERTS", &authorities), &address);
    }
    let (name, pin) = PYTHON;
    let mut command = python_packages(name, &[pin]);
    command.arg(script("sign_on.py")).arg(&address).args(CALLS).env("SSL_CERT_FILE", &authorities);
    assert_signed_on(name, &mut command, &address);
    yard.stop();
    provider.stop();
}
