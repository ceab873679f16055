// Package evaluate answers an evaluation request: the lab's core.
//
// A Question comes in: a built plugin, parameters, data, splits. Prepare looks
// everything up and fixes it in a Manifest, whose canonical request has a hash and
// with it the run's id: the same question has one answer. Run claims the request in
// the registry (or finds the answer that is there), plays every split in a fresh
// process through package run, repeats the search split under stress, stitches
// the walk-forward windows, and writes the artifacts and the row.
//
// A plugin that fails ends the run: the splits before it are kept, and package capsule
// tells what happened. So it does when a forced execution decides otherwise, when files
// are not what was written, and when somebody interrupts.
//
// Splits are played side by side; their results are stored by index and reduced in
// order, so that the number of workers cannot change a byte.
package evaluate
