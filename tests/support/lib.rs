//! What the tests of several crates share: real programs and real code, fetched once, git with a fixed author, a commit service,
//! a client of a bare language server, certificates, the parts of a page of the tool `lsp`.

pub mod authorization_server;
pub mod bare_client;
pub mod certificates;
pub mod commit_service;
pub mod git;
pub mod hugo;
pub mod identifiers;
pub mod named_test;
pub mod page_text;
pub mod parts;
pub mod real_servers;
