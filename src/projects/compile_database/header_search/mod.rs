//! The includes of sources, and the directories in which a compiler finds what they name.

mod bit_rows;
pub(super) mod conditions;
mod dir_order;
pub(super) mod include_graph;
pub(super) mod includes;
pub(super) mod scan_cache;
