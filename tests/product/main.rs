//! Tests of the real binary: what it prints and answers, with real language servers, clients, repositories and build tools.

mod bare;
mod bare_process;
mod mcp;
mod mcp_stream;
mod question;
mod running_server;
mod slow_hugo;

mod admin;
mod breadth;
mod cli;
mod e2e;
mod install_servers;
mod ranking;
mod servers;
mod syntactic;
mod world;
