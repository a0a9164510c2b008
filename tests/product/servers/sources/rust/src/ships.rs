//! What lies in a harbour.

/// Anything that floats and pays.
pub trait Ship {
    fn name(&self) -> &str;

    fn weight(&self) -> f64;

    fn fee(&self, nights: u32) -> f64 {
        self.weight() * f64::from(nights)
    }
}

pub struct Tanker {
    pub name: String,
    pub oil: f64,
}

pub struct Ferry;

pub struct Raft;

impl Ship for Tanker {
    fn name(&self) -> &str {
        &self.name
    }

    fn weight(&self) -> f64 {
        self.oil + 10.0
    }
}

impl Ship for Ferry {
    fn name(&self) -> &str {
        "ferry"
    }

    fn weight(&self) -> f64 {
        heavy(3.0)
    }

    fn fee(&self, nights: u32) -> f64 {
        heavy(f64::from(nights)) / 2.0
    }
}

impl Ship for Raft {
    fn name(&self) -> &str {
        "raft"
    }

    fn weight(&self) -> f64 {
        heavy(1.0)
    }
}

pub fn heavy(length: f64) -> f64 {
    length * 20.0
}

pub fn describe(ship: &dyn Ship) -> String {
    format!("{}: {} t", ship.name(), ship.weight())
}
