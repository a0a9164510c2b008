package main

import (
	"fmt"

	"harbour.example/tides/report"
	"harbour.example/tides/tide"
)

func main() {
	north := tide.Pole{Marks: 31}
	fmt.Println("north:", tide.Describe(north))
	fmt.Print(report.Lines([]tide.Gauge{north}))
}
