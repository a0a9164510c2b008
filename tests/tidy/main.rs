//! Tidiness: what the documents say of the source is true, and files keep the shape that makes them readable.
//!
//! These tests read text, not syntax trees; they lean on rustfmt for the layout.

mod crates;
mod files;
mod invariants;
mod ranks;
mod shape;
mod source;
mod table;
mod text;
