//! Facts of small products.
