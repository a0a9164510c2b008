//! The parameters of `notifications/cancelled`.
//!
//! Finding the request is a transport's business. Invariant: anything malformed names no request.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::id::RequestId;
use super::message;

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, rename = "requestId")]
    request_id: &'a RawValue,
}

/// The id of the request to cancel; `None` if the notification names none.
pub fn request_id(params: Option<&RawValue>) -> Option<RequestId> {
    let params: Params<'_> = message::params(params).ok()?;
    RequestId::parse(params.request_id).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_a_request_or_none() {
        let of = |text: &str| request_id(Some(&RawValue::from_string(text.into()).unwrap()));
        assert_eq!(of(r#"{"requestId":7,"reason":"x"}"#).unwrap().as_json(), "7");
        for bad in ["{}", "[7]", r#"{"requestId":null}"#, r#"{"requestId":{}}"#] {
            assert_eq!(of(bad), None, "{bad}");
        }
        assert_eq!(request_id(None), None);
    }
}
