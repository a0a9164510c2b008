package report

import "harbour.example/tides/tide"

// Highest is the highest level.
func Highest(gauges []tide.Gauge) int {
	top := 0.0
	for _, gauge := range gauges {
		if gauge.Level() > top {
			top = gauge.Level()
		}
	}
	return top
}
