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
// Facts are small typed statements of what was said and decided. [FactsOf] makes them of an
// [Entry] of the log together with the bytes that it names by digest: the same entry gives
// the same facts with the same ids, whenever and wherever it is read. The control plane's own
// predicates (seal, attestation-recorded, stage-decision, policy, trust, log-start) are in
// entry.go.
//
// Policies are read and gates judged in package policy. Nothing here does I/O. A World is
// not safe for concurrent use while facts are applied; reads may run at the same time.
package promotion
