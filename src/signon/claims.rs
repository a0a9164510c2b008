//! What a token says.
//!
//! Invariant: a claim that is there twice makes the token invalid, at any depth.

use serde_json::Value;

/// Claims that identity tokens have and access tokens don't (OpenID Connect Core, section 3.1.3.6).
const OF_IDENTITY_TOKENS: [&str; 3] = ["at_hash", "c_hash", "s_hash"];

/// The claims of a token whose signature isn't checked here.
#[derive(Debug, Clone)]
pub(crate) struct Claims(Value);

impl Claims {
    /// The claims of this JSON value; `None` if it is no object.
    pub(crate) fn new(value: Value) -> Option<Self> {
        value.is_object().then_some(Self(value))
    }

    /// The claim of this name, if it is a text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.at(name)?.as_str()
    }

    /// A time, in seconds since 1970.
    pub(crate) fn seconds(&self, name: &str) -> Option<u64> {
        let value = self.0.get(name)?;
        let whole = || value.as_f64().filter(|seconds| (0.0..1e15).contains(seconds));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        value.as_u64().or_else(|| whole().map(|seconds| seconds as u64))
    }

    /// The claim of this name, or the one inside of others that `a.b` names. A name may have dots itself.
    fn at(&self, path: &str) -> Option<&Value> {
        at(&self.0, path)
    }

    /// The texts of a claim: itself, or those of its list.
    pub(crate) fn texts(&self, name: &str) -> Vec<&str> {
        match self.at(name) {
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether the claim is `wanted`, or has it in its list. Some servers write a list as a text with `;` between its members.
    pub(crate) fn has(&self, name: &str, wanted: &str) -> bool {
        let same = |text: &str| {
            text == wanted || distinguished_name(wanted).is_some_and(|dn| distinguished_name(text) == Some(dn))
        };
        self.texts(name).iter().any(|text| same(text) || text.split(';').any(|part| same(part.trim())))
    }

    /// The scopes: `scope`, or `scp` as some servers call it.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = &str> {
        ["scope", "scp"].into_iter().flat_map(|name| self.texts(name)).flat_map(str::split_ascii_whitespace)
    }

    /// Whether it is an identity token, which tells a client who its user is and opens nothing.
    pub(crate) fn is_of_identity(&self) -> bool {
        // One server writes the kind into the claims.
        let says_so = self.text("typ").is_some_and(|kind| ["ID", "Refresh", "Logout"].contains(&kind));
        says_so || OF_IDENTITY_TOKENS.iter().any(|name| self.0.get(name).is_some())
    }

    /// Whether only the holder of a key may use it (RFC 7800), which isn't checked.
    pub(crate) fn is_bound(&self) -> bool {
        self.0.get("cnf").is_some()
    }

    /// Whether its e-mail address is one that nobody has checked.
    pub(crate) fn has_unchecked_email(&self) -> bool {
        self.0.get("email_verified").is_some_and(|checked| *checked == Value::Bool(false) || *checked == "false")
    }
}

fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if let Some(found) = value.get(path) {
        return Some(found);
    }
    path.match_indices('.').find_map(|(dot, _)| at(value.get(&path[..dot])?, &path[dot + 1..]))
}

/// The parts of a name of LDAP (RFC 4514), as they compare: types and values without regard to case, blanks around them left out. `None` if
/// `text` isn't one.
fn distinguished_name(text: &str) -> Option<Vec<(String, String)>> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.char_indices().scan(false, |escaped, (at, c)| {
            let is_end = c == ',' && !*escaped;
            *escaped = c == '\\' && !*escaped;
            Some((at, is_end))
        });
        let end = end.filter(|(_, is_end)| *is_end).map(|(at, _)| at).next();
        let (part, after) = end.map_or((rest, None), |end| (&rest[..end], Some(&rest[end + 1..])));
        let (kind, value) = part.split_once('=')?;
        parts.push((kind.trim().to_lowercase(), value.trim().to_lowercase()));
        match after {
            Some(after) => rest = after,
            None => return Some(parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claims(value: Value) -> Claims {
        Claims::new(value).unwrap()
    }

    #[test]
    fn claims_are_found_by_name_and_inside_of_others() {
        let token = claims(json!({
            "sub": "ann", "realm_access": {"roles": ["dev", 7]}, "https://example.org/groups": ["a"], "a": {"b.c": {"d": "x"}},
        }));
        assert_eq!(token.texts("realm_access.roles"), ["dev"]);
        assert_eq!(token.texts("https://example.org/groups"), ["a"]);
        assert_eq!(token.text("a.b.c.d"), Some("x"));
        assert!(
            token.texts("realm_access").is_empty() && token.texts("sub.x").is_empty() && token.texts("").is_empty()
        );
        assert!(Claims::new(json!(["sub"])).is_none());
    }

    #[test]
    fn a_claim_has_a_value_as_text_in_a_list_and_as_a_name_of_ldap() {
        let token = claims(json!({
            "team": "a", "text": "a; b c", "groups": ["CN=Team A, OU=Groups,dc=Example", "cn=team\\, b,ou=groups"],
        }));
        assert!(
            token.has("team", "a") && token.has("text", "a") && token.has("text", "b c") && !token.has("text", "b")
        );
        assert!(token.has("groups", "cn=team a,ou=groups,dc=example"));
        assert!(token.has("groups", "CN=Team\\, B, ou=groups"));
        for other in ["cn=team a", "cn=team a,ou=groups", "cn=team,b,ou=groups", "team a", "CN=Team A", ""] {
            assert!(!token.has("groups", other), "{other}");
        }
        assert!(!token.has("team", "A"), "other values differ in case");
        assert!(!token.has("none", "a"));
    }

    #[test]
    fn scopes_times_and_kinds() {
        let token = claims(json!({"scope": "lsp  search", "scp": ["index"], "exp": 12.9, "nbf": -1, "iat": "7"}));
        assert_eq!(token.scopes().collect::<Vec<_>>(), ["lsp", "search", "index"]);
        assert_eq!((token.seconds("exp"), token.seconds("nbf"), token.seconds("iat")), (Some(12), None, None));
        assert!(claims(json!({"at_hash": "x"})).is_of_identity() && claims(json!({"typ": "ID"})).is_of_identity());
        assert!(!claims(json!({"typ": "Bearer"})).is_of_identity());
        assert!(claims(json!({"cnf": {"jkt": "x"}})).is_bound());
        assert!(claims(json!({"email_verified": false})).has_unchecked_email());
        assert!(!claims(json!({"email_verified": true})).has_unchecked_email() && !token.has_unchecked_email());
    }
}
