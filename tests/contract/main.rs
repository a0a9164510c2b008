//! The contracts of the catalogs, tested through the public API. `clauses` maps sections to tests; unit tests prove
//! the parts that need a canonical URI, because only the gate can create one.

mod agent;
mod clauses;
mod code;
mod decoding;
mod document;
mod launch;
mod listing;
#[path = "../support/named_test.rs"]
mod named_test;
mod query_language;
