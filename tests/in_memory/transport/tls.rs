//! TLS in front of a fake gateway: both versions of HTTP, files that change, certificates of callers, and headers of proxies.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use codeyard_config::CertificateCaller;
use codeyard_server::proxies::TrustedProxies;
use codeyard_server::tls::{CertificateCallers, CertificateFiles, ServerTls};
use codeyard_server::transport::http::{self, HttpOptions, HttpServerError};
use codeyard_test_support::certificates::{Authority, IssuedCertificate};
use reqwest::{Certificate, Client, Identity, RequestBuilder, Version};
use serde_json::{Value, json};

use crate::transport::fake::{Fake, until};
use crate::transport::wire::{AGENT, Server, initialize, server_with};

/// The names of the server's certificates.
const SERVER: &[&str] = &["localhost", "127.0.0.1"];

struct TlsServer {
    server: Server,
    tls: Arc<ServerTls>,
    folder: tempfile::TempDir,
}

impl TlsServer {
    /// A server whose certificate `authority` signs. `callers` are names of certificates and principals.
    async fn start(authority: &Authority, callers: Option<(&Authority, &[(&str, &str)])>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = authority.issue(SERVER).write(folder.path());
        let client_ca = callers.map(|(authority, _)| {
            std::fs::write(folder.path().join("callers.pem"), &authority.pem).unwrap();
            folder.path().join("callers.pem")
        });
        let entries = callers.map_or(vec![], |(_, names)| entries(names));
        let files = CertificateFiles { certificate, key, client_ca };
        let tls = ServerTls::open(files, CertificateCallers::new(&entries)).unwrap();
        let server = server_with(|options| options.tls = Some(tls.clone())).await;
        Self { server, tls, folder }
    }

    fn post(&self, client: &Client, message: &Value) -> RequestBuilder {
        let url = format!("https://localhost:{}{AGENT}", self.server.address.port());
        let accept = "application/json, text/event-stream";
        client.post(url).header("accept", accept).header("mcp-protocol-version", "2025-11-25").json(message)
    }

    /// Begins a session, with a token or without one, and returns its id.
    async fn session(&self, client: &Client, token: Option<&str>) -> Result<String, u16> {
        let mut request = self.post(client, &initialize());
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.map_err(|_| 0_u16)?;
        match answer.status().as_u16() {
            200 => Ok(answer.headers()["mcp-session-id"].to_str().unwrap().to_owned()),
            refused => Err(refused),
        }
    }
}

fn entries(names: &[(&str, &str)]) -> Vec<CertificateCaller> {
    let entry = |(name, principal): &(&str, &str)| CertificateCaller {
        name: (*name).to_owned(),
        tenant: "default".to_owned(),
        principal: (*principal).to_owned(),
        workspaces: vec!["main".to_owned()],
        operations: vec![],
    };
    names.iter().map(entry).collect()
}

/// A client that trusts one authority, with a certificate of its own or without one.
fn client(authority: &Authority, own: Option<&IssuedCertificate>, is_http1: bool) -> Client {
    rustls::crypto::ring::default_provider().install_default().ok();
    let mut builder = Client::builder().tls_certs_only([Certificate::from_pem(authority.pem.as_bytes()).unwrap()]);
    if let Some(own) = own {
        builder = builder.identity(Identity::from_pem(own.bundle().as_bytes()).unwrap());
    }
    if is_http1 {
        builder = builder.http1_only();
    }
    builder.build().unwrap()
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[tokio::test]
async fn calls_are_answered_over_both_versions_of_http() {
    let authority = Authority::new("servers");
    let served = TlsServer::start(&authority, None).await;
    for (is_http1, version) in [(true, Version::HTTP_11), (false, Version::HTTP_2)] {
        let client = client(&authority, None, is_http1);
        assert_eq!(served.session(&client, None).await, Err(401));
        let id = served.session(&client, Some(&served.server.token)).await.unwrap();
        let ask = |tool: &str, arguments: &Value| {
            let request = served.post(&client, &call(tool, arguments)).bearer_auth(&served.server.token);
            request.header("mcp-session-id", &id)
        };
        let large = ask("huge", &json!({"bytes": 500_000})).send().await.unwrap();
        assert_eq!((large.status().as_u16(), large.version()), (200, version));
        assert!(!large.headers().contains_key("connection"));
        assert!(large.text().await.unwrap().len() > 500_000);
        // More than are answered at a time over one connection with HTTP/2, and fewer connections than one client may open.
        let many = (0..100).map(|_| ask("echo", &json!({})).send());
        for answer in futures::future::join_all(many).await {
            assert_eq!(answer.unwrap().status(), 200);
        }
        let evil = ask("echo", &json!({})).header("host", "evil.example").send().await;
        assert!(evil.map_or(true, |answer| answer.status() == 403 || answer.status() == 400));
    }
    let plain = reqwest::get(format!("http://{}/mcp", served.server.address)).await;
    assert!(plain.is_err(), "there is no plain HTTP beside it");
    until(|| served.server.fake.counted.times("rejected tls_handshake") > 0).await;
}

#[tokio::test]
async fn a_changed_certificate_is_used_and_open_streams_go_on() {
    let old = Authority::new("old");
    let new = Authority::new("new");
    let served = TlsServer::start(&old, None).await;
    let client_of_old = client(&old, None, false);
    let id = served.session(&client_of_old, Some(&served.server.token)).await.unwrap();
    let mut slow = call("slow", &json!({"ms": 1_500}));
    slow["params"]["_meta"] = json!({"progressToken": "p"});
    let stream = served.post(&client_of_old, &slow).bearer_auth(&served.server.token).header("mcp-session-id", &id);
    let mut stream = stream.send().await.unwrap();
    assert!(String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()).contains("indexing"));

    let folder = served.folder.path();
    let is_new = async || served.session(&client(&new, None, false), Some(&served.server.token)).await.is_ok();
    let is_old = async || served.session(&client(&old, None, false), Some(&served.server.token)).await.is_ok();
    let issued = new.issue(SERVER);
    for (certificate, key) in [
        (issued.certificate.clone(), None),
        (issued.certificate[..issued.certificate.len() / 2].to_owned(), Some(issued.key.clone())),
        (String::new(), Some(issued.key.clone())),
    ] {
        std::fs::write(folder.join("tls.crt"), certificate).unwrap();
        if let Some(key) = key {
            std::fs::write(folder.join("tls.key"), key).unwrap();
        }
        served.tls.reload();
        assert!(is_old().await && !is_new().await, "half of a pair changes nothing");
    }
    std::fs::remove_file(folder.join("tls.key")).unwrap();
    served.tls.reload();
    assert!(is_old().await, "nor does a file that is gone");
    issued.write(folder);
    served.tls.reload();
    assert!(is_new().await && !is_old().await);

    let mut rest = String::new();
    while let Some(chunk) = stream.chunk().await.unwrap() {
        rest.push_str(&String::from_utf8_lossy(&chunk));
    }
    assert!(rest.contains("\"result\""), "the stream that was open goes on: {rest}");
    assert!(served.session(&client_of_old, Some(&served.server.token)).await.is_ok(), "so does its connection");
}

#[tokio::test]
async fn links_that_are_swapped_are_followed() {
    let old = Authority::new("old");
    let new = Authority::new("new");
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, authority: &Authority| {
        let inner = folder.path().join(name);
        std::fs::create_dir(&inner).unwrap();
        authority.issue(SERVER).write(&inner);
    };
    // As the volumes of Kubernetes do it: the files are links through `..data`, which is replaced by a rename.
    make("..first", &old);
    make("..second", &new);
    symlink("..first", folder.path().join("..data")).unwrap();
    for name in ["tls.crt", "tls.key"] {
        symlink(Path::new("..data").join(name), folder.path().join(name)).unwrap();
    }
    let path = |name: &str| folder.path().join(name);
    let files = CertificateFiles { certificate: path("tls.crt"), key: path("tls.key"), client_ca: None };
    let tls = ServerTls::open(files, CertificateCallers::default()).unwrap();
    let server = server_with(|options| options.tls = Some(tls.clone())).await;
    let following = tokio::spawn(tls.clone().follow());
    symlink("..second", path("..new")).unwrap();
    std::fs::rename(path("..new"), path("..data")).unwrap();
    let served = TlsServer { server, tls, folder: tempfile::tempdir().unwrap() };
    let trusting = client(&new, None, false);
    let begin = async || served.session(&trusting, Some(&served.server.token)).await;
    let followed = async {
        while begin().await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), followed).await.expect("it is never read again");
    following.abort();
}

#[tokio::test]
async fn a_certificate_of_a_caller_names_its_principal() {
    let authority = Authority::new("servers");
    let callers = Authority::new("callers");
    let names = [("spiffe://example.org/ci", "ci"), ("Build.Example.org", "build"), ("ann@example.org", "ann")];
    let served = TlsServer::start(&authority, Some((&callers, &names))).await;
    for (name, expected) in [
        ("spiffe://example.org/ci", Ok("ci")),
        ("build.example.org", Ok("build")),
        ("ann@example.org", Ok("ann")),
        ("spiffe://example.org/CI", Err(401)),
        ("spiffe://example.org/ci/x", Err(401)),
        ("other.build.example.org", Err(401)),
    ] {
        for is_http1 in [true, false] {
            let own = callers.issue(&["first.example", name]);
            let client = client(&authority, Some(&own), is_http1);
            let begun = served.session(&client, None).await;
            assert_eq!(begun.as_ref().map(|_| ()).map_err(|status| *status), expected.map(|_| ()), "{name}");
            assert_eq!(served.session(&client, Some("cyd_wrong")).await, Err(401), "the token decides: {name}");
            assert!(served.session(&client, Some(&served.server.bob)).await.is_ok());
            if let (Ok(id), Ok(principal)) = (begun, expected) {
                let ask = served.post(&client, &call("echo", &json!({}))).header("mcp-session-id", id);
                assert_eq!(ask.send().await.unwrap().status(), 200);
                let seen = served.server.fake.seen.lock().last().unwrap().clone();
                assert_eq!((&seen["principal"], &seen["workspaces"]), (&json!(principal), &json!(false)));
            }
        }
    }
    let client_without = client(&authority, None, false);
    assert_eq!(served.session(&client_without, None).await, Err(401));
    assert!(served.session(&client_without, Some(&served.server.token)).await.is_ok());
    let stranger = Authority::new("callers").issue(&["spiffe://example.org/ci"]);
    let ended = callers.issue_until(&["spiffe://example.org/ci"], 2020);
    for refused in [&stranger, &ended] {
        let client = client(&authority, Some(refused), false);
        assert_eq!(served.session(&client, Some(&served.server.token)).await, Err(0), "the handshake fails");
    }
    let own = callers.issue(&["spiffe://example.org/ci"]);
    let client = client(&authority, Some(&own), false);
    assert!(served.session(&client, None).await.is_ok());
    served.tls.set_callers(CertificateCallers::new(&entries(&names[1..])));
    assert_eq!(served.session(&client, None).await, Err(401), "an entry that is removed counts at once");
}

#[tokio::test]
async fn plain_http_beyond_loopback_needs_proxies() {
    let serve = async |proxies: TrustedProxies| {
        let dir = tempfile::tempdir().unwrap();
        let state = codeyard_state::StateDir::open(dir.path()).unwrap();
        let tokens = codeyard_state::TokenStore::open(state.store().unwrap(), codeyard_state::TokenAudience::Mcp);
        let mut options = HttpOptions::new(Some(Arc::new(tokens.unwrap())));
        options.proxies = Arc::new(proxies);
        let open = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
        let stop = tokio_util::sync::CancellationToken::new();
        stop.cancel();
        http::serve(open, Arc::new(Fake::default()), options, stop).await
    };
    assert!(matches!(serve(TrustedProxies::default()).await, Err(HttpServerError::PlainBeyondLoopback)));
    assert!(serve(TrustedProxies::new(vec!["10.0.0.0/8".parse().unwrap()])).await.is_ok());
}

#[tokio::test]
async fn the_address_of_the_client_is_what_a_trusted_proxy_says() {
    let trusted = ["127.0.0.1/32", "10.0.0.0/8"].map(|text| text.parse().unwrap());
    for (networks, expected) in [(trusted.to_vec(), ["192.0.2.7", "2001:db8::1"]), (vec![], ["127.0.0.1"; 2])] {
        let server = server_with(|options| options.proxies = Arc::new(TrustedProxies::new(networks))).await;
        let id = server.session().await;
        let ask = server.call(&json!(1), "echo", &json!({})).in_session(&id);
        let asks = [
            ask.clone().add("x-forwarded-for", "9.9.9.9, 192.0.2.7").add("x-forwarded-for", "10.1.1.1"),
            ask.add("forwarded", "for=9.9.9.9, for=\"[2001:db8::1]:4711\"").add("x-forwarded-for", "9.9.9.9"),
        ];
        for (ask, expected) in asks.iter().zip(expected) {
            assert_eq!(server.send(ask).await.status, 200);
            assert_eq!(server.fake.seen.lock().last().unwrap()["peer"], expected);
        }
    }
}
