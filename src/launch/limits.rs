//! The limits of this crate: sizes, counts and times that bound what callers, files and other processes can cost.

/// Size of one source file that is read for the API, in bytes; larger ones are left out.
pub const MAX_API_FILE_BYTES: u64 = 2 * 1024 * 1024;

/// Items of a product's public API; whole modules are left out beyond it.
pub const MAX_API_ITEMS: usize = 4_000;

/// Length of a name of the API that a re-export can give, in bytes; longer ones are left out.
pub(crate) const MAX_API_NAME_BYTES: usize = 255;

/// Steps from a re-export to what it exports.
pub const MAX_REEXPORT_STEPS: usize = 12;

/// Size of a manifest that is read, in bytes.
pub const MAX_PACKAGE_MANIFEST_BYTES: u64 = 1024 * 1024;

/// The beginning of a README that is read, in bytes.
pub const MAX_README_BYTES: usize = 1024 * 1024;

/// Claims that are taken from a README's lists of features.
pub const MAX_FEATURES: usize = 24;

/// Example programs of a product.
pub const MAX_EXAMPLES: usize = 200;

/// Size of an example program, in bytes; larger ones are left out.
pub const MAX_EXAMPLE_BYTES: u64 = 256 * 1024;

/// Snippets of a product; further ones are left out.
pub const MAX_SNIPPETS: usize = 1_000;

/// Lines of one snippet.
pub const MAX_SNIPPET_LINES: usize = 150;

/// Length of the name of a branch or tag, in bytes.
pub const MAX_REFERENCE_BYTES: usize = 255;

/// Length of the list of a commit's files, in bytes.
pub const MAX_TREE_LISTING_BYTES: usize = 64 * 1024 * 1024;

/// Files of a repository that an inventory lists; sources come first.
pub const MAX_INVENTORY_FILES: usize = 50_000;

/// Size of a file that is read further, in bytes. The README may be larger.
pub const MAX_INVENTORY_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Size of the text of a comparison in `diff_report.json`, in bytes; files beyond it are left out.
pub(crate) const MAX_DIFF_BYTES: usize = 4 * 1024 * 1024;
/// Size of one configuration file or archetype of a site, in bytes.
pub const MAX_SITE_CONFIG_BYTES: u64 = 1024 * 1024;

/// Existing pages of a site that are read.
pub const MAX_SITE_PAGES: usize = 20_000;

/// Size of a page that is validated, in bytes.
pub(crate) const MAX_PAGE_BYTES: u64 = 4 * 1024 * 1024;
/// Files of a built site.
pub(crate) const MAX_BUILD_FILES: usize = 200_000;
/// Time of one gate but `SiteBuild`, in seconds.
pub(crate) const GATE_LIMIT_S: u64 = 60;
/// Time of the gate `SiteBuild`, in seconds.
pub(crate) const BUILD_LIMIT_S: u64 = 300;
/// Issues of one gate; further ones are left out.
pub(crate) const MAX_GATE_ISSUES: usize = 500;

/// Size of a response of a language model, in bytes.
pub(crate) const MAX_ANSWER_BYTES: usize = 1024 * 1024;
/// Longest wait before a request is repeated, in seconds, if the service doesn't ask for more.
pub(crate) const MAX_RETRY_DELAY_S: u64 = 10;
/// Links out of the site that one validation asks.
pub(crate) const MAX_ASKED_LINKS: usize = 500;
