//! Rank 6: how calls come in. Streamable HTTP, standard input and output, and the local socket that joins the two.
//!
//! A transport frames, bounds, names the caller and hands over; it knows [`Service`](codeyard_gateway::service::Service)
//! and no tool. Invariants: every request is answered at most once; a caller that goes away drops its calls, which
//! cancels them; every queue and buffer is bounded by a name in `base::limits`.

pub mod attach;
pub mod dispatch;
pub mod http;
pub mod inflight;
pub mod lines;
pub mod running;
mod session_timer;
pub mod stdio;
