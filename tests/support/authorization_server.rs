//! An authorization server for faults that a real one doesn't show on demand: wrong tokens, rotated keys, outages. It publishes metadata and
//! keys, and signs what a test says. The slow suite has real ones.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use codeyard_base::base64url;
use parking_lot::Mutex;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

/// A server on a loopback port of its own, over plain HTTP.
pub struct AuthorizationServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    keys: BTreeMap<String, SigningKey>,
}

struct Shared {
    published: Mutex<Vec<Value>>,
    is_down: AtomicBool,
    ends: AtomicBool,
    key_requests: AtomicUsize,
}

/// A key for ES256.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl SigningKey {
    /// A new key.
    pub fn generate() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("random numbers");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).expect("a key");
        Self { pair, random }
    }

    /// The public part as a JSON web key.
    pub fn jwk(&self, id: &str) -> Value {
        let point = self.pair.public_key().as_ref();
        json!({
            "kty": "EC", "crv": "P-256", "use": "sig", "kid": id,
            "x": base64url::encode(&point[1..33]), "y": base64url::encode(&point[33..]),
        })
    }

    /// A token with this header and these claims, both JSON texts.
    pub fn sign(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", base64url::encode(header.as_bytes()), base64url::encode(claims.as_bytes()));
        let signature = self.pair.sign(&self.random, message.as_bytes()).expect("a signature");
        format!("{message}.{}", base64url::encode(signature.as_ref()))
    }
}

impl AuthorizationServer {
    /// A server with the key `one`.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            published: Mutex::default(),
            is_down: AtomicBool::new(false),
            ends: AtomicBool::new(false),
            key_requests: AtomicUsize::new(0),
        });
        let serving = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.ends.load(SeqCst) {
                    return;
                }
                // A client that breaks off is no failure of the test.
                let _ = stream.and_then(|stream| serving.serve(stream, address));
            }
        });
        let mut server = Self { address, shared, keys: BTreeMap::new() };
        server.add_key("one");
        server
    }

    /// Its issuer identifier.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes one more key and publishes it.
    pub fn add_key(&mut self, id: &str) {
        let key = SigningKey::generate();
        self.shared.published.lock().push(key.jwk(id));
        self.keys.insert(id.to_owned(), key);
    }

    /// Publishes a key no more.
    pub fn withdraw_key(&self, id: &str) {
        self.shared.published.lock().retain(|key| key["kid"] != id);
    }

    /// Whether it answers with an error.
    pub fn set_down(&self, is_down: bool) {
        self.shared.is_down.store(is_down, SeqCst);
    }

    /// How often its keys were asked for.
    pub fn key_requests(&self) -> usize {
        self.shared.key_requests.load(SeqCst)
    }

    /// Claims of a token of `subject` for the audience, which ends in five minutes. `more` replaces some; a null leaves one out.
    pub fn claims(&self, subject: &str, audience: &str, more: &Value) -> Value {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_secs();
        let mut claims = json!({
            "iss": self.url(), "sub": subject, "aud": audience, "iat": now, "exp": now + 300, "client_id": "test",
        });
        let members = claims.as_object_mut().expect("an object");
        for (name, value) in more.as_object().expect("an object") {
            members.insert(name.clone(), value.clone());
        }
        members.retain(|_, value| !value.is_null());
        claims
    }

    /// A token with these claims, signed with the key `id`.
    pub fn sign(&self, id: &str, claims: &Value) -> String {
        let header = json!({"alg": "ES256", "typ": "at+jwt", "kid": id});
        self.keys[id].sign(&header.to_string(), &claims.to_string())
    }

    /// The key `id`.
    pub fn key(&self, id: &str) -> &SigningKey {
        &self.keys[id]
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream, address: SocketAddr) -> std::io::Result<()> {
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let mut head = Vec::new();
        let mut byte = [0_u8];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte)? == 1 {
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default();
        let issuer = format!("http://{address}");
        let found = match path {
            "/keys" => {
                self.key_requests.fetch_add(1, SeqCst);
                Some(json!({"keys": *self.published.lock()}))
            }
            "/.well-known/oauth-authorization-server" => {
                Some(json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")}))
            }
            _ => None,
        };
        let (status, body) = match found.filter(|_| !self.is_down.load(SeqCst)) {
            Some(body) => ("200 OK", body.to_string()),
            None if self.is_down.load(SeqCst) => ("503 Service Unavailable", String::new()),
            None => ("404 Not Found", String::new()),
        };
        let length = body.len();
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
    }
}

impl Drop for AuthorizationServer {
    fn drop(&mut self) {
        self.shared.ends.store(true, SeqCst);
        // Wakes the thread, which holds the port.
        drop(TcpStream::connect(self.address));
    }
}
