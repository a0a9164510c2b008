//! (being written)

pub mod service;
