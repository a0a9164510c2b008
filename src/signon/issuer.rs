//! One issuer: from the text of a token to a principal.

use std::sync::Arc;

use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode};

use crate::claims::Claims;
use crate::issuer_keys::IssuerKeys;
use codeyard_access::{Credential, OperationSet, Principal, Scope};
use codeyard_base::digest::{hex, sha256};
use codeyard_base::ids::{PrincipalId, TenantId};
use codeyard_base::strict_json::StrictValue;
use codeyard_config::{CallerRule, IssuerSection};

/// Kinds of tokens that may be access tokens (RFC 9068, section 4), in lower case.
const KINDS: [&str; 3] = ["jwt", "at+jwt", "application/at+jwt"];
/// Claims that name the client, as different servers call it.
const CLIENT_CLAIMS: [&str; 4] = ["azp", "client_id", "cid", "appid"];
/// What begins the name of a caller that is there by its digest.
const DIGEST_START: &str = "sha256:";
/// Hexadecimal digits of the id of a token in audit lines.
const ID_DIGITS: usize = 16;

/// Why a token doesn't count. The sentences are for the caller; none has a part of the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenProblem {
    #[error("the token is no signed JSON web token")]
    Malformed,
    #[error("a claim that every token needs is missing or malformed: `exp`, `iss`, `aud`, or `nbf`")]
    Claims,
    #[error("the issuer of the token isn't known here")]
    Issuer,
    #[error("the algorithm of the signature isn't allowed")]
    Algorithm,
    #[error("the signature isn't one by a key of the issuer")]
    Signature,
    #[error("the token has expired")]
    Expired,
    #[error("the token isn't valid yet")]
    NotYet,
    #[error("the token isn't made for this server; ask for it with `resource`")]
    Audience,
    #[error("the client of the token may not bring tokens here")]
    Client,
    #[error("it is no access token")]
    Kind,
    #[error("the token is bound to a key of its holder, which isn't supported here")]
    Bound,
    #[error("the token has no claim that names the caller")]
    Name,
    /// The token is right, and no rule of the configuration fits its claims.
    #[error("no tenant is open to this caller; an operator writes a rule in `[[issuers.NAME.callers]]`")]
    NoRule,
    /// The keys of the issuer can't be had for now.
    #[error("the keys of the token's issuer can't be fetched now; ask again")]
    Unavailable,
}

/// An issuer with its settings.
#[derive(Debug)]
pub(crate) struct Issuer {
    name: String,
    section: IssuerSection,
    /// The scopes of the rules.
    scopes: Vec<Scope>,
    pub(crate) keys: Arc<IssuerKeys>,
}

/// What else decides about the claims of a token.
#[derive(Debug, Clone, Copy)]
struct Circumstances {
    /// Whether its header calls it an access token.
    is_access: bool,
    keys_version: u64,
    /// The version of the configuration.
    configured: u64,
}

/// A token that doesn't count.
#[derive(Debug)]
pub(crate) struct RefusedToken {
    pub(crate) problem: TokenProblem,
    /// What was found in a token whose signature is right, for operators.
    pub(crate) found: String,
}

/// What a token that was checked says.
#[derive(Debug, Clone)]
pub(crate) struct CheckedToken {
    pub(crate) principal: Principal,
    pub(crate) audiences: Vec<String>,
    /// When it ends, in seconds since 1970.
    pub(crate) ends: u64,
    /// The version of the keys that it was checked with.
    pub(crate) keys_version: u64,
}

impl Issuer {
    /// An issuer whose section was checked.
    pub(crate) fn new(name: &str, section: &IssuerSection, keys: Arc<IssuerKeys>) -> Self {
        // A rule that can't be read, which a checked configuration excludes, opens nothing.
        let nothing = || Scope::of_operations(OperationSet::NONE);
        let scopes = section.callers.iter().map(|rule| rule.scope().unwrap_or_else(|_| nothing()));
        Self { name: name.to_owned(), section: section.clone(), scopes: scopes.collect(), keys }
    }

    /// The name of its table.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Checks everything of a token but its audience, which depends on the request. `configured` is the version of the configuration.
    pub(crate) async fn check(
        &self,
        token: &str,
        header: &Header,
        configured: u64,
    ) -> Result<CheckedToken, RefusedToken> {
        let is_allowed = |one: &codeyard_config::SignatureAlgorithm| one.as_str() == format!("{:?}", header.alg);
        if !self.section.algorithms.iter().any(is_allowed) {
            return Err(RefusedToken { found: format!("alg {:?}", header.alg), ..TokenProblem::Algorithm.into() });
        }
        let kind = header.typ.as_deref().unwrap_or("JWT").to_ascii_lowercase();
        if !KINDS.contains(&kind.as_str()) || header.cty.is_some() {
            return Err(TokenProblem::Kind.into());
        }
        let is_access = kind.ends_with("at+jwt");
        let found = self.keys.find(header.kid.as_deref(), header.alg).await;
        let found = found.map_err(|_| TokenProblem::Unavailable)?;
        let circumstances = Circumstances { is_access, keys_version: found.version, configured };
        let mut problem = TokenProblem::Signature;
        for key in &found.keys {
            match self.verified(token, key, header.alg) {
                Ok(claims) => {
                    let opened = self.opened(token, &claims, &circumstances);
                    return opened.map_err(|problem| RefusedToken { found: self.looked_at(&claims), problem });
                }
                Err(TokenProblem::Signature) => {}
                Err(other) => problem = other,
            }
        }
        Err(problem.into())
    }

    /// The claims of a token with a right signature, within its time.
    fn verified(&self, token: &str, key: &DecodingKey, algorithm: Algorithm) -> Result<Claims, TokenProblem> {
        let mut validation = Validation::new(algorithm);
        validation.leeway = self.section.clock_skew_s;
        validation.validate_nbf = true;
        // Audiences depend on the request.
        validation.validate_aud = false;
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        let decoded = decode::<StrictValue>(token, key, &validation).map_err(|error| problem(&error))?;
        Claims::new(decoded.claims.0).ok_or(TokenProblem::Malformed)
    }

    /// What the claims open.
    fn opened(
        &self,
        token: &str,
        claims: &Claims,
        circumstances: &Circumstances,
    ) -> Result<CheckedToken, TokenProblem> {
        let Circumstances { is_access, keys_version, configured } = *circumstances;
        if claims.text("iss") != Some(self.section.url.as_str()) {
            return Err(TokenProblem::Issuer);
        }
        if claims.is_of_other_kind(is_access) {
            return Err(TokenProblem::Kind);
        }
        if claims.is_bound() {
            return Err(TokenProblem::Bound);
        }
        let client = CLIENT_CLAIMS.iter().find_map(|name| claims.text(name));
        let clients = &self.section.clients;
        if !clients.is_empty() && !client.is_some_and(|client| clients.iter().any(|one| one == client)) {
            return Err(TokenProblem::Client);
        }
        let ends = claims.seconds("exp").ok_or(TokenProblem::Claims)?.saturating_add(self.section.clock_skew_s);
        let (rule, scope) = self.rule(claims).ok_or(TokenProblem::NoRule)?;
        let tenant = tenant(rule, claims, self.section.list_separator.as_deref()).ok_or(TokenProblem::NoRule)?;
        let scope = if self.section.scopes { scope.narrowed(scopes(claims)) } else { scope.clone() };
        let principal = Principal {
            tenant,
            id: self.principal_id(claims)?,
            scope: Arc::new(scope),
            credential: Some(Credential::signed_on(&hex(&sha256(token))[..ID_DIGITS], ends, configured, keys_version)),
        };
        let audiences = claims.texts("aud").into_iter().map(str::to_owned).collect();
        Ok(CheckedToken { principal, audiences, ends, keys_version })
    }

    /// The claims that the settings look at, for a person.
    fn looked_at(&self, claims: &Claims) -> String {
        let of_rules = self.section.callers.iter().flat_map(|rule| rule.claim.iter().chain(&rule.tenant_claim));
        let mut names: Vec<&str> = of_rules.map(String::as_str).chain(CLIENT_CLAIMS).chain(["typ"]).collect();
        names.push(&self.section.name_claim);
        names.sort_unstable();
        names.dedup();
        let shown = names.iter().map(|name| (name, claims.texts(name))).filter(|(_, texts)| !texts.is_empty());
        let mut shown: Vec<String> = shown.map(|(name, texts)| format!("{name}: {}", texts.join(", "))).collect();
        if CLIENT_CLAIMS.iter().all(|name| claims.text(name).is_none()) {
            shown.push("no client".to_owned());
        }
        shown.join("; ")
    }

    /// The first rule that fits, with its scope.
    fn rule(&self, claims: &Claims) -> Option<(&CallerRule, &Scope)> {
        let fits = |rule: &CallerRule| match (&rule.claim, &rule.is) {
            (Some(claim), Some(wanted)) => {
                self.is_trusted(claim, claims) && claims.has(claim, wanted, self.section.list_separator.as_deref())
            }
            _ => true,
        };
        self.section.callers.iter().zip(&self.scopes).find(|(rule, _)| fits(rule))
    }

    /// Whether the issuer stands for the claim: an e-mail address may be anybody's until it was checked.
    fn is_trusted(&self, claim: &str, claims: &Claims) -> bool {
        let is_email = claim == "email" || claim.ends_with(".email");
        !is_email || self.section.trust_emails || claims.has_checked_email()
    }

    /// `NAME@ISSUER`: two issuers may have callers of the same name. One that is no name of a principal is there by its digest.
    fn principal_id(&self, claims: &Claims) -> Result<PrincipalId, TokenProblem> {
        let claim = &self.section.name_claim;
        let is_trusted = self.is_trusted(claim, claims);
        let name = claims.text(claim).filter(|name| !name.is_empty() && is_trusted).ok_or(TokenProblem::Name)?;
        let plain = format!("{name}@{}", self.name);
        // No plain name looks like a digest, so nobody has a name that is another's digest.
        let is_plain = PrincipalId::is_well(&plain) && !name.contains('/') && !name.starts_with(DIGEST_START);
        let digest = || format!("{DIGEST_START}{}@{}", &hex(&sha256(name))[..ID_DIGITS], self.name);
        Ok(PrincipalId::new(&if is_plain { plain } else { digest() }))
    }

    /// Whether one of the audiences of a token counts for a request to `url`. `server` is the server's own URL.
    pub(crate) fn accepts(&self, audiences: &[String], url: &str, server: &str) -> bool {
        let same = |one: &str, other: &str| one.trim_end_matches('/') == other.trim_end_matches('/');
        let configured = |audience: &str| {
            self.section.audiences.iter().any(|known| match known.strip_suffix('*') {
                Some(start) => audience.starts_with(start),
                None => audience == known,
            })
        };
        audiences.iter().any(|audience| same(audience, url) || same(audience, server) || configured(audience))
    }

    /// Whether scopes of its tokens say what they allow.
    pub(crate) fn has_scopes(&self) -> bool {
        self.section.scopes
    }

    /// Its issuer identifier.
    pub(crate) fn url(&self) -> &str {
        &self.section.url
    }
}

impl From<TokenProblem> for RefusedToken {
    fn from(problem: TokenProblem) -> Self {
        Self { problem, found: String::new() }
    }
}

/// The issuer that an unchecked token names.
pub(crate) fn named_issuer(token: &str) -> Result<String, TokenProblem> {
    let claims = insecure_decode_claims::<StrictValue>(token).map_err(|_| TokenProblem::Malformed)?;
    let claims = Claims::new(claims.0).ok_or(TokenProblem::Malformed)?;
    claims.text("iss").map(str::to_owned).ok_or(TokenProblem::Issuer)
}

/// The operations that the scopes of a token name. Other scopes are for others.
fn scopes(claims: &Claims) -> OperationSet {
    let known = claims.scopes().filter(|word| OperationSet::parse([*word]).is_ok());
    OperationSet::parse(known).unwrap_or_default()
}

fn tenant(rule: &CallerRule, claims: &Claims, separator: Option<&str>) -> Option<TenantId> {
    let name = match (&rule.tenant, &rule.tenant_claim) {
        (Some(tenant), _) => tenant,
        (None, Some(claim)) => rule.tenants.iter().find(|tenant| claims.has(claim, tenant, separator))?,
        (None, None) => return None,
    };
    TenantId::new(name)
}

fn problem(error: &Error) -> TokenProblem {
    match error.kind() {
        ErrorKind::InvalidSignature | ErrorKind::InvalidKeyFormat => TokenProblem::Signature,
        ErrorKind::InvalidAlgorithm | ErrorKind::UnsupportedAlgorithm => TokenProblem::Algorithm,
        ErrorKind::ExpiredSignature => TokenProblem::Expired,
        ErrorKind::ImmatureSignature => TokenProblem::NotYet,
        ErrorKind::MissingRequiredClaim(claim) if claim == "aud" => TokenProblem::Audience,
        ErrorKind::MissingRequiredClaim(_) | ErrorKind::InvalidClaimFormat(_) => TokenProblem::Claims,
        _ => TokenProblem::Malformed,
    }
}
