//! The contracts of the catalogs, from outside their crate. `clauses` lists which test proves which section; unit tests prove
//! what needs a canonical URI, because only the gate can make one.

mod agent;
mod clauses;
mod code;
mod decoding;
mod document;
mod listing;
#[path = "../support/named_test.rs"]
mod named_test;
