// Package family searches: it makes a plan, executes it and says what came out.
//
// Propose turns lab.json's family block into a registered plan (package plan), before
// anything is executed. Open reads a registered plan and makes sure that the plugin, the
// engine and the candles are still those of it. Run plays the trials side by side, in
// rungs for successive halving: each is a compact run of its own in the artifact store
// and the registry, played on its walk-forward windows and on nothing else. A trial whose
// row and files verify is finished, whoever has executed it; so a family goes on where it
// was interrupted, and two processes can share one.
//
// What is written beside plan.json comes from the stored artifacts alone, ordered by
// index: neither the number of workers nor an interruption can change a byte of it.
// progress.jsonl is the exception; it has clocks and is in no hash.
//
// Package page below this one shows a family as one HTML file.
package family
