// Package tide knows when the water is high.
package tide

import "fmt"

// Gauge measures the water.
type Gauge interface {
	Level() float64
}

// Pole is a gauge with marks.
type Pole struct {
	Marks int
}

// Level is 10 cm for each mark.
func (p Pole) Level() float64 {
	return float64(p.Marks) / 10
}

// Describe is the level for people.
func Describe(g Gauge) string {
	return fmt.Sprintf("%.1f m", g.Level())
}
