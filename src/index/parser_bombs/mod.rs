//! Sources that are expensive to parse, and the tests that their cost is bounded.

mod shapes;
mod tests;
