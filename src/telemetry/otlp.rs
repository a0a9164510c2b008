//! Exporters that speak OTLP, over HTTP and gRPC.
//!
//! They must be built inside a tokio runtime. Invariants: a request ends within its destination's timeout, retries included; redirects
//! aren't followed and no proxy is used, so that headers reach the named receiver only; no error repeats a URL, a header or a path.

use std::collections::HashMap;

use opentelemetry_otlp::tonic_types::metadata::MetadataMap;
use opentelemetry_otlp::tonic_types::transport::{Certificate, ClientTlsConfig};
use opentelemetry_otlp::{
    MetricExporter, Protocol as OtlpProtocol, SpanExporter, WithExportConfig, WithHttpConfig, WithTonicConfig,
};
use opentelemetry_sdk::metrics::Temporality;

use super::settings::{CertificateFile, Destination, Protocol};

/// The error in place of the exporter's own text, which may repeat the endpoint.
const NOT_BUILT: &str = "the exporter can't be set up; check the OTEL_EXPORTER_OTLP variables";

pub(super) fn spans(to: &Destination) -> Result<SpanExporter, String> {
    match to.protocol {
        Protocol::Http => {
            let builder = SpanExporter::builder().with_http().with_protocol(OtlpProtocol::HttpBinary);
            let builder = builder.with_endpoint(&to.endpoint).with_timeout(to.timeout);
            builder.with_headers(headers(to)).with_http_client(client(to)?).build()
        }
        Protocol::Grpc => {
            let builder = SpanExporter::builder().with_tonic().with_endpoint(&to.endpoint).with_timeout(to.timeout);
            let builder = builder.with_metadata(metadata(to)?);
            match tls(to)? {
                Some(tls) => builder.with_tls_config(tls).build(),
                None => builder.build(),
            }
        }
    }
    .map_err(|_| NOT_BUILT.to_owned())
}

pub(super) fn metrics(to: &Destination) -> Result<MetricExporter, String> {
    let builder = MetricExporter::builder().with_temporality(Temporality::Cumulative);
    match to.protocol {
        Protocol::Http => {
            let builder = builder.with_http().with_protocol(OtlpProtocol::HttpBinary);
            let builder = builder.with_endpoint(&to.endpoint).with_timeout(to.timeout);
            builder.with_headers(headers(to)).with_http_client(client(to)?).build()
        }
        Protocol::Grpc => {
            let builder = builder.with_tonic().with_endpoint(&to.endpoint).with_timeout(to.timeout);
            let builder = builder.with_metadata(metadata(to)?);
            match tls(to)? {
                Some(tls) => builder.with_tls_config(tls).build(),
                None => builder.build(),
            }
        }
    }
    .map_err(|_| NOT_BUILT.to_owned())
}

fn headers(to: &Destination) -> HashMap<String, String> {
    to.headers.iter().cloned().collect()
}

fn metadata(to: &Destination) -> Result<MetadataMap, String> {
    let mut map = reqwest::header::HeaderMap::new();
    for (name, value) in &to.headers {
        let name = name.to_ascii_lowercase().parse::<reqwest::header::HeaderName>();
        let value = reqwest::header::HeaderValue::from_str(value);
        let (Ok(name), Ok(value)) = (name, value) else { return Err("a header can't be sent".to_owned()) };
        map.append(name, value);
    }
    Ok(MetadataMap::from_headers(map))
}

fn client(to: &Destination) -> Result<reqwest::Client, String> {
    // Without it, the HTTP client has no implementation of TLS. An error means that one is installed already.
    rustls::crypto::ring::default_provider().install_default().ok();
    let builder = reqwest::Client::builder().timeout(to.timeout).redirect(reqwest::redirect::Policy::none());
    let mut builder = builder.no_proxy();
    if let Some((_, trusted)) = trusted(to)? {
        builder = builder.tls_certs_only(trusted);
    }
    builder.build().map_err(|_| NOT_BUILT.to_owned())
}

fn tls(to: &Destination) -> Result<Option<ClientTlsConfig>, String> {
    if !to.endpoint.starts_with("https://") {
        return Ok(None);
    }
    let tls = ClientTlsConfig::new();
    Ok(Some(match trusted(to)? {
        Some((pem, _)) => tls.ca_certificate(Certificate::from_pem(pem)),
        None => tls.with_native_roots(),
    }))
}

/// Certificates that are trusted instead of the system's: as PEM, and parsed.
type TrustedCertificates = (Vec<u8>, Vec<reqwest::Certificate>);

/// Reads the destination's certificate file, if it names one.
fn trusted(to: &Destination) -> Result<Option<TrustedCertificates>, String> {
    let Some(CertificateFile { variable, path }) = &to.certificate else { return Ok(None) };
    let pem = std::fs::read(path).map_err(|error| format!("the file of {variable} can't be read: {error}"))?;
    let parsed = reqwest::Certificate::from_pem_bundle(&pem).ok().filter(|parsed| !parsed.is_empty());
    let parsed = parsed.ok_or_else(|| format!("the file of {variable} holds no PEM certificates"))?;
    Ok(Some((pem, parsed)))
}
