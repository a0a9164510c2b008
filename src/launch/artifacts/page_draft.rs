//! A page as a writer leaves it: its text and what its blocks claim.

use crate::artifacts::page_claims::ClaimedPage;

/// One page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageDraft {
    /// The file, relative to the top of the site.
    pub path: String,
    /// The whole file, front matter included.
    pub text: String,
    /// The claims of its blocks.
    pub claims: ClaimedPage,
}
