//! TLS and proxies of a running server: what it prints and measures, what `config check` says, and whose address is in the audit log.

use std::path::Path;

use codeyard_test_support::certificates::Authority;
use rustix::process::Signal;
use serde_json::Value;

use crate::admin::wire::Way;
use crate::cli::harness::{Sandbox, ServeProcess};
use crate::mcp::until;

const NAMES: &[&str] = &["localhost", "127.0.0.1"];

/// Serves on TLS, with the admin API on TLS too. `rest` follows the section `[server.tls]`.
fn serve(sandbox: &Sandbox, rest: &str) -> ServeProcess {
    let text = format!(
        "[admin]\nlisten = \"127.0.0.1:0\"\n[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n\
         [server.tls]\ncertificate = \"tls.crt\"\nkey = \"tls.key\"\n{rest}"
    );
    sandbox.serve(&["--config", &sandbox.configure(&text)])
}

/// The output of `codeyard call`, which trusts the authorities of a file.
fn call(sandbox: &Sandbox, url: &str, authorities: &Path, token: &str) -> (i32, String) {
    let mut command = sandbox.command(&["call", "documentSymbols", "{\"uri\": \"a.tiny\"}", "--url", url, "--json"]);
    let output = crate::cli::harness::run(command.env("SSL_CERT_FILE", authorities).env("CODEYARD_TOKEN", token));
    (output.code, output.stdout + &output.stderr)
}

#[test]
fn a_server_with_a_certificate_is_called_over_https() {
    let sandbox = Sandbox::new();
    let authority = Authority::new("servers");
    let other = Authority::new("others");
    authority.issue_until(NAMES, 2100).write(&sandbox.path(""));
    std::fs::write(sandbox.path("ca.pem"), &authority.pem).unwrap();
    std::fs::write(sandbox.path("other.pem"), &other.pem).unwrap();
    let serving = serve(&sandbox, "");
    let url = format!("https://{}/mcp/repo", serving.address);
    serving.wait_for("listening https://");
    serving.wait_for("admin API at https://");
    let answer = call(&sandbox, &url, &sandbox.path("ca.pem"), &serving.token);
    assert_eq!(answer.0, 0, "{}", answer.1);
    let refused = call(&sandbox, &url, &sandbox.path("other.pem"), &serving.token);
    assert!(refused.0 != 0 && refused.1.contains("SSL_CERT_FILE"), "{}", refused.1);
    let metrics = Way::local(&sandbox).get("/metrics").body;
    // The first of January 2100.
    assert!(metrics.contains("codeyard_tls_certificate_expiry_timestamp_seconds 4102444800"), "{metrics}");
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn callers_of_certificates_are_read_again_with_the_configuration() {
    let sandbox = Sandbox::new();
    let authority = Authority::new("all");
    authority.issue(NAMES).write(&sandbox.path(""));
    std::fs::write(sandbox.path("ca.pem"), &authority.pem).unwrap();
    std::fs::write(sandbox.path("own.pem"), authority.issue(&["ci.example.org"]).bundle()).unwrap();
    let caller = "client_ca = \"ca.pem\"\n[[server.tls.callers]]\nname = \"ci.example.org\"\nprincipal = \"ci\"\n";
    let serving = serve(&sandbox, caller);
    let url = format!("https://{}/mcp/repo", serving.address);
    let status = || {
        let ca = sandbox.path("ca.pem");
        let own = sandbox.path("own.pem");
        let command = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-X", "DELETE", "--cacert"];
        #[expect(clippy::disallowed_methods, reason = "a client")]
        let mut curl = std::process::Command::new("curl");
        curl.args(command).arg(ca).arg("--cert").arg(own).arg(&url);
        crate::cli::harness::run(&mut curl).stdout
    };
    assert_eq!(status(), "400", "a session is missing, and no token");
    let config = sandbox.path("codeyard.toml");
    let text = std::fs::read_to_string(&config).unwrap().replace("ci.example.org", "cd.example.org");
    std::fs::write(&config, text).unwrap();
    serving.signal(Signal::HUP);
    assert!(until(10_000, || status() == "401"), "{}", serving.log());
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn a_check_of_the_configuration_names_what_is_wrong_with_a_certificate() {
    let sandbox = Sandbox::new();
    let authority = Authority::new("servers");
    let check = |says: &str| {
        let config = sandbox.configure("[server.tls]\ncertificate = \"tls.crt\"\nkey = \"tls.key\"\n");
        let checked = sandbox.run(&["config", "check", &config]);
        assert!(checked.stderr.contains(says) == (checked.code == 1), "{checked:?}");
        checked.code
    };
    assert_eq!(check("cannot read"), 1);
    authority.issue(NAMES).write(&sandbox.path(""));
    assert_eq!(check("server.tls"), 0);
    std::fs::write(sandbox.path("tls.key"), authority.issue(NAMES).key).unwrap();
    assert_eq!(check("don't fit together"), 1);
    authority.issue_until(NAMES, 2020).write(&sandbox.path(""));
    assert_eq!(check("has ended on 2020-01-01"), 1);
}

#[test]
fn plain_http_beyond_loopback_needs_a_proxy() {
    let sandbox = Sandbox::new();
    let refused = sandbox.run(&["serve", "--root", ".", "--listen", "0.0.0.0:0"]).code(1);
    refused.says(&["server.tls.certificate", "--behind-proxy"]);
    for section in ["server", "admin"] {
        let config = sandbox.configure(&format!("[{section}]\nlisten = \"0.0.0.0:0\"\n"));
        let checked = sandbox.run(&["config", "check", &config]).code(1);
        checked.says(&[&format!("{section}.listen: "), "server.behind_proxy"]);
    }
    let mut open = sandbox.command(&["serve", "--config", &sandbox.configured(), "--listen", "0.0.0.0:0"]);
    open.args(["--behind-proxy", "10.0.0.0/8"]);
    assert_eq!(sandbox.served_by(open).stop(Signal::TERM), 0);
}

#[test]
fn the_audit_log_has_the_address_that_a_trusted_proxy_names() {
    let sandbox = Sandbox::new();
    let rest = "[server]\nbehind_proxy = [\"127.0.0.1\"]\n[admin]\nlisten = \"127.0.0.1:0\"\n[audit]\nenabled = true\n\
                [[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n";
    let serving = sandbox.serve(&["--config", &sandbox.configure(rest)]);
    let log = serving.log();
    let admin = log.lines().find_map(|line| line.strip_prefix("admin API at http://")).unwrap();
    let forwarded = "X-Forwarded-For: 9.9.9.9, 192.0.2.7";
    Way::Tcp(admin.split('/').next().unwrap().to_owned()).send("GET", "/admin/v1/workspaces", &[forwarded], "").is(401);
    Way::Tcp(serving.address.clone()).send("POST", "/mcp", &[forwarded], "").is(401);
    let stopped = serving.stop(Signal::TERM);
    let text = sandbox.run(&["audit", "export"]).code(0).stdout;
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |operation: &str| lines.iter().find(|line| line["operation"] == operation).unwrap_or(&Value::Null);
    assert_eq!((&of("GET")["from"], &of("POST")["from"]), (&"192.0.2.7".into(), &"192.0.2.7".into()), "{text}");
    assert_eq!(stopped, 0);
}
