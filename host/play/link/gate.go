package link

import "sync"

// stepsPerTurn is how many steps the engine takes before it lets readers in.
const stepsPerTurn = 2048

// Gate guards what a run has produced. The loop holds it while it computes and lets
// go while it waits and every stepsPerTurn steps, so that the engine pays nothing
// per step and a reader waits well under a millisecond.
type Gate struct {
	sync.Mutex
	steps int
}

// Pass counts a step and lets readers in now and then. The loop calls it.
func (g *Gate) Pass() {
	if g.steps++; g.steps >= stepsPerTurn {
		g.steps = 0
		g.Unlock()
		g.Lock()
	}
}

// Outside runs f without the gate: f waits for the plugin.
func (g *Gate) Outside(f func()) {
	g.Unlock()
	defer g.Lock()
	f()
}
