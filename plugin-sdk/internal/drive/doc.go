// Package drive turns the strategy that an author wrote into something a loop can
// ask once per step, whichever way it is driven: Decide takes the step from a
// simulator (co-simulation and an author's own test), DecideStep from a message
// (lockstep). Both fill the same step.Step, so a strategy cannot tell them apart.
//
// Around the author's code it keeps order (OnStart, then for each step OnFill and
// OnCandle, at the end OnStop), catches panics with their stack, seeds the random
// source and collects log lines and chart points within bounds.
//
// It imports sdk, market, sim, wire, internal/params and internal/step. It does no I/O and starts no goroutine.
package drive
