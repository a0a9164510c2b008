//! What is earned.

use crate::ships::{describe, Ferry, Raft, Ship, Tanker};

pub fn due(ship: &dyn Ship, nights: u32) -> f64 {
    ship.fee(nights)
}

pub fn collect(ships: &[Box<dyn Ship>], nights: u32) -> f64 {
    let mut total = 0.0;
    for ship in ships {
        total += due(ship.as_ref(), nights);
    }
    total
}

pub fn fleet() -> Vec<Box<dyn Ship>> {
    vec![Box::new(Tanker { name: "Oslo".into(), oil: 900.0 }), Box::new(Ferry), Box::new(Raft)]
}

pub fn board() -> Vec<String> {
    let ships = fleet();
    let total = collect(&ships, 2);
    let mut lines: Vec<String> = ships.iter().map(|ship| describe(ship.as_ref())).collect();
    lines.push(total.to_string());
    lines
}
