//! Certificates for tests, signed by an authority of the test.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, SanType, date_time_ymd,
};

/// An authority that signs certificates.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate in PEM.
    pub pem: String,
}

/// A certificate with its key, both in PEM.
#[derive(Debug, Clone)]
pub struct IssuedCertificate {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    /// A new authority of this name.
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate with these subject alternative names: addresses, URIs, e-mail addresses, DNS names.
    pub fn issue(&self, names: &[&str]) -> IssuedCertificate {
        self.issue_until(names, 4096)
    }

    /// The same, which ends with the first day of a year.
    pub fn issue_until(&self, names: &[&str], year: i32) -> IssuedCertificate {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.subject_alt_names = names.iter().map(|name| alternative_name(name)).collect();
        params.not_after = date_time_ymd(year, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        IssuedCertificate { certificate, key: key.serialize_pem() }
    }
}

impl IssuedCertificate {
    /// Writes both files into a folder, and returns their paths.
    pub fn write(&self, folder: &Path) -> (PathBuf, PathBuf) {
        let certificate = folder.join("tls.crt");
        let key = folder.join("tls.key");
        std::fs::write(&certificate, &self.certificate).unwrap();
        std::fs::write(&key, &self.key).unwrap();
        (certificate, key)
    }

    /// Both in one text.
    pub fn bundle(&self) -> String {
        format!("{}{}", self.certificate, self.key)
    }
}

fn alternative_name(name: &str) -> SanType {
    match name.parse() {
        Ok(address) => SanType::IpAddress(address),
        Err(_) if name.contains(':') => SanType::URI(name.try_into().unwrap()),
        Err(_) if name.contains('@') => SanType::Rfc822Name(name.try_into().unwrap()),
        Err(_) => SanType::DnsName(name.try_into().unwrap()),
    }
}
