//! The validation of the working copy: the gates, their report, and the repair of one issue.

pub mod fixer;
pub(crate) mod gates;
pub mod link_checker;
pub mod validator;
