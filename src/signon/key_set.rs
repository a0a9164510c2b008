//! The keys of an issuer (RFC 7517).
//!
//! Invariants: a symmetric key is no key; a key that can't be read doesn't make the others useless.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;

use crate::limits::MAX_KEYS;

/// Keys that signatures are checked with.
#[derive(Debug, Default)]
pub(crate) struct KeySet(Vec<VerificationKey>);

#[derive(Debug)]
struct VerificationKey {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

impl KeySet {
    /// The keys of this document.
    ///
    /// # Errors
    /// It has no list of keys, or none that can be used.
    pub(crate) fn parse(document: &Value) -> Result<Self, String> {
        let keys = document.get("keys").and_then(Value::as_array).ok_or("the document has no list `keys`")?;
        let mut usable: Vec<VerificationKey> = keys.iter().filter_map(VerificationKey::parse).collect();
        // An empty list withdraws all keys. One of other keys is a mistake.
        if usable.is_empty() && !keys.is_empty() {
            return Err("no key of the document can check signatures (RSA, P-256, P-384, Ed25519)".to_owned());
        }
        if usable.len() > MAX_KEYS {
            tracing::warn!(
                keys = usable.len(),
                most = MAX_KEYS,
                "an issuer has more keys than are read; the others are left out"
            );
            usable.truncate(MAX_KEYS);
        }
        Ok(Self(usable))
    }

    /// The keys with this id that fit the algorithm; without an id all that fit it.
    pub(crate) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Vec<DecodingKey> {
        let fits = |key: &&VerificationKey| {
            key.algorithms.contains(&algorithm) && id.is_none_or(|id| key.id.as_deref() == Some(id))
        };
        self.0.iter().filter(fits).map(|key| key.key.clone()).collect()
    }
}

impl VerificationKey {
    fn parse(value: &Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value.clone()).ok()?;
        if !matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
            return None;
        }
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        let family = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => key.family().algorithms().to_vec(),
            AlgorithmParameters::EllipticCurve(parameters) => match parameters.curve {
                EllipticCurve::P256 => vec![Algorithm::ES256],
                EllipticCurve::P384 => vec![Algorithm::ES384],
                _ => return None,
            },
            AlgorithmParameters::OctetKeyPair(parameters) if parameters.curve == EllipticCurve::Ed25519 => {
                vec![Algorithm::EdDSA]
            }
            _ => return None,
        };
        let algorithms = match jwk.common.key_algorithm {
            None => family,
            Some(named) => family.into_iter().filter(|one| format!("{one:?}") == named.to_string()).collect(),
        };
        Some(Self { id: jwk.common.key_id, algorithms, key })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_found_by_id_and_algorithm_and_unusable_ones_are_left_out() {
        let rsa = json!({"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "one"});
        let with = |more: Value| {
            let mut key = rsa.clone();
            key.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            key
        };
        let set = KeySet::parse(&json!({"keys": [
            rsa, with(json!({"kid": "two", "alg": "PS256"})), with(json!({"kid": "three", "use": "enc"})),
            {"kty": "oct", "k": "c2VjcmV0", "kid": "four"}, {"kty": "new", "kid": "five"}, 7,
            {"kty": "EC", "crv": "P-256", "x": "AQAB", "y": "AQAB", "kid": "six"},
            {"kty": "OKP", "crv": "X25519", "x": "AQAB", "kid": "seven"},
        ]}))
        .unwrap();
        let count = |id: Option<&str>, algorithm| set.find(id, algorithm).len();
        assert_eq!(set.0.len(), 3);
        assert_eq!((count(Some("one"), Algorithm::RS256), count(Some("one"), Algorithm::ES256)), (1, 0));
        assert_eq!((count(Some("two"), Algorithm::RS256), count(Some("two"), Algorithm::PS256)), (0, 1));
        assert_eq!((count(None, Algorithm::PS256), count(Some("six"), Algorithm::ES256)), (2, 1));
        assert_eq!(count(Some("six"), Algorithm::ES384), 0);
        for id in ["three", "four", "five", "seven"] {
            assert_eq!(count(Some(id), Algorithm::RS256) + count(Some(id), Algorithm::HS256), 0, "{id}");
        }
        assert!(KeySet::parse(&json!({"keys": []})).unwrap().0.is_empty(), "all are withdrawn");
        assert!(KeySet::parse(&json!({"keys": [{"kty": "new"}]})).is_err() && KeySet::parse(&json!([])).is_err());
    }
}
