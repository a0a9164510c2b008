//! A harbour: the crate that rust-analyzer is asked about.

mod books;
mod letters_windows;
mod ships;

pub use books::{collect, due};
pub use letters_windows::straße;
pub use ships::{describe, heavy, Ferry, Raft, Ship, Tanker};
