//! Exporters that speak OTLP, over HTTP and gRPC.
//!
//! Invariants: a request ends within its destination's timeout, retries included; redirects aren't followed, so that
//! headers go to the named receiver only. Must be built inside a tokio runtime.

use std::collections::HashMap;
use std::path::Path;

use opentelemetry_otlp::tonic_types::metadata::MetadataMap;
use opentelemetry_otlp::tonic_types::transport::{Certificate, ClientTlsConfig};
use opentelemetry_otlp::{
    MetricExporter, Protocol as OtlpProtocol, SpanExporter, WithExportConfig, WithHttpConfig, WithTonicConfig,
};
use opentelemetry_sdk::metrics::Temporality;

use super::settings::{Destination, Protocol};

/// An exporter of spans.
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
    .map_err(|error| error.to_string())
}

/// An exporter of metrics.
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
    .map_err(|error| error.to_string())
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
    let mut builder = reqwest::Client::builder().timeout(to.timeout).redirect(reqwest::redirect::Policy::none());
    if let Some(path) = &to.certificate {
        let trusted = reqwest::Certificate::from_pem_bundle(&read(path)?)
            .map_err(|_| format!("{} holds no PEM certificates", path.display()))?;
        builder = builder.tls_certs_only(trusted);
    }
    builder.build().map_err(|error| error.to_string())
}

fn tls(to: &Destination) -> Result<Option<ClientTlsConfig>, String> {
    if !to.endpoint.starts_with("https://") {
        return Ok(None);
    }
    let tls = ClientTlsConfig::new();
    Ok(Some(match &to.certificate {
        Some(path) => tls.ca_certificate(Certificate::from_pem(read(path)?)),
        None => tls.with_native_roots(),
    }))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{} can't be read: {error}", path.display()))
}
