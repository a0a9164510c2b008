//! Tests of the whole catalog.
