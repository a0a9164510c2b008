//! `[issuers.NAME]`: authorization servers whose access tokens callers may bring, and what their claims open.

use std::collections::BTreeSet;
use std::path::PathBuf;

use http::Uri;
use serde::{Deserialize, Serialize};

use crate::error::ConfigError;
use crate::limits::{MAX_CALLER_RULES, MAX_CLOCK_SKEW_S, MAX_ISSUERS};
use crate::{Config, ServerSection};
use codeyard_access::{Operation, OperationSet, Scope};
use codeyard_base::ids::{TenantId, is_name};
use codeyard_base::words;

words! {
    /// An algorithm of signatures (RFC 7518, section 3.1; RFC 8037).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
    pub enum SignatureAlgorithm {
        /// RSA with SHA-256.
        #[serde(rename = "RS256")]
        Rs256 => "RS256",
        /// RSA with SHA-384.
        #[serde(rename = "RS384")]
        Rs384 => "RS384",
        /// RSA with SHA-512.
        #[serde(rename = "RS512")]
        Rs512 => "RS512",
        /// RSA-PSS with SHA-256.
        #[serde(rename = "PS256")]
        Ps256 => "PS256",
        /// RSA-PSS with SHA-384.
        #[serde(rename = "PS384")]
        Ps384 => "PS384",
        /// RSA-PSS with SHA-512.
        #[serde(rename = "PS512")]
        Ps512 => "PS512",
        /// ECDSA with P-256.
        #[serde(rename = "ES256")]
        Es256 => "ES256",
        /// ECDSA with P-384.
        #[serde(rename = "ES384")]
        Es384 => "ES384",
        /// Ed25519.
        #[serde(rename = "EdDSA")]
        EdDsa => "EdDSA",
    }
    /// The name in the header of a token.
    fn as_str;
}

/// `[issuers.NAME]`: an authorization server (OAuth 2.1, OpenID Connect). Callers bring its access tokens in place of tokens of codeyard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IssuerSection {
    /// Its issuer identifier: the `iss` of its tokens, to the letter.
    pub url: String,
    /// Where its keys are (JWKS). Default: what its metadata says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys_url: Option<String>,
    /// PEM file with the certificates of the authorities that its server's certificate may come from. Default: those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<PathBuf>,
    /// Audiences that count besides the URL that a call is sent to, such as a client's id. One that ends with `*` counts for all audiences
    /// that begin with it.
    #[serde(default)]
    pub audiences: Vec<String>,
    /// Clients (`azp` or `client_id`) that may bring tokens. Default: all.
    #[serde(default)]
    pub clients: Vec<String>,
    /// Algorithms of signatures that count.
    #[serde(default = "all_algorithms")]
    pub algorithms: Vec<SignatureAlgorithm>,
    /// How far the clocks of the two servers may differ, in seconds.
    #[serde(default = "clock_skew_s")]
    pub clock_skew_s: u64,
    /// The claim that names the caller. Its principal is `VALUE@NAME`, with the name of this table.
    #[serde(default = "name_claim")]
    pub name_claim: String,
    /// Whether all e-mail addresses count that the issuer writes. Without it only those count that it says it has checked (`email_verified`).
    #[serde(default)]
    pub trust_emails: bool,
    /// What it writes between the members of a list that it writes as one text, such as `;`. Default: a text is one value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_separator: Option<String>,
    /// Whether the `scope` of a token names the operations that it allows. With `false` the rules below decide alone.
    #[serde(default = "yes")]
    pub scopes: bool,
    /// Who may do what. The first rule that fits a token decides; a token that none fits opens nothing.
    pub callers: Vec<CallerRule>,
}

/// `[[issuers.NAME.callers]]`: the callers with a claim, and what they may do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CallerRule {
    /// A claim of the token, such as `groups`, or `realm_access.roles` for one inside of another. Default: the rule fits every token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// What the claim is, or has in its list. Names of LDAP are compared as such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
    /// The tenant of the callers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The claim that names the tenant, in place of `tenant`. Only those of `tenants` count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_claim: Option<String>,
    /// Tenants that `tenant_claim` may name.
    pub tenants: Vec<String>,
    /// Patterns of the tenant's workspaces, such as `web*` or `!old`. Default: all.
    pub workspaces: Vec<String>,
    /// What they may do: `lsp`, `search`, `index`, `launch`, `edit`. Default: all of these.
    pub operations: Vec<String>,
}

impl CallerRule {
    /// What the rule allows.
    ///
    /// # Errors
    /// A sentence about the first wrong pattern or word.
    pub fn scope(&self) -> Result<Scope, String> {
        let operations = match self.operations.as_slice() {
            [] => OperationSet::CALLS,
            words => OperationSet::parse(words.iter().map(String::as_str)).map_err(|wrong| wrong.to_string())?,
        };
        match operations.iter().find(|operation| !OperationSet::CALLS.contains(*operation)) {
            Some(admin) => {
                Err(format!("`{}` needs a token of codeyard (`codeyard token add --admin`)", admin.as_str()))
            }
            None => Scope::new(&self.workspaces, operations),
        }
    }

    fn check(&self, key: &str) -> Result<(), ConfigError> {
        let at = |inner: &str| format!("{key}.{inner}");
        if self.claim.is_some() != self.is.is_some() {
            let remedy =
                "write both, such as claim = \"groups\" and is = \"team-a\", or none for a rule that fits every token";
            return Err(ConfigError::at(at("claim"), "`claim` and `is` belong together", remedy));
        }
        let named: Vec<&String> = self.tenant.iter().chain(&self.tenants).collect();
        if let Some(wrong) = named.iter().find(|name| TenantId::new(name).is_none()) {
            let remedy = "use 1 to 64 of a-z, 0-9, '.', '_' and '-', with a letter or digit first";
            return Err(ConfigError::at(at("tenant"), format!("`{wrong}` is not the name of a tenant"), remedy));
        }
        match (&self.tenant, &self.tenant_claim, self.tenants.as_slice()) {
            (Some(_), None, []) | (None, Some(_), [_, ..]) => {}
            (None, Some(_), []) => {
                let remedy = "list the tenants that the claim may name";
                return Err(ConfigError::at(at("tenants"), "`tenant_claim` needs `tenants`", remedy));
            }
            _ => {
                let remedy = "write tenant = \"team-a\", or tenant_claim with the list tenants";
                return Err(ConfigError::at(at("tenant"), "a rule needs one source of the tenant", remedy));
            }
        }
        let wrong = |problem| ConfigError::at(at("operations"), problem, "correct `workspaces` or `operations`");
        self.scope().map(drop).map_err(wrong)
    }
}

/// Checks `[issuers.*]` and `server.public_url`.
pub(crate) fn check(config: &Config) -> Result<(), ConfigError> {
    let public_url = config.server.public_url.as_deref();
    if let Some(url) = public_url
        && (!is_secure(url) || url.trim_end_matches('/').ends_with("/mcp"))
    {
        let remedy = "write the URL of the server as its clients do, without /mcp, such as https://code.example.org";
        return Err(ConfigError::at("server.public_url", format!("`{url}` is not such a URL"), remedy));
    }
    if config.issuers.len() > MAX_ISSUERS {
        let problem = format!("there are more than {MAX_ISSUERS} issuers");
        return Err(ConfigError::at("issuers", problem, "remove some"));
    }
    if !config.issuers.is_empty() && public_url.is_none() {
        let remedy = "add `public_url = \"https://code.example.org\"` to [server]: tokens are made for that URL";
        return Err(ConfigError::at("server.public_url", "issuers need the server's own URL", remedy));
    }
    if !config.issuers.is_empty() && config.server.no_auth {
        let remedy = "set server.no_auth to false, or remove the issuers";
        return Err(ConfigError::at("server.no_auth", "without authentication no token is read", remedy));
    }
    let certificates = config.server.tls.iter().flat_map(|tls| &tls.callers);
    let is_of_issuer =
        |name: &str| name.rsplit_once('@').is_some_and(|(_, issuer)| config.issuers.contains_key(issuer));
    if let Some(caller) = certificates.into_iter().find(|caller| is_of_issuer(&caller.principal)) {
        let problem = format!("`{}` is the name of a caller of an issuer", caller.principal);
        return Err(ConfigError::at(
            "server.tls.callers",
            problem,
            "give the caller of the certificate another `principal`",
        ));
    }
    let mut urls = BTreeSet::new();
    for (name, issuer) in &config.issuers {
        let key = format!("issuers.{name}");
        if !is_name(name) {
            let remedy = "use 1 to 64 of a-z, 0-9, '.', '_' and '-', with a letter or digit first";
            return Err(ConfigError::at(key, format!("`{name}` is not the name of an issuer"), remedy));
        }
        issuer.check(&key)?;
        if !urls.insert(&issuer.url) {
            let remedy = "write one table for it, with all its rules";
            return Err(ConfigError::at(format!("{key}.url"), "another issuer has this URL", remedy));
        }
    }
    Ok(())
}

impl IssuerSection {
    fn check(&self, key: &str) -> Result<(), ConfigError> {
        let at = |inner: &str| format!("{key}.{inner}");
        // Some servers have their keys behind a query.
        let keys_url = self.keys_url.as_deref().map(|url| url.split('?').next().unwrap_or_default());
        for (inner, url) in [("url", Some(self.url.as_str())), ("keys_url", keys_url)] {
            if url.is_some_and(|url| !is_secure(url)) {
                let remedy =
                    "write it with https://, without a query; http:// counts for 127.0.0.1, [::1] and localhost only";
                return Err(ConfigError::at(at(inner), "it is not the URL of an authorization server", remedy));
            }
        }
        let texts = self.audiences.iter().chain(&self.clients).chain(&self.list_separator).chain([&self.name_claim]);
        let texts = texts
            .chain(self.callers.iter().flat_map(|rule| rule.claim.iter().chain(&rule.is).chain(&rule.tenant_claim)));
        if texts.clone().any(String::is_empty) {
            let remedy = "write the text, or leave the key out";
            return Err(ConfigError::at(key, "a text in it is empty", remedy));
        }
        if self.audiences.iter().any(|audience| audience == "*") {
            let remedy = "write how the audiences begin that are meant for this server";
            return Err(ConfigError::at(at("audiences"), "`*` would accept tokens that are made for others", remedy));
        }
        if self.algorithms.is_empty() {
            let remedy = "name at least one, or leave the key out for all";
            return Err(ConfigError::at(at("algorithms"), "without an algorithm no token is valid", remedy));
        }
        if self.clock_skew_s > MAX_CLOCK_SKEW_S {
            let problem = format!("{} s are more than {MAX_CLOCK_SKEW_S}", self.clock_skew_s);
            return Err(ConfigError::at(at("clock_skew_s"), problem, "set the clocks by NTP, and write 60"));
        }
        if self.callers.is_empty() || self.callers.len() > MAX_CALLER_RULES {
            let problem = format!("there are {} rules, and 1 to {MAX_CALLER_RULES} are possible", self.callers.len());
            return Err(ConfigError::at(at("callers"), problem, "say who may do what in [[issuers.NAME.callers]]"));
        }
        let mut rules = self.callers.iter().enumerate();
        rules.try_for_each(|(index, rule)| rule.check(&format!("{key}.callers[{index}]")))
    }
}

impl ServerSection {
    /// The URL of the server as its clients write it, without a `/` at the end.
    pub fn public_url(&self) -> Option<&str> {
        self.public_url.as_deref().map(|url| url.trim_end_matches('/'))
    }
}

/// Whether a URL is one of https, or of http on this machine, and has neither query nor fragment.
fn is_secure(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let is_plain = uri.query().is_none() && !url.contains(['#', '@', '*', '"', '\\']) && !url.ends_with("//");
    let host = uri.host().unwrap_or_default();
    let is_local = ["127.0.0.1", "[::1]", "localhost"].contains(&host);
    is_plain && !host.is_empty() && matches!((uri.scheme_str(), is_local), (Some("https"), _) | (Some("http"), true))
}

fn all_algorithms() -> Vec<SignatureAlgorithm> {
    SignatureAlgorithm::ALL.to_vec()
}

fn clock_skew_s() -> u64 {
    60
}

fn name_claim() -> String {
    "sub".to_owned()
}

fn yes() -> bool {
    true
}

/// The scopes that clients can ask for: the words of these operations.
pub fn scope_words(operations: OperationSet) -> String {
    let words: Vec<&str> = operations.iter().map(Operation::as_str).collect();
    words.join(" ")
}
