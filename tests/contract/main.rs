//! The contract of the catalogs, clause by clause, from outside the crate. `clauses` says which test proves what;
//! what needs a canonical URI is proven by unit tests, because only the gate can make one.

mod agent;
mod clauses;
mod code;
mod decoding;
mod document;
mod listing;
