//! `[server.tls]`: the certificate of the listeners on TCP, and the callers that certificates name.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::ConfigError;
use codeyard_access::{OperationSet, Scope};
use codeyard_base::ids::{PrincipalId, TenantId};

/// Entries of `[[server.tls.callers]]`.
const MAX_CERTIFICATE_CALLERS: usize = 1_024;

/// `[server.tls]`: TLS on the listeners of `server.listen` and `admin.listen`. The files are read again when they change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsSection {
    /// File with the certificate and those of the authorities between it and the root, in PEM. Relative paths begin at the configuration file.
    pub certificate: PathBuf,
    /// File with the certificate's private key, in PEM.
    pub key: PathBuf,
    /// File with the certificates of the authorities that sign certificates of callers, in PEM. Without it no caller is asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ca: Option<PathBuf>,
    /// Callers that need no token, because their certificate names them. The first entry counts whose name is in the certificate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<CertificateCaller>,
}

/// `[[server.tls.callers]]`: the principal of the certificates with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CertificateCaller {
    /// A subject alternative name of the certificate: a DNS name, a URI such as `spiffe://example.org/ci`, or an e-mail address. It is compared
    /// as a whole; a `*` has no meaning.
    pub name: String,
    /// Tenant whose workspaces the caller sees.
    #[serde(default = "default_tenant")]
    pub tenant: String,
    /// Name of the principal, as in permissions and quotas.
    pub principal: String,
    /// Patterns of the workspaces, as in `codeyard token add --workspace`. Default: all of the tenant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<String>,
    /// Operations, as in `codeyard token add --operation`. Default: all but those of the admin API.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<String>,
}

fn default_tenant() -> String {
    TenantId::default_tenant().as_str().to_owned()
}

impl CertificateCaller {
    /// What the caller may do.
    ///
    /// # Errors
    /// A sentence about what is wrong, and what to write.
    pub fn scope(&self) -> Result<Scope, (String, &'static str)> {
        let operations = match self.operations.as_slice() {
            [] => OperationSet::CALLS,
            words => OperationSet::parse(words.iter().map(String::as_str))
                .map_err(|wrong| (wrong.to_string(), "correct the word in `operations`"))?,
        };
        if operations.intersection(OperationSet::CALLS) != operations {
            return Err(("a certificate doesn't open the admin API".to_owned(), "use an admin token for it"));
        }
        Scope::new(&self.workspaces, operations)
            .map_err(|wrong| (wrong, "write names of workspaces, or patterns such as `svc-*` or `!svc-old`"))
    }

    /// The name of the principal in permissions: `TENANT/NAME` in another tenant than `default`.
    pub(crate) fn qualified(&self) -> Option<String> {
        Some(TenantId::new(&self.tenant)?.qualified(&self.principal))
    }

    fn check(&self, key: &str) -> Result<(), ConfigError> {
        let error =
            |name: &str, problem: String, remedy: &str| Err(ConfigError::at(format!("{key}.{name}"), problem, remedy));
        if self.name.is_empty() || !self.name.bytes().all(|byte| byte.is_ascii_graphic()) {
            let remedy = "write a DNS name, a URI or an e-mail address of the certificate";
            return error("name", format!("`{}` is no name of a certificate", self.name.escape_debug()), remedy);
        }
        if TenantId::new(&self.tenant).is_none() {
            let remedy = "use 1 to 64 of a-z, 0-9, '.', '_' and '-', with a letter or digit first";
            return error("tenant", format!("`{}` is not the name of a tenant", self.tenant), remedy);
        }
        if !PrincipalId::is_well(&self.principal) || self.principal.contains('/') {
            let remedy = "use 1 to 64 printable ASCII characters without a space or `/`";
            return error("principal", format!("`{}` is not a principal's name", self.principal), remedy);
        }
        self.scope().map(drop).map_err(|(problem, remedy)| ConfigError::at(key, problem, remedy))
    }
}

impl TlsSection {
    /// The paths of the files, with the names of their keys.
    pub(crate) fn files(&mut self) -> impl Iterator<Item = (&'static str, &mut PathBuf)> {
        let required = [("certificate", &mut self.certificate), ("key", &mut self.key)];
        required.into_iter().chain(self.client_ca.as_mut().map(|path| ("client_ca", path)))
    }

    /// Checks the callers.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let key = "server.tls.callers";
        if self.callers.len() > MAX_CERTIFICATE_CALLERS {
            let problem = format!("{} entries, but at most {MAX_CERTIFICATE_CALLERS} are allowed", self.callers.len());
            return Err(ConfigError::at(key, problem, "remove some, or give callers tokens"));
        }
        if self.client_ca.is_none() && !self.callers.is_empty() {
            let problem = "no certificate of a caller can be checked without server.tls.client_ca";
            return Err(ConfigError::at(key, problem, "set server.tls.client_ca to the file of their authorities"));
        }
        let mut names = BTreeSet::new();
        for (index, caller) in self.callers.iter().enumerate() {
            let key = format!("{key}[{index}]");
            if !names.insert(&caller.name) {
                let problem = format!("another entry has the name `{}` too", caller.name);
                return Err(ConfigError::at(format!("{key}.name"), problem, "remove one of them"));
            }
            caller.check(&key)?;
        }
        Ok(())
    }
}
