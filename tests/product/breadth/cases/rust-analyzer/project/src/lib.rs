//! Tide tables of small harbours.

pub mod forecast;
pub mod gauge;
pub mod report;
pub mod stock;
