/// Something that measures the level of the sea.
pub trait Gauge {
    fn name(&self) -> &str;
    fn readings(&self) -> Vec<f64>;
}

pub struct FloatGauge {
    name: String,
    levels: Vec<f64>,
}

impl FloatGauge {
    pub fn new(name: &str, levels: Vec<f64>) -> Self {
        Self { name: name.to_owned(), levels }
    }
}

impl Gauge for FloatGauge {
    fn name(&self) -> &str {
        &self.name
    }

    fn readings(&self) -> Vec<f64> {
        self.levels.clone()
    }
}

pub struct RadarGauge {
    pub offset: f64,
    pub echoes: Vec<f64>,
}

impl Gauge for RadarGauge {
    fn name(&self) -> &str {
        "radar"
    }

    fn readings(&self) -> Vec<f64> {
        self.echoes.iter().map(|echo| echo / 10.0 - self.offset).collect()
    }
}

/// The mean of all readings, in metres.
pub fn mean_level(gauge: &dyn Gauge) -> f64 {
    let readings = gauge.readings();
    readings.iter().sum::<f64>() / readings.len().max(1) as f64
}
