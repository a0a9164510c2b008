//! Typed names of workspaces, groups of workspaces, tenants, principals, kinds of language servers, and languages.
//!
//! Invariant: a [`WorkspaceName`] and a [`GroupName`] always match `[a-z0-9][a-z0-9._-]{0,63}`.

use std::fmt;
use std::sync::Arc;

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
    /// The name of a workspace, `[a-z0-9][a-z0-9._-]{0,63}`.
    WorkspaceName
);
text_id!(
    /// The name of a group of workspaces, without the `@` that endpoints write before it.
    GroupName
);
text_id!(
    /// The name of a tenant. There is one tenant, `default`.
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

impl WorkspaceName {
    /// The name, or `None` if `text` doesn't have the form of one.
    pub fn new(text: &str) -> Option<Self> {
        Self::is_well(text).then(|| Self(text.into()))
    }

    /// Whether `text` has the form of a name.
    pub fn is_well(text: &str) -> bool {
        let bytes = text.as_bytes();
        let head = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let tail = |b: &u8| head(b) || matches!(b, b'.' | b'_' | b'-');
        (1..=64).contains(&bytes.len()) && head(&bytes[0]) && bytes.iter().all(tail)
    }

    /// The valid name nearest to `text`, for a workspace that is named after its folder; `root` if no character remains.
    pub fn from_folder(text: &str) -> Self {
        let kept: String = text
            .to_lowercase()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
            .skip_while(|c| !c.is_ascii_alphanumeric())
            .take(64)
            .collect();
        Self::new(&kept).unwrap_or_else(|| Self("root".into()))
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
        WorkspaceName::is_well(text).then(|| Self(text.into()))
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
    /// The one tenant of a service without tenancy.
    pub fn default_tenant() -> Self {
        Self("default".into())
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
        for bad in ["", "A", "-a", ".a", "a/b", "ä", &"x".repeat(65)] {
            assert!(WorkspaceName::new(bad).is_none(), "{bad}");
        }
        assert_eq!(WorkspaceName::from_folder("My Repo!").as_str(), "my-repo-");
        assert_eq!(WorkspaceName::from_folder("__").as_str(), "root");
        assert_eq!(GroupName::of_endpoint("@a.b").map(|name| name.at()).as_deref(), Some("@a.b"));
        for bad in ["a", "@", "@@a", "@A", "@-a"] {
            assert!(GroupName::of_endpoint(bad).is_none(), "{bad}");
        }
    }
}
