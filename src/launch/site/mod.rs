//! The documentation site: its layout and addresses, its working copy, its build.

pub mod hugo;
pub mod linker;
pub(crate) mod page_front_matter;
pub(crate) mod page_paths;
pub mod site_scout;
