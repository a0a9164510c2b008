//! Parsers of URLs and lists of pairs. Invariant: an error doesn't repeat the text.

use codeyard_model::uri::percent_decode_strictly;
use reqwest::Url;

/// The URL of a receiver, or what is wrong with it.
pub(super) fn url(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let is_plain = !text.chars().any(|char| char.is_whitespace() || char.is_control());
    let url = url.filter(|url| is_plain && url.has_host()).ok_or("it must be an http:// or https:// URL")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it must hold no user and password; give them as a header by OTEL_EXPORTER_OTLP_HEADERS");
    }
    Ok(url)
}

/// The pairs of `key=value,key=value` with percent-decoded values, and the number of entries of another form.
pub(super) fn pairs(text: &str) -> (Vec<(String, String)>, usize) {
    let mut wrong = 0;
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).filter_map(|entry| {
        let pair = entry.split_once('=').filter(|(key, _)| !key.trim().is_empty());
        let decoded =
            pair.and_then(|(key, value)| Some((key.trim().to_owned(), percent_decode_strictly(value.trim())?)));
        wrong += usize::from(decoded.is_none());
        decoded
    });
    (entries.collect(), wrong)
}
