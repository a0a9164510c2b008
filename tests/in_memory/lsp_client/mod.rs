//! The language server client against scripted servers, and the guard with real processes.

mod conversation;
mod events;
mod frames;
mod interop;
mod lifecycle;
mod processes;
mod requests;
mod support;
