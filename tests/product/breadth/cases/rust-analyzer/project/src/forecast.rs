const HALF_DAY_MIN: f64 = 745.0;

/// Minutes until the next high water, from the hours since the last one.
pub fn minutes_to_high_water(hours_since: f64) -> u32 {
    let passed = hours_since * 60.0;
    (HALF_DAY_MIN - passed % HALF_DAY_MIN).round() as u32
}
