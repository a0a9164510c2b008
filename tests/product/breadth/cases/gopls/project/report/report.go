// Package report prints what gauges say.
package report

import (
	"strings"

	"harbour.example/tides/tide"
)

// Lines has one line for each gauge.
func Lines(gauges []tide.Gauge) string {
	var out strings.Builder
	for _, gauge := range gauges {
		out.WriteString(tide.Describe(gauge) + "\n")
	}
	return out.String()
}
