//! The contracts of the catalogs, tested through the public API. `clauses` maps sections to tests; unit tests prove
//! the parts that need a canonical URI, because only the gate can create one.

mod agent;
mod clauses;
mod code;
mod decoding;
mod document;
mod examples;
mod hosts_table;
mod launch;
mod listing;
mod query_language;
