//! From what a caller gives to the configuration of a run: a request, or the address of a product page, checked against the table of sites.

pub mod allowed_paths;
pub mod config_text;
pub mod product_url;
pub mod repository_inference;
pub mod run_config;
pub mod run_request;
pub mod sites;
