//! Requests to third-party HTTP services for JSON and text.

use serde_json::Value;

/// Status and text of an answer to `GET`, or the error.
pub(crate) fn get(url: &str) -> Result<(u16, String), String> {
    send(client().get(url))
}

/// The JSON that answers `POST`.
pub(crate) fn post(url: &str, body: &Value) -> Value {
    let (status, text) = send(client().post(url).json(body)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The JSON that answers `GET` with these parameters.
pub(crate) fn get_json(url: &str, query: &[(&str, &str)]) -> Value {
    let url = reqwest::Url::parse_with_params(url, query).expect("a URL");
    let (status, text) = get(url.as_str()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A client with a TLS provider. An error means that it is installed already.
fn client() -> reqwest::Client {
    rustls::crypto::ring::default_provider().install_default().ok();
    reqwest::Client::new()
}

fn send(request: reqwest::RequestBuilder) -> Result<(u16, String), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let answer = request.send().await.map_err(|error| error.to_string())?;
        let status = answer.status().as_u16();
        Ok((status, answer.text().await.map_err(|error| error.to_string())?))
    })
}
