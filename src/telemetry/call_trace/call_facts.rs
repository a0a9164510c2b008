//! What is known of a call when it arrives, what an audit line has beside its record, and the size of its reply.

use std::net::IpAddr;
use std::sync::Arc;

use crate::record::TransportKind;
use crate::trace_context::TraceContext;
use codeyard_access::Principal;
use codeyard_base::ids::WorkspaceName;

/// The facts of a call when it arrives.
pub struct CallStart<'a> {
    /// The tool's name as its catalog spells it; `None` if no catalog has it.
    pub tool: Option<Arc<str>>,
    /// The tool's name as the caller spells it.
    pub asked_tool: &'a str,
    pub catalog: &'static str,
    /// The workspace that the call names.
    pub workspace: Option<WorkspaceName>,
    pub principal: &'a Principal,
    /// The client's address; `None` for a local one.
    pub peer: Option<IpAddr>,
    /// The JSON text of the arguments.
    pub arguments: Option<&'a str>,
    /// The transport of the request.
    pub transport: TransportKind,
    /// The JSON text of the request's id.
    pub request_id: &'a str,
    pub session: Option<String>,
    pub protocol_version: &'static str,
    pub context: &'a TraceContext,
}

/// What an audit line says of a call beside its record.
#[derive(Debug, Clone)]
pub struct AuditedCall {
    /// The caller.
    pub principal: Principal,
    /// The first bytes of the tool's name, as the caller spells it.
    pub tool: Box<str>,
    /// The client's address; `None` for a local one.
    pub peer: Option<IpAddr>,
    /// The JSON text of the arguments.
    pub arguments: Option<Box<str>>,
}

/// The size of a call's reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallReply {
    /// Bytes of the result's JSON text, or of the error's data.
    pub bytes: usize,
    /// The number of the JSON-RPC error.
    pub rpc_code: Option<i32>,
    /// Entries in the answer, and in the whole list it is a part of.
    pub items: Option<(usize, usize)>,
    /// Whether the list was cut and no page holds the rest.
    pub is_cut: bool,
}
