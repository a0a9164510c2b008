use tide_tables::gauge::{self, FloatGauge, Gauge, RadarGauge};
use tide_tables::{forecast, report, stock};

fn main() {
    let harbour = FloatGauge::new("harbour", vec![1.2, 1.9, 2.4, 2.1]);
    let pier = RadarGauge { offset: 0.4, echoes: vec![12.0, 11.5, 11.2] };
    let gauges: Vec<Box<dyn Gauge>> = vec![Box::new(harbour), Box::new(pier)];
    for gauge in &gauges {
        let level = gauge::mean_level(gauge.as_ref());
        println!("{}: {level:.2} m", gauge.name());
    }
    println!("{}", report::summary(&gauges));
    println!("next high water in {} min", forecast::minutes_to_high_water(3.5));
    println!("{} chains in stock", stock::chains());
}
