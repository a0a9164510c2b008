//! The parameters of `notifications/cancelled`. The transports look the request up.
//!
//! Invariant: malformed parameters name no request.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::id::RequestId;
use super::message;

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, rename = "requestId")]
    request_id: &'a RawValue,
}

/// The id of the request to cancel; `None` if the parameters name none.
pub fn request_id(params: Option<&RawValue>) -> Option<RequestId> {
    let params: Params<'_> = message::params(params).ok()?;
    RequestId::parse(params.request_id).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_well_formed_parameters_name_a_request() {
        let of = |text: &str| request_id(Some(&RawValue::from_string(text.into()).unwrap()));
        assert_eq!(of(r#"{"requestId":7,"reason":"x"}"#).unwrap().as_json(), "7");
        for bad in ["{}", "[7]", r#"{"requestId":null}"#, r#"{"requestId":{}}"#] {
            assert_eq!(of(bad), None, "{bad}");
        }
        assert_eq!(request_id(None), None);
    }
}
