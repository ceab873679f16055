package main

import (
	"fmt"
	"strings"
)

// goal is what a figure is to reach and what it must not miss, both in the figure's unit.
type goal struct {
	floor, goal float64
	unit        string
	less        bool // a time or a size: less is better
}

// The goals of the product on two cores. Those of a run are for R at 1.5 million candles, its
// memory at 10 million beside the mapped file.
var (
	loopGoal        = goal{floor: 7, goal: 9, unit: "M/s"}
	idleGoal        = goal{floor: 40, goal: 50, unit: "M/s"}
	coGoal          = goal{floor: 3.5, goal: 8, unit: "M/s"}
	wholeGoal       = goal{floor: 1.8, goal: 4, unit: "M/s"}
	firstGoal       = goal{floor: 60, goal: 40, unit: "ms", less: true}
	hostGoal        = goal{floor: 400, goal: 300, unit: "MiB", less: true}
	pluginGoal      = goal{floor: 64, goal: 32, unit: "MiB", less: true}
	lockstepGoal    = goal{floor: 25, goal: 50, unit: "k/s"}
	storeGoal       = goal{floor: 8, goal: 4, unit: "ms/M", less: true}
	importGoal      = goal{floor: 1, goal: 2, unit: "M/s"}
	trialGoal       = goal{floor: 0.2, goal: 0.12, unit: "s", less: true}
	busyGoal        = goal{floor: 0.7, goal: 0.9, unit: ""}
	speedupGoal     = goal{floor: 1.4, goal: 1.7, unit: "x"}
	diskGoal        = goal{floor: 40, goal: 20, unit: "KB", less: true}
	falsifyGoal     = goal{floor: 12, goal: 8, unit: "s", less: true}
	replayGoal      = goal{floor: 20, goal: 10, unit: "s", less: true}
	falsifyFullGoal = goal{floor: 8, goal: 4, unit: "min", less: true}
)

// header names the columns of row.
func header() {
	fmt.Printf("  %-36s %13s %8s %8s %8s  %s\n", "", "measured", "floor", "goal", "of goal", "notes")
}

// row prints a figure beside floor and goal, and how much of the goal it is: 1 and more is
// reached, whether less or more is better.
func (g goal) row(name string, value float64, note string) {
	ratio, missed := value/g.goal, value < g.floor
	if g.less {
		ratio, missed = g.goal/value, value > g.floor
	}
	if missed {
		note = strings.TrimSuffix("floor missed; "+note, "; ")
	}
	fmt.Printf("  %-36s %8.2f %-4s %8v %8v %8.2f  %s\n", name, value, g.unit, g.floor, g.goal, ratio, note)
}

// plain prints a figure that nothing is asked of.
func plain(name string, value float64, unit, note string) {
	fmt.Printf("  %-36s %8.2f %-4s %26s  %s\n", name, value, unit, "", note)
}
