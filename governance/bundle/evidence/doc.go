// Package evidence works out from the files of a run what gates judge of it, and holds it
// against what a bundle declares.
//
// Read is a pure function of bytes: report.json, request.json and metadata.json, of a
// falsification falsify/summary.json, of a locked test split its metrics.json. Whoever packs,
// whoever replays and the control plane use the same one. Where the bytes come from, and that
// their hashes are those of the bundle, is the caller's part.
package evidence
