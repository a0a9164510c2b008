//! The limits of this crate: sizes, counts and times that bound what callers, files and other processes can cost.

/// Length of the front matter of a page, in bytes.
pub const MAX_FRONT_MATTER_BYTES: usize = 64 * 1024;

/// Source files of a product that are read for its API.
pub const MAX_API_FILES: usize = 20_000;

/// Size of one source file that is read for the API, in bytes; larger ones are left out.
pub const MAX_API_FILE_BYTES: u64 = 2 * 1024 * 1024;

/// Size of all source files that are read for the API, in bytes; the rest is left out.
pub const MAX_API_SOURCE_BYTES: usize = 64 * 1024 * 1024;

/// Items of a product's public API; whole modules are left out beyond it.
pub const MAX_API_ITEMS: usize = 4_000;

/// Length of one item's doc comment, in bytes; it is cut at the end of a line.
pub const MAX_API_DOC_BYTES: usize = 6 * 1024;

/// Lines of a definition that are evidence for it.
pub const MAX_DEFINITION_LINES: usize = 60;

/// Length of a name of the API that a re-export can give, in bytes; longer ones are left out.
pub(crate) const MAX_API_NAME_BYTES: usize = 255;

/// Length of the path of a module of the API, in bytes; modules with longer ones are left out.
pub(crate) const MAX_API_PATH_BYTES: usize = 500;

/// Steps from a re-export to what it exports.
pub const MAX_REEXPORT_STEPS: usize = 12;

/// Size of a manifest that is read, in bytes.
pub const MAX_PACKAGE_MANIFEST_BYTES: u64 = 1024 * 1024;

/// The beginning of a README that is read, in bytes.
pub const MAX_README_BYTES: usize = 1024 * 1024;

/// Claims that are taken from a README's lists of features.
pub const MAX_FEATURES: usize = 24;

/// Length of one claim of a README, in bytes; longer ones are left out.
pub const MAX_README_CLAIM_BYTES: usize = 600;

/// Example programs of a product.
pub const MAX_EXAMPLES: usize = 200;

/// Size of an example program, in bytes; larger ones are left out.
pub const MAX_EXAMPLE_BYTES: u64 = 256 * 1024;

/// Snippets of a product; further ones are left out.
pub const MAX_SNIPPETS: usize = 1_000;

/// Rejected snippets that are listed.
pub const MAX_REJECTED_SNIPPETS: usize = 1_000;

/// Lines of one snippet.
pub const MAX_SNIPPET_LINES: usize = 150;

/// Length of one snippet, in bytes.
pub const MAX_SNIPPET_BYTES: usize = 16 * 1024;

/// Length of the address of a repository, in bytes.
pub const MAX_REPOSITORY_URL_BYTES: usize = 2_048;

/// Length of the name of a branch or tag, in bytes.
pub const MAX_REFERENCE_BYTES: usize = 255;

/// Length of the list of a repository's branches and tags, in bytes.
pub const MAX_REMOTE_REFS_BYTES: usize = 32 * 1024 * 1024;

/// Length of the list of a commit's files, in bytes.
pub const MAX_TREE_LISTING_BYTES: usize = 64 * 1024 * 1024;

/// Tags of one commit that are recorded.
pub const MAX_CHECKED_OUT_TAGS: usize = 100;

/// Time between two looks at the size of a clone under way, in milliseconds.
pub const CLONE_SIZE_POLL_MS: u64 = 200;

/// Length of one value of a manifest, in characters; longer ones are left out.
pub const MAX_MANIFEST_VALUE_CHARS: usize = 1_000;

/// Nodes of one manifest in XML.
pub const MAX_MANIFEST_NODES: u32 = 100_000;

/// Manifests of a repository that are read; the first ones by depth, then by path.
pub const MAX_MANIFESTS: usize = 200;

/// Files of a repository that an inventory lists; sources come first.
pub const MAX_INVENTORY_FILES: usize = 50_000;

/// Files that an inventory names as omitted.
pub const MAX_OMITTED_FILES: usize = 1_000;

/// Size of a file that is read further, in bytes. The README may be larger.
pub const MAX_INVENTORY_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Size of a file whose first line is read to find its language, in bytes.
pub const MAX_FIRST_LINE_FILE_BYTES: u64 = 64 * 1024;

/// The beginning of a README that an inference reads, in bytes.
pub const MAX_DISCOVERY_README_BYTES: u64 = 64 * 1024;

/// Size of the text of a comparison in `diff_report.json`, in bytes; files beyond it are left out.
pub(crate) const MAX_DIFF_BYTES: usize = 4 * 1024 * 1024;
/// Size of git's list of changed files, in bytes.
pub(crate) const MAX_DIFF_LISTING_BYTES: usize = 16 * 1024 * 1024;

/// Size of one configuration file or archetype of a site, in bytes.
pub const MAX_SITE_CONFIG_BYTES: u64 = 1024 * 1024;

/// Existing pages of a site that are read.
pub const MAX_SITE_PAGES: usize = 20_000;

/// Size of an existing page that is read, in bytes; of larger ones only the path counts.
pub const MAX_SITE_PAGE_BYTES: u64 = 1024 * 1024;

/// Existing pages whose lists are looked at for their style.
pub const MAX_SITE_PAGES_FOR_STYLE: usize = 500;

/// Files of a site besides pages that are listed.
pub const MAX_STATIC_FILES: usize = 20_000;

/// Example programs that get a page of their own.
pub(crate) const MAX_PLANNED_EXAMPLES: usize = 20;
/// Snippets of the README on the page for beginners.
pub(crate) const MAX_README_SNIPPETS: usize = 3;

/// Pages that the text of a pull request lists.
pub(crate) const MAX_LISTED_PAGES: usize = 100;
/// Places of the source that the text of a pull request lists.
pub(crate) const MAX_LISTED_PROOFS: usize = 50;

/// Themes and modules of a site whose configurations are checked.
pub(crate) const MAX_SITE_MODULES: usize = 200;
/// Size of a page that is validated, in bytes.
pub(crate) const MAX_PAGE_BYTES: u64 = 4 * 1024 * 1024;
/// Size of a built site, in bytes.
pub(crate) const MAX_BUILD_BYTES: u64 = 1024 * 1024 * 1024;
/// Files of a built site.
pub(crate) const MAX_BUILD_FILES: usize = 200_000;
/// Memory of a build, in bytes.
pub(crate) const MAX_BUILD_MEMORY_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Processor time that a build has on each core beyond its time, in seconds. It ends a build that outlives codeyard.
pub(crate) const BUILD_CPU_RESERVE_S: u64 = 15;
/// What a build may print, in bytes.
pub(crate) const MAX_BUILD_OUTPUT_BYTES: usize = 4 * 1024 * 1024;
/// Time of one gate but `SiteBuild`, in seconds.
pub(crate) const GATE_LIMIT_S: u64 = 60;
/// Time of the gate `SiteBuild`, in seconds.
pub(crate) const BUILD_LIMIT_S: u64 = 300;
/// Issues of one gate; further ones are left out.
pub(crate) const MAX_GATE_ISSUES: usize = 500;

/// Size of a response of a language model, in bytes.
pub(crate) const MAX_ANSWER_BYTES: usize = 1024 * 1024;
/// Tries of a request to a commit service: the first one, and further ones after failures that may pass.
pub(crate) const MAX_SERVICE_TRIES: usize = 3;
/// Characters of a pull request's description that the commit service `github` takes.
pub(crate) const MAX_PULL_REQUEST_CHARS: usize = 60_000;
/// Further requests after one that has failed for a reason that may pass.
pub(crate) const MAX_LLM_RETRIES: usize = 3;
/// Longest wait before a request is repeated, in seconds, if the service doesn't ask for more.
pub(crate) const MAX_RETRY_DELAY_S: u64 = 10;
/// Longest wait that a service can ask for with `Retry-After`, in seconds.
pub(crate) const MAX_RETRY_AFTER_S: u64 = 60;
/// Blocks and claims of a page that a language model is shown, in bytes; further blocks stay as they are.
pub(crate) const MAX_PROMPT_BYTES: usize = 64 * 1024;
/// Length of a block that a language model has written, in bytes.
pub(crate) const MAX_WRITTEN_BLOCK_BYTES: usize = 2_000;

/// Links out of the site that one validation asks.
pub(crate) const MAX_ASKED_LINKS: usize = 500;
/// Links that are asked at once.
pub(crate) const MAX_LINK_REQUESTS: usize = 8;
/// Redirects that are followed from one link.
pub(crate) const MAX_LINK_REDIRECTS: usize = 5;
/// Time of one request to the server of a link, in seconds.
pub(crate) const LINK_REQUEST_LIMIT_S: u64 = 10;
/// Time after which a run asks for a link again, in seconds.
pub(crate) const LINK_ANSWER_AGE_S: u64 = 600;
/// Answers of links that are kept.
pub(crate) const MAX_LINK_ANSWERS: usize = 8_192;
