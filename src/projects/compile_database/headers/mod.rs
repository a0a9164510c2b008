//! Headers that aren't files of the tree: those that a build makes, as far as they follow from the tree, and those of the system.

mod export_headers;
pub(super) mod generated_headers;
mod grammar_headers;
pub(super) mod header_templates;
mod installed_names;
mod kconfig;
mod kconfig_expression;
mod kconfig_values;
pub(super) mod system_headers;
