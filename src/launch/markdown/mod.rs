//! Pages and other texts in Markdown: their parts, the claims of their blocks, and what is safe to show.

pub mod cited_markdown;
pub mod front_matter;
pub mod markdown_page;
pub(crate) mod outer_address;
pub mod page_blocks;
pub(crate) mod safe_markdown;
