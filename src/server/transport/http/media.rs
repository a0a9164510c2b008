//! Checks of `Content-Type` and `Accept` for an MCP endpoint.
//!
//! It isn't a general media type parser: crates such as `mime` parse media types but don't match weighted `Accept` ranges. Invariants:
//! the body must be uncompressed JSON in UTF-8; the client must accept both kinds of answer, as the most specific matching range of
//! each says; a range that can't be parsed accepts nothing.

use axum::http::{HeaderMap, header};

use super::host::only;
use super::refusal::RefusalReason;

/// Checks that the body is declared as JSON.
///
/// # Errors
/// [`RefusalReason::ContentType`].
pub fn content_type(headers: &HeaderMap) -> Result<(), RefusalReason> {
    let value = only(headers, header::CONTENT_TYPE).ok_or(RefusalReason::ContentType)?;
    let mut parts = value.split(';').map(str::trim);
    let json = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    let utf8 = parts.all(|parameter| match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    });
    let plain = match headers.get(header::CONTENT_ENCODING) {
        Some(coding) => coding.as_bytes().eq_ignore_ascii_case(b"identity"),
        None => true,
    };
    if json && utf8 && plain { Ok(()) } else { Err(RefusalReason::ContentType) }
}

/// Checks that the client accepts both JSON and event streams.
///
/// # Errors
/// [`RefusalReason::Accept`].
pub fn accept(headers: &HeaderMap) -> Result<(), RefusalReason> {
    let mut json = AcceptMatch::default();
    let mut events = AcceptMatch::default();
    for value in headers.get_all(header::ACCEPT) {
        let ranges = value.to_str().unwrap_or_default().split(',');
        for (range, is_accepted) in ranges.filter_map(range_of) {
            json.consider(range, is_accepted, "application", "json");
            events.consider(range, is_accepted, "text", "event-stream");
        }
    }
    if json.is_accepted && events.is_accepted { Ok(()) } else { Err(RefusalReason::Accept) }
}

/// Whether one media type is accepted, as the most specific range so far says.
#[derive(Default)]
struct AcceptMatch {
    specificity: u8,
    is_accepted: bool,
}

impl AcceptMatch {
    /// Takes one range into account for the type `kind/subtype`.
    fn consider(&mut self, range: &str, is_accepted: bool, kind: &str, subtype: &str) {
        let specificity = match range.split_once('/') {
            Some((k, s)) if k.eq_ignore_ascii_case(kind) && s.eq_ignore_ascii_case(subtype) => 3,
            Some((k, "*")) if k.eq_ignore_ascii_case(kind) => 2,
            Some(("*", "*")) => 1,
            _ => return,
        };
        if specificity > self.specificity {
            *self = Self { specificity, is_accepted };
        } else if specificity == self.specificity {
            self.is_accepted |= is_accepted;
        }
    }
}

/// A media range and whether its weight is above zero; `None` if the weight can't be parsed.
fn range_of(text: &str) -> Option<(&str, bool)> {
    let mut parts = text.split(';').map(str::trim);
    let range = parts.next()?;
    let mut is_accepted = true;
    for parameter in parts {
        if let Some((name, value)) = parameter.split_once('=')
            && name.trim().eq_ignore_ascii_case("q")
        {
            is_accepted = weight(value.trim())? > 0;
        }
    }
    Some((range, is_accepted))
}

/// A weight in thousandths: `0`, `1`, or one of them with up to three decimals, at most `1`.
fn weight(text: &str) -> Option<u32> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = decimals.len() <= 3 && decimals.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || !matches!(whole, "0" | "1") {
        return None;
    }
    let thousandths: u32 = format!("{whole}{decimals:0<3}").parse().ok()?;
    (thousandths <= 1_000).then_some(thousandths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn with(name: header::HeaderName, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(&name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn accept_headers() {
        for good in [
            &["application/json, text/event-stream"][..],
            &["text/event-stream", "Application/JSON"],
            &["*/*"],
            &["application/*, text/*;q=0.1"],
            &["application/json;q=1.000,text/event-stream;q=0.001"],
            &["application/json, */*;q=0.5"],
            &["text/html, application/json;charset=utf-8, text/event-stream"],
            &["*/*;q=0, application/json, text/event-stream"],
        ] {
            assert_eq!(accept(&with(header::ACCEPT, good)), Ok(()), "{good:?}");
        }
        for bad in [
            &[][..],
            &[""],
            &["application/json"],
            &["text/event-stream"],
            &["application/json, text/*;q=0"],
            &["*/*, text/event-stream;q=0"],
            &["*/*, application/json;q=0.000"],
            &["*/*;q=x"],
            &["*/*;q=1.5"],
            &["*/json, text/event-stream"],
            &["application/jsonx, text/event-stream"],
        ] {
            assert_eq!(accept(&with(header::ACCEPT, bad)), Err(RefusalReason::Accept), "{bad:?}");
        }
    }

    #[test]
    fn content_types() {
        for good in ["application/json", "Application/Json; charset=UTF-8", "application/json;charset=\"utf-8\";x=y"] {
            assert_eq!(content_type(&with(header::CONTENT_TYPE, &[good])), Ok(()), "{good}");
        }
        for bad in [
            &[][..],
            &[""],
            &["text/plain"],
            &["application/json-seq"],
            &["application/json; charset=latin1"],
            &["application/json", "application/json"],
        ] {
            assert_eq!(content_type(&with(header::CONTENT_TYPE, bad)), Err(RefusalReason::ContentType), "{bad:?}");
        }
        let mut packed = with(header::CONTENT_TYPE, &["application/json"]);
        packed.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert_eq!(content_type(&packed), Err(RefusalReason::ContentType));
    }
}
