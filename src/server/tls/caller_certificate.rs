//! The certificate of a caller, and the principal that it names.
//!
//! Invariants: only names of the kind that an entry has are compared with it; a certificate that has ended names nobody, also on a connection
//! that was open before.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use codeyard_access::{Principal, Scope};
use codeyard_base::clock::wall_s;
use codeyard_base::ids::{PrincipalId, TenantId};
use codeyard_config::CertificateCaller;

/// A subject alternative name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CertificateName {
    /// In lower case.
    Dns(String),
    Uri(String),
    Email(String),
}

/// The callers that certificates name, in the order of the configuration.
#[derive(Debug, Default)]
pub struct CertificateCallers(Vec<(CertificateName, Principal)>);

/// What a checked certificate of a client says.
#[derive(Debug)]
pub(super) struct CallerCertificate {
    names: Vec<CertificateName>,
    /// In seconds since 1970.
    ends_s: u64,
}

impl CertificateName {
    fn of_entry(text: &str) -> Self {
        if text.contains(':') {
            Self::Uri(text.to_owned())
        } else if text.contains('@') {
            Self::Email(text.to_owned())
        } else {
            Self::Dns(text.to_ascii_lowercase())
        }
    }

    fn of_certificate(name: &GeneralName<'_>) -> Option<Self> {
        match name {
            GeneralName::DNSName(text) => Some(Self::Dns(text.to_ascii_lowercase())),
            GeneralName::URI(text) => Some(Self::Uri((*text).to_owned())),
            GeneralName::RFC822Name(text) => Some(Self::Email((*text).to_owned())),
            _ => None,
        }
    }
}

impl CertificateCallers {
    /// The callers of a checked configuration. An entry that isn't well is left out.
    pub fn new(entries: &[CertificateCaller]) -> Self {
        let caller = |entry: &CertificateCaller| {
            let scope: Arc<Scope> = Arc::new(entry.scope().ok()?);
            let tenant = TenantId::new(&entry.tenant)?;
            let principal = Principal { tenant, scope, ..Principal::named(PrincipalId::new(&entry.principal)) };
            Some((CertificateName::of_entry(&entry.name), principal))
        };
        Self(entries.iter().filter_map(caller).collect())
    }

    /// The principal of a certificate.
    pub(super) fn principal(&self, certificate: &CallerCertificate) -> Option<Principal> {
        if certificate.ends_s <= wall_s() {
            return None;
        }
        let named = self.0.iter().find(|(name, _)| certificate.names.contains(name));
        named.map(|(_, principal)| principal.clone())
    }
}

impl CallerCertificate {
    /// Reads a certificate; `None` if it is malformed, which its check in the handshake excludes.
    pub(super) fn parse(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
        let names = certificate.subject_alternative_name().ok()?;
        let names = names.iter().flat_map(|names| &names.value.general_names);
        let names = names.filter_map(CertificateName::of_certificate).collect();
        Some(Self { names, ends_s: u64::try_from(certificate.validity().not_after.timestamp()).ok()? })
    }
}
