//! The implementation of each catalog.

use super::agent::AGENT;
use super::code::CODE;
use super::launch::LAUNCH;
use super::lsp_v1::{LSP_V1, LSP_V1_SAFE};
use super::{Catalog, CatalogId};

impl CatalogId {
    /// The catalog's implementation.
    pub fn catalog(self) -> &'static dyn Catalog {
        match self {
            Self::LspV1 => &LSP_V1,
            Self::LspV1Safe => &LSP_V1_SAFE,
            Self::Agent => &AGENT,
            Self::Code => &CODE,
            Self::Launch => &LAUNCH,
        }
    }
}
