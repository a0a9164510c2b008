//! The caller of a request.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use crate::{Credential, CredentialKind, Operation, Scope};
use codeyard_base::ids::{PrincipalId, TenantId, WorkspaceName};
use codeyard_base::seeded_faults;

/// A caller: its tenant, its name there, and what its credential opens. Two requests of one name in one tenant are of the same principal,
/// whatever their credentials open.
#[derive(Debug, Clone)]
pub struct Principal {
    /// The tenant of the principal.
    pub tenant: TenantId,
    /// The name that the token belongs to, or `local`.
    pub id: PrincipalId,
    /// What the credential opens.
    pub scope: Arc<Scope>,
    /// What the caller showed; `None` where nothing is needed.
    pub credential: Option<Credential>,
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        (&self.tenant, &self.id) == (&other.tenant, &other.id)
    }
}

impl Eq for Principal {}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.tenant, &self.id).hash(state);
    }
}

impl Principal {
    /// The principal of stdio, and of loopback connections without tokens.
    pub fn local() -> Self {
        static LOCAL: LazyLock<Principal> = LazyLock::new(|| Principal::named(PrincipalId::local()));
        LOCAL.clone()
    }

    /// The local principal in the tenant of the workspace that it names, as it names it, and the name in that tenant. Who may connect locally is
    /// an operator of the service.
    pub fn local_for(workspace: Option<&str>) -> (Self, Option<&str>) {
        let (tenant, name) = workspace.map(TenantId::split).unzip();
        (tenant.map_or_else(Self::local, Self::local_in), name)
    }

    /// The local principal in a tenant.
    pub fn local_in(tenant: TenantId) -> Self {
        Self { tenant, ..Self::local() }
    }

    /// A principal of the tenant `default` whose credential opens all of it to callers of tools.
    pub fn named(id: PrincipalId) -> Self {
        Self { tenant: TenantId::default_tenant(), id, scope: Scope::calls(), credential: None }
    }

    /// Whether the workspace is there for the caller.
    pub fn sees(&self, workspace: &WorkspaceName) -> bool {
        let is_ours = workspace.is_in(&self.tenant) || seeded_faults::is_on("tenant_unchecked");
        is_ours && self.scope.covers(workspace)
    }

    /// Whether the credential allows the operation in the workspaces that the caller sees.
    pub fn may(&self, operation: Operation) -> bool {
        self.scope.permits(operation)
    }

    /// Whether its credential was minted from another one. Nothing that its holder does outlives it.
    pub fn is_minted(&self) -> bool {
        self.credential.as_ref().is_some_and(|credential| credential.kind == CredentialKind::Minted)
    }

    /// How operators know it, in the configuration too: its name, `TENANT/NAME` in another tenant than `default`.
    pub fn name(&self) -> String {
        self.tenant.qualified(self.id.as_str())
    }

    /// A text that no other principal has: the name of one of the tenant `default` may have a `/`, but none has a blank.
    pub fn key(&self) -> String {
        if self.tenant.is_default() { self.id.to_string() } else { format!("{} {}", self.tenant, self.id) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OperationSet;

    fn principal(tenant: &str, id: &str, patterns: &[&str]) -> Principal {
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let scope = Arc::new(Scope::new(&patterns, OperationSet::CALLS).unwrap());
        Principal { tenant: TenantId::new(tenant).unwrap(), id: PrincipalId::new(id), scope, credential: None }
    }

    #[test]
    fn a_principal_sees_workspaces_of_its_tenant_and_scope() {
        let seen = |by: &Principal| -> Vec<&str> {
            let names = ["web", "api", "team-a/web", "team-a/api", "team-b/web"];
            names.into_iter().filter(|name| by.sees(&WorkspaceName::new(name).unwrap())).collect()
        };
        assert_eq!(seen(&Principal::local()), ["web", "api"]);
        assert_eq!(seen(&principal("team-a", "ann", &[])), ["team-a/web", "team-a/api"]);
        assert_eq!(seen(&principal("team-a", "ann", &["w*"])), ["team-a/web"]);
        assert_eq!(seen(&principal("team-c", "ann", &[])), Vec::<&str>::new());
    }

    #[test]
    fn principals_are_those_of_a_tenant_whatever_their_scopes() {
        let ann = principal("team-a", "ann", &[]);
        assert_eq!(ann, principal("team-a", "ann", &["w*"]));
        assert_ne!(ann, principal("team-b", "ann", &[]));
        let keys =
            [ann, principal("default", "ann", &[]), principal("default", "team-a/ann", &[])].map(|one| one.key());
        assert_eq!(keys, ["team-a ann", "ann", "team-a/ann"]);
    }
}
