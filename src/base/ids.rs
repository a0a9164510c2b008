//! Typed names of workspaces, groups of workspaces, tenants, principals, kinds of language servers, and languages.
//!
//! Invariants: a [`GroupName`], a [`TenantId`] and the parts of a [`WorkspaceName`] always match `[a-z0-9][a-z0-9._-]{0,63}`; two tenants never
//! have the same [`WorkspaceName`], so whatever is kept by it is kept by tenant.

use std::fmt;
use std::sync::{Arc, LazyLock};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// The name of a workspace in the service: `NAME` for one of the tenant `default`, `TENANT/NAME` for one of another tenant.
    WorkspaceName
);
text_id!(
    /// The name of a group of workspaces, without the `@` that endpoints write before it.
    GroupName
);
text_id!(
    /// The name of a tenant. Workspaces and tokens that name none belong to the tenant `default`.
    TenantId
);
text_id!(
    /// The principal of a request: the name of its token, or `local` where no token is required.
    PrincipalId
);
text_id!(
    /// A kind of language server, the key of its entry in the registry (`ty`, `clangd`).
    ServerKind
);
text_id!(
    /// A language of the registry, an LSP language id (`python`, `typescriptreact`).
    LanguageId
);

/// Whether `text` has the form of a name: 1 to 64 of `a-z`, `0-9`, `.`, `_`, `-`, the first of them a letter or digit.
pub fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let head = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let tail = |b: &u8| head(b) || matches!(b, b'.' | b'_' | b'-');
    (1..=64).contains(&bytes.len()) && head(&bytes[0]) && bytes.iter().all(tail)
}

impl WorkspaceName {
    /// The workspace that `NAME` or `TENANT/NAME` means to an operator; `None` if `text` has another form.
    pub fn new(text: &str) -> Option<Self> {
        match text.split_once('/') {
            Some((tenant, name)) => Self::in_tenant(&TenantId::new(tenant)?, name),
            None => Self::in_tenant(&TenantId::default_tenant(), text),
        }
    }

    /// The workspace that `name` means to a caller of this tenant; `None` if it doesn't have the form of a name.
    pub fn in_tenant(tenant: &TenantId, name: &str) -> Option<Self> {
        is_name(name).then(|| Self(tenant.qualified(name).into()))
    }

    /// The name inside its tenant, by which its callers know it.
    pub fn short(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// Its tenant.
    pub fn tenant(&self) -> TenantId {
        self.0.split_once('/').map_or_else(TenantId::default_tenant, |(tenant, _)| TenantId(tenant.into()))
    }

    /// Whether it belongs to `tenant`.
    pub fn is_in(&self, tenant: &TenantId) -> bool {
        match self.0.split_once('/') {
            Some((own, _)) => own == tenant.as_str(),
            None => tenant.is_default(),
        }
    }

    /// The name of a folder or file of this workspace alone. `@` is in no name.
    pub fn file_name(&self) -> String {
        self.0.replace('/', "@")
    }

    /// The valid name nearest to `text`, for a workspace that is named after its folder; `root` if no character remains.
    pub fn from_folder(tenant: &TenantId, text: &str) -> Self {
        let kept: String = text
            .to_lowercase()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
            .skip_while(|c| !c.is_ascii_alphanumeric())
            .take(64)
            .collect();
        let name = Self::in_tenant(tenant, &kept).or_else(|| Self::in_tenant(tenant, "root"));
        name.unwrap_or_else(|| Self("root".into()))
    }
}

impl GroupName {
    /// The group of all workspaces that a caller may see. No configuration defines it.
    pub const ALL: &'static str = "all";

    /// The group of all workspaces.
    pub fn all() -> Self {
        Self(Self::ALL.into())
    }

    /// The name, or `None` if `text` doesn't have the form of one.
    pub fn new(text: &str) -> Option<Self> {
        is_name(text).then(|| Self(text.into()))
    }

    /// The group that the name in an endpoint's path means, such as `@all`; `None` if it means a workspace.
    pub fn of_endpoint(text: &str) -> Option<Self> {
        Self::new(text.strip_prefix('@')?)
    }

    /// The name as endpoints and messages write it: `@all`.
    pub fn at(&self) -> String {
        format!("@{}", self.0)
    }
}

/// Names compare as their texts do.
impl std::borrow::Borrow<str> for WorkspaceName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl TenantId {
    const DEFAULT: &'static str = "default";

    /// The tenant of everything that names none.
    pub fn default_tenant() -> Self {
        static DEFAULT: LazyLock<TenantId> = LazyLock::new(|| TenantId(TenantId::DEFAULT.into()));
        DEFAULT.clone()
    }

    /// The name, or `None` if `text` doesn't have the form of one.
    pub fn new(text: &str) -> Option<Self> {
        is_name(text).then(|| Self(text.into()))
    }

    /// The tenant that `TENANT/NAME` names, and the name in it; for a text of another form the tenant `default` and the text.
    pub fn split(text: &str) -> (Self, &str) {
        let named = text.split_once('/').and_then(|(tenant, name)| Some((Self::new(tenant)?, name)));
        named.unwrap_or_else(|| (Self::default_tenant(), text))
    }

    /// How operators write a name of this tenant: `TENANT/NAME`, or the name alone in the tenant `default`.
    pub fn qualified(&self, name: &str) -> String {
        if self.is_default() { name.to_owned() } else { format!("{self}/{name}") }
    }

    /// Whether it is the tenant of everything that names none.
    pub fn is_default(&self) -> bool {
        &*self.0 == Self::DEFAULT
    }
}

impl PrincipalId {
    /// Whether `text` is a valid name: 1 to 64 printable ASCII characters without spaces.
    pub fn is_well(text: &str) -> bool {
        (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
    }

    /// A principal of this name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The principal of calls that need no token: stdio, and loopback with `--no-auth`.
    pub fn local() -> Self {
        Self("local".into())
    }
}

impl ServerKind {
    /// The kind of this registry key.
    pub fn new(key: &str) -> Self {
        Self(key.into())
    }

    /// The text, shared rather than copied.
    pub fn shared(&self) -> Arc<str> {
        self.0.clone()
    }
}

impl LanguageId {
    /// The language of this LSP language id.
    pub fn new(id: &str) -> Self {
        Self(id.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_names() {
        for good in ["a", "0", "linux", "a.b_c-d", &"x".repeat(64)] {
            assert!(WorkspaceName::new(good).is_some(), "{good}");
        }
        for bad in ["", "A", "-a", ".a", "a/", "/a", "a/b/c", "a/B", "ä", &"x".repeat(65)] {
            assert!(WorkspaceName::new(bad).is_none(), "{bad}");
        }
        let own = TenantId::default_tenant();
        assert_eq!(WorkspaceName::from_folder(&own, "My Repo!").as_str(), "my-repo-");
        assert_eq!(WorkspaceName::from_folder(&own, "__").as_str(), "root");
        assert_eq!(GroupName::of_endpoint("@a.b").map(|name| name.at()).as_deref(), Some("@a.b"));
        for bad in ["a", "@", "@@a", "@A", "@-a"] {
            assert!(GroupName::of_endpoint(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_workspace_belongs_to_the_tenant_before_the_slash() {
        let team = TenantId::new("team-a").unwrap();
        let own = TenantId::default_tenant();
        let web = WorkspaceName::new("team-a/web").unwrap();
        assert_eq!(WorkspaceName::in_tenant(&team, "web").as_ref(), Some(&web));
        assert_eq!((web.as_str(), web.short(), web.tenant()), ("team-a/web", "web", team.clone()));
        assert!(web.is_in(&team) && !web.is_in(&own));
        let plain = WorkspaceName::new("default/web").unwrap();
        assert_eq!((plain.as_str(), plain.short(), plain.tenant()), ("web", "web", own.clone()));
        assert!(plain.is_in(&own) && !plain.is_in(&team));
        assert_eq!(WorkspaceName::in_tenant(&own, "team-a/web"), None, "a caller can't name another tenant");
        let folders = ["team-a", "team-a/web", "team-a.web"].map(|name| WorkspaceName::new(name).unwrap().file_name());
        assert_eq!(folders, ["team-a", "team-a@web", "team-a.web"], "each has a folder of its own");
        assert_eq!(WorkspaceName::from_folder(&team, "My Repo").as_str(), "team-a/my-repo");
    }
}
