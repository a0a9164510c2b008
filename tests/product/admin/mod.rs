//! The admin API, the probes and the commands that use them: the real binary, its sockets, its answers.

mod access;
mod audit;
mod busy;
mod changes;
mod commands;
mod encrypted;
mod hung;
mod minted;
mod openapi;
mod probes;
mod quotas;
mod refused;
mod sign_on;
mod tenants;
mod terminal;
mod wire;
