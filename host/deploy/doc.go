// Package deploy is the host's deployment policy: it decides whether real money may be
// traded with a strategy, by the deployable registry that a control plane has signed, and
// watches that decision while the run is on.
//
// The way of a start: once the API's own checks have passed, and before anything of a venue or
// a connector is touched, whoever starts a run asks Policy.Admit. It fetches the registry of
// the strategy's family, reads it strictly, verifies it with the pinned key, holds it against
// the clock and against the highest version ever seen (Memory, on disk), and looks for an
// entry of exactly this program with exactly these parameters. What comes back is an
// Admission with the entry's Limits, or a *Refusal with one code. Watch asks again every
// minute of the run.
//
// Nothing outside the signed payload counts. How registry bytes come in is a Source; [Plane] is
// the one over HTTP, and the one HTTP client of a control plane. How an incident goes out is a
// Reporter, which needs the control plane's statements and is therefore made by the program.
//
// Clocks are handed in.
package deploy
