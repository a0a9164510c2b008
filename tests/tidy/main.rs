//! Tidiness: what the documents say of the source is true, and files keep the shape that makes them readable.
//!
//! These tests read text, not syntax trees; they lean on rustfmt for the layout.

mod citations;
mod comments;
mod crates;
mod disk;
mod faults;
mod files;
mod folders;
mod fuzz;
mod glossary;
mod invariants;
mod limits;
mod manifest;
mod modules;
mod shape;
mod source;
mod table;
mod text;
mod tuples;
