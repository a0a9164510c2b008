//! The sets of catalogs that endpoints name, parsed once, with their tool lists.
//!
//! Invariants: a set is found by the name that an endpoint gives it; the number of cached sets is bounded, further ones are parsed each time.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::value::RawValue;

use super::content;
use codeyard_access::OperationSet;
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
    /// The lists of tools that were asked for, for clients with or without structured content, by the operations that the caller may do.
    lists: RwLock<HashMap<(bool, OperationSet), Arc<RawValue>>>,
}

impl CachedSet {
    /// The JSON array of the tools that do these operations, for clients that get these copies of a result.
    pub(super) fn list(&self, content: ContentMode, operations: OperationSet) -> Option<Arc<RawValue>> {
        let is_structured = content != ContentMode::Text;
        let operations = operations.intersection(OperationSet::CALLS);
        let key = (is_structured, operations);
        if let Some(list) = self.lists.read().get(&key) {
            return Some(list.clone());
        }
        let list: Arc<RawValue> = Arc::from(content::tool_list(&self.set, is_structured, operations)?);
        self.lists.write().insert(key, list.clone());
        Some(list)
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
        let tools = set
            .ids()
            .iter()
            .flat_map(|id| id.catalog().tool_names().into_iter().chain(id.catalog().unlisted_tool_names()));
        let tools = tools.map(|name| (name.clone(), Arc::from(name))).collect();
        let catalogs = set.ids().iter().map(|id| id.as_str().to_owned()).collect();
        let served = Arc::new(CachedSet { set, catalogs, tools, lists: RwLock::default() });
        let mut sets = self.0.write();
        if sets.len() < MAX_CACHED_SETS {
            sets.insert(name.to_owned(), served.clone());
        }
        Some(served)
    }
}
