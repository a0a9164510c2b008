//! The files of a certificate: reading, checking, and what rustls needs of them.
//!
//! Invariants: a loaded certificate fits its key; certificates of clients are checked against the authorities that were loaded with it, in
//! each handshake, because no session is resumed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use x509_parser::prelude::{FromDer, X509Certificate};

use codeyard_base::clock::{utc, wall_s};

/// Largest file that is read, in bytes.
const MAX_PEM_BYTES: u64 = 1024 * 1024;

/// The paths of a certificate's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, and those between it and the root.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities of clients' certificates.
    pub client_ca: Option<PathBuf>,
}

/// Why files can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {0}: {1}; correct the path, or let codeyard's user read the file")]
    Read(PathBuf, io::Error),
    #[error("{0} has no {1} in PEM; write one that begins with `-----BEGIN`")]
    Pem(PathBuf, &'static str),
    #[error("the certificate {0} and the key {1} don't fit together: {2}; write both files of the same certificate")]
    Pair(PathBuf, PathBuf, rustls::Error),
    #[error("{0} has no usable authority: {1}; write the certificates of the authorities that sign those of callers")]
    Authorities(PathBuf, String),
}

/// The content of each file, in the order of the keys.
pub(super) type Contents = Vec<io::Result<Vec<u8>>>;

/// A certificate that can be used.
#[derive(Debug)]
pub struct LoadedCertificate {
    config: Arc<ServerConfig>,
    ends_s: u64,
}

impl CertificateFiles {
    /// Reads and checks the files. Blocks.
    ///
    /// # Errors
    /// [`TlsError`]: they can't be used.
    pub fn check(&self) -> Result<LoadedCertificate, TlsError> {
        self.load(&self.contents())
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        [&self.certificate, &self.key].into_iter().chain(&self.client_ca).map(PathBuf::as_path)
    }

    /// Reads the files. Links are followed anew each time.
    pub(super) fn contents(&self) -> Contents {
        self.paths().map(read).collect()
    }

    pub(super) fn load(&self, contents: &Contents) -> Result<LoadedCertificate, TlsError> {
        let mut texts = Vec::new();
        for (path, content) in self.paths().zip(contents) {
            let text = content.as_ref().map_err(|error| TlsError::Read(path.into(), copied(error)))?;
            texts.push(text.as_slice());
        }
        let chain = certificates(texts[0]).filter(|chain| !chain.is_empty());
        let chain = chain.ok_or_else(|| TlsError::Pem(self.certificate.clone(), "certificate"))?;
        let ends_s = ends_s(&chain[0]).ok_or_else(|| TlsError::Pem(self.certificate.clone(), "certificate"))?;
        let key = PrivateKeyDer::from_pem_slice(texts[1]);
        let key = key.map_err(|_| TlsError::Pem(self.key.clone(), "private key"))?;
        let provider = Arc::new(ring::default_provider());
        let pair = |error| TlsError::Pair(self.certificate.clone(), self.key.clone(), error);
        let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let builder = builder.map_err(pair)?;
        let builder = match self.client_ca.as_ref().zip(texts.get(2)) {
            Some((path, text)) => builder.with_client_cert_verifier(
                verifier(text, provider).map_err(|why| TlsError::Authorities(path.clone(), why))?,
            ),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(pair)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // A resumed session would have the certificate of its client without a new check.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(LoadedCertificate { config: Arc::new(config), ends_s })
    }
}

impl LoadedCertificate {
    pub(super) fn server_config(&self) -> Arc<ServerConfig> {
        self.config.clone()
    }

    /// When the certificate ends, in seconds since 1970.
    pub fn ends_s(&self) -> u64 {
        self.ends_s
    }

    /// A sentence about a certificate that has ended.
    pub fn expired(&self) -> Option<String> {
        let ended = || format!("the certificate has ended on {}, so clients refuse it; renew it", utc(self.ends_s));
        (self.ends_s <= wall_s()).then(ended)
    }

    pub(super) fn warn_if_expired(&self) {
        if let Some(expired) = self.expired() {
            tracing::warn!("{expired}");
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(MAX_PEM_BYTES + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_PEM_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {MAX_PEM_BYTES} bytes")));
    }
    Ok(content)
}

fn copied(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| io::Error::new(error.kind(), error.to_string()), io::Error::from_raw_os_error)
}

/// The certificates of a PEM text; `None` if one is malformed.
fn certificates(text: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_slice_iter(text).collect::<Result<_, _>>().ok()
}

fn ends_s(certificate: &CertificateDer<'_>) -> Option<u64> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    u64::try_from(certificate.validity().not_after.timestamp()).ok()
}

/// Checks certificates of clients that send one. Errors are sentences.
fn verifier(text: &[u8], provider: Arc<CryptoProvider>) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(text).ok_or("a certificate in it is malformed")? {
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).allow_unauthenticated();
    verifier.build().map(|verifier| verifier as Arc<dyn ClientCertVerifier>).map_err(|error| error.to_string())
}
