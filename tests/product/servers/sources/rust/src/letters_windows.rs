//! Columns: astral and combining characters and tabs before the names. This file gets Windows line ends.

use crate::books::{board, due};
use crate::ships::{describe, Raft, Ship};

pub struct Fähre;

impl Ship for Fähre {
    fn name(&self) -> &str { /* 🚢 */ let 名前 = "𝒳"; 名前 }

    fn weight(&self) -> f64 { /* 𝒳𝒳 */ let raft = Raft; /* eé */ größe(&raft, "🧮", 2) + due(&raft, 1) }
}

fn größe(ship: &dyn Ship, zeichen: &str, nights: u32) -> f64 {
	due(ship,	nights) + "👩‍👩‍👧".len() as f64 + ship.weight() + zeichen.len() as f64
}

pub fn straße(𠮷: &dyn Ship) -> String {
    let z = "🇫🇷 𝒳".to_owned() + &describe(𠮷); z + "𝒳 é" + 𠮷.name() + &größe(𠮷, "𝒳", 3).to_string()
}

pub fn alle() -> (String, usize) {
    let 𠮷 = Fähre; /* 🚢 */ let summe = board().len(); ("𝒳".to_owned() + &straße(&𠮷) + &describe(&𠮷), summe)
}
