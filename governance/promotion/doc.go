// Package promotion derives how far each revision may go: a pure function of the facts of
// the log, the policy and trust that are among them, and a time that the caller gives.
//
// A World folds facts, in the order of the log. Next says which decision the machine has
// to make now; the caller logs it, turns the entry into facts, applies these, and asks
// again until there is none. Time alone never promotes: Next looks only at revisions that
// something was said about since it was last asked. Reads (State, Plan, Experiments,
// Registry) are bodies of the control plane's answers, worked out from the same World.
//
// The table of transitions is in decide.go for the machine and in fold.go for what people
// say. Anyone may stop; it takes two to start: whatever somebody has stopped or lowered
// does not rise again by the machine, nor by approvals that were given before.
//
// Gates are judged in gate, policies are read in policy. Nothing here does I/O. A World is
// not safe for concurrent use while facts are applied; reads may run at the same time.
package promotion
