//! The sets of catalogs that endpoints name, parsed once, with their tool lists.
//!
//! Invariants: a set is found by the name that an endpoint gives it; the number of cached sets is bounded, further ones are parsed each time.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::value::RawValue;

use super::content;
use codeyard_catalog::{Catalog, CatalogSet};
use codeyard_config::ContentMode;

/// Catalog sets that are cached with their tool lists.
const MAX_CACHED_SETS: usize = 64;

/// The parsed sets by name.
#[derive(Default)]
pub(super) struct CatalogSets(RwLock<HashMap<String, Arc<CachedSet>>>);

/// A set of catalogs with its tool list.
pub(super) struct CachedSet {
    pub(super) set: CatalogSet,
    pub(super) catalogs: Arc<[String]>,
    tools: HashMap<String, Arc<str>>,
    list: Arc<RawValue>,
    /// The same for clients that get no structured content.
    list_of_texts: Arc<RawValue>,
}

impl CachedSet {
    /// The JSON array of the tools for clients that get these copies of a result.
    pub(super) fn list(&self, content: ContentMode) -> Arc<RawValue> {
        match content {
            ContentMode::Text => self.list_of_texts.clone(),
            ContentMode::Both | ContentMode::Structured => self.list.clone(),
        }
    }

    /// The catalog that has `tool`, and the shared copy of the tool's name.
    pub(super) fn find(&self, tool: &str) -> Option<(&'static dyn Catalog, Arc<str>)> {
        Some((self.set.find(tool)?, self.tools.get(tool)?.clone()))
    }
}

impl CatalogSets {
    /// The set of this name, from the cache or parsed.
    pub(super) fn get(&self, name: &str) -> Option<Arc<CachedSet>> {
        if let Some(served) = self.0.read().get(name) {
            return Some(served.clone());
        }
        let set = CatalogSet::parse(name).ok()?;
        let list = RawValue::from_string(set.tools_json().to_owned()).ok()?;
        let list_of_texts = content::without_output_schemas(&set)?;
        let tools = set
            .ids()
            .iter()
            .flat_map(|id| id.catalog().tool_names().into_iter().chain(id.catalog().unlisted_tool_names()));
        let tools = tools.map(|name| (name.clone(), Arc::from(name))).collect();
        let catalogs = set.ids().iter().map(|id| id.as_str().to_owned()).collect();
        let served = Arc::new(CachedSet {
            set,
            catalogs,
            tools,
            list: Arc::from(list),
            list_of_texts: Arc::from(list_of_texts),
        });
        let mut sets = self.0.write();
        if sets.len() < MAX_CACHED_SETS {
            sets.insert(name.to_owned(), served.clone());
        }
        Some(served)
    }
}
