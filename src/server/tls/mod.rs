//! TLS of the listeners: the certificate in use, and the callers that certificates name.
//!
//! The files are read again while the service runs. Invariants: certificate, key and authorities are replaced together or not at all; files
//! that can't be used leave the old ones in force and are logged once; open connections keep what they began with; a handshake is bounded
//! in time.

mod caller_certificate;
mod certificate_files;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use self::caller_certificate::CallerCertificate;
pub use self::caller_certificate::CertificateCallers;
pub use self::certificate_files::{CertificateFiles, LoadedCertificate, TlsError};
use codeyard_access::Principal;
use codeyard_base::blocking;
use codeyard_telemetry::Observers;
use codeyard_telemetry::names::instruments::TLS_EXPIRY;

/// A TLS handshake that takes longer is ended, in milliseconds.
const HANDSHAKE_MS: u64 = 5_000;
/// How often the files are looked at, in milliseconds.
const LOOK_MS: u64 = 5_000;

/// The TLS of the listeners.
#[derive(Debug)]
pub struct ServerTls {
    files: CertificateFiles,
    /// What the files had when they were last read, whether or not it can be used.
    seen: Mutex<Vec<Option<Vec<u8>>>>,
    current: RwLock<LoadedCertificate>,
    callers: RwLock<Arc<CertificateCallers>>,
}

/// A connection after its handshake.
pub(crate) struct TlsConnection {
    pub(crate) stream: TlsStream<TcpStream>,
    /// Whether the client has chosen HTTP/2.
    pub(crate) is_http2: bool,
    /// The client, if it has sent a certificate that an authority of the configuration has signed.
    pub(crate) caller: Option<TlsCaller>,
}

/// A client with a certificate.
#[derive(Debug)]
pub(crate) struct TlsCaller {
    tls: Arc<ServerTls>,
    certificate: CallerCertificate,
}

impl TlsCaller {
    /// The principal that the certificate names now.
    pub(crate) fn principal(&self) -> Option<Principal> {
        let callers = self.tls.callers.read().clone();
        callers.principal(&self.certificate)
    }
}

impl ServerTls {
    /// The TLS of these files and callers. Blocks.
    ///
    /// # Errors
    /// [`TlsError`]: the files can't be used.
    pub fn open(files: CertificateFiles, callers: CertificateCallers) -> Result<Arc<Self>, TlsError> {
        let contents = files.contents();
        let current = files.load(&contents)?;
        current.warn_if_expired();
        Ok(Arc::new(Self {
            files,
            seen: Mutex::new(contents.into_iter().map(Result::ok).collect()),
            current: RwLock::new(current),
            callers: RwLock::new(Arc::new(callers)),
        }))
    }

    /// Reads the files again if they changed. What can't be used is logged, and the old certificate stays. Blocks.
    pub fn reload(&self) {
        let contents = self.files.contents();
        let read: Vec<Option<Vec<u8>>> = contents.iter().map(|content| content.as_ref().ok().cloned()).collect();
        // Held until the end, so that the newer of two reloads wins.
        let mut seen = self.seen.lock();
        if *seen == read {
            return;
        }
        *seen = read;
        match self.files.load(&contents) {
            Ok(loaded) => {
                loaded.warn_if_expired();
                *self.current.write() = loaded;
                tracing::info!("the certificate was read again");
            }
            Err(error) => tracing::error!(
                %error,
                "the certificate was not read again, and the old one stays; correct the files: they are looked at every few seconds"
            ),
        }
    }

    /// Reads the files again whenever they change.
    pub async fn follow(self: Arc<Self>) {
        let mut ticks = interval(Duration::from_millis(LOOK_MS));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let tls = self.clone();
            // Only a panic ends it early, and the next tick looks again.
            blocking::spawn(move || tls.reload()).await.ok();
        }
    }

    /// Replaces the callers. Open connections have the new ones from their next request on.
    pub fn set_callers(&self, callers: CertificateCallers) {
        *self.callers.write() = Arc::new(callers);
    }

    /// Registers the time when the certificate ends.
    pub fn register_with(self: &Arc<Self>, observers: &Observers<'_>) {
        let tls = self.clone();
        observers.observe(&TLS_EXPIRY, move |sink| sink.record(tls.current.read().ends_s(), &[]));
    }

    /// The handshake of a new connection.
    ///
    /// # Errors
    /// It failed, or took too long.
    pub(crate) async fn accept(self: &Arc<Self>, stream: TcpStream) -> io::Result<TlsConnection> {
        let config: Arc<ServerConfig> = self.current.read().server_config();
        let handshake = TlsAcceptor::from(config).accept(stream);
        let stream = timeout(Duration::from_millis(HANDSHAKE_MS), handshake).await??;
        let session = stream.get_ref().1;
        let is_http2 = session.alpn_protocol() == Some(b"h2");
        let leaf = session.peer_certificates().and_then(<[_]>::first);
        let certificate = leaf.and_then(|leaf| CallerCertificate::parse(leaf));
        let caller = certificate.map(|certificate| TlsCaller { tls: self.clone(), certificate });
        Ok(TlsConnection { stream, is_http2, caller })
    }
}
