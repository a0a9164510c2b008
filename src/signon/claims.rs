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

    /// Whether the claim is `wanted`, or has it in its list. `separator` is what the issuer writes between the members of a list that it writes as
    /// one text. Without it a text is one value, whatever is in it: a caller may have chosen it.
    pub(crate) fn has(&self, name: &str, wanted: &str, separator: Option<&str>) -> bool {
        let same = |text: &str| {
            text == wanted || distinguished_name(wanted).is_some_and(|dn| distinguished_name(text) == Some(dn))
        };
        match (self.at(name), separator) {
            (Some(Value::String(list)), Some(separator)) => list.split(separator).any(|part| same(part.trim())),
            _ => self.texts(name).into_iter().any(same),
        }
    }

    /// The scopes: `scope`, or `scp` as some servers call it.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = &str> {
        ["scope", "scp"].into_iter().flat_map(|name| self.texts(name)).flat_map(str::split_ascii_whitespace)
    }

    /// Whether it is a token of another kind: an identity token, which tells a client who its user is, or one about a logout. `is_access` says
    /// that its header calls it an access token.
    pub(crate) fn is_of_other_kind(&self, is_access: bool) -> bool {
        // One server writes the kind into the claims.
        let kind = self.text("typ").unwrap_or_default();
        let has = |names: &[&str]| names.iter().any(|name| self.0.get(name).is_some());
        ["ID", "Refresh", "Logout"].contains(&kind)
            || has(&OF_IDENTITY_TOKENS)
            || has(&["events"])
            || has(&["nonce"]) && !is_access && kind != "Bearer"
    }

    /// Whether only the holder of a key may use it (RFC 7800), which isn't checked.
    pub(crate) fn is_bound(&self) -> bool {
        self.0.get("cnf").is_some()
    }

    /// Whether the issuer says that it has checked the e-mail address: without that, whoever writes somebody's address into a profile has it.
    pub(crate) fn has_checked_email(&self) -> bool {
        self.0.get("email_verified").is_some_and(|checked| *checked == Value::Bool(true) || *checked == "true")
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
        let (kind, value) =
            part.split_once('=').filter(|(kind, value)| !kind.trim().is_empty() && !value.trim().is_empty())?;
        parts.push((kind.trim().to_lowercase(), value.trim().to_lowercase()));
        match after {
            Some(after) => rest = after,
            // One part alone may be anything with a `=` in it, of which the case counts.
            None => return (parts.len() > 1).then_some(parts),
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
            "team": "a", "text": "a; b c", "groups": ["CN=Team A, OU=Groups,dc=Example", "cn=team\\, b,ou=groups", "x;y"],
        }));
        let has = |name: &str, wanted: &str| token.has(name, wanted, None);
        assert!(has("team", "a") && has("text", "a; b c") && !has("text", "a") && !has("groups", "y"));
        assert!(token.has("text", "b c", Some(";")) && !token.has("text", "b", Some(";")));
        assert!(!token.has("groups", "y", Some(";")), "a member of a list is one value");
        assert!(has("groups", "cn=team a,ou=groups,dc=example"));
        assert!(has("groups", "CN=Team\\, B, ou=groups"));
        for other in ["cn=team a", "cn=team a,ou=groups", "cn=team,b,ou=groups", "team a", "CN=Team A", ""] {
            assert!(!has("groups", other), "{other}");
        }
        assert!(
            !has("team", "A") && !claims(json!({"oid": "abcd=="})).has("oid", "AbCd==", None),
            "other values differ in case"
        );
        assert!(!has("none", "a"));
    }

    #[test]
    fn scopes_times_and_kinds() {
        let token = claims(json!({"scope": "lsp  search", "scp": ["index"], "exp": 12.9, "nbf": -1, "iat": "7"}));
        assert_eq!(token.scopes().collect::<Vec<_>>(), ["lsp", "search", "index"]);
        assert_eq!((token.seconds("exp"), token.seconds("nbf"), token.seconds("iat")), (Some(12), None, None));
        for other in [json!({"at_hash": "x"}), json!({"typ": "ID"}), json!({"nonce": "x"}), json!({"events": {}})] {
            assert!(claims(other.clone()).is_of_other_kind(false), "{other}");
        }
        assert!(!claims(json!({"typ": "Bearer", "nonce": "x"})).is_of_other_kind(false));
        assert!(!claims(json!({"nonce": "x"})).is_of_other_kind(true));
        assert!(claims(json!({"cnf": {"jkt": "x"}})).is_bound());
        for (said, is_checked) in [
            (json!(true), true),
            (json!("true"), true),
            (json!(false), false),
            (json!("True"), false),
            (json!(1), false),
        ] {
            assert_eq!(claims(json!({"email_verified": said})).has_checked_email(), is_checked, "{said}");
        }
        assert!(!token.has_checked_email());
    }
}
