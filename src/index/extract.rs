//! From a source to its [`Facts`].

use super::facts::Facts;
use super::language::Language;

/// Which revision of the extraction this is; goes up whenever the same source gives other facts.
pub const FEATURES: u32 = 1;

/// What `source` declares and names. Never fails: what can't be parsed gives what could be, and says so.
pub fn extract(_language: Language, _source: &str) -> Facts {
    Facts::default()
}
