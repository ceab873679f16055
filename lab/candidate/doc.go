// Package candidate packs evidence into a candidate bundle, hands it to a control plane,
// and repeats what others have packed.
//
// Pack starts from one run, the baseline. Collect finds what belongs to it in the registry
// and hashes every file of it again; compose maps that to the bundle's fields; Shelf keeps
// the result in <state_dir>/candidates/<revision>/, whole or not at all. Everything in the
// core of a bundle comes from rows and files, never from the clock, so that packing twice
// gives one id. Submit posts it and keeps the answer once that was checked.
//
// Replay goes the other way: from a bundle to its pinned requests, executed again from
// exactly their plugin, candles and rules, and compared by hash.
//
// It imports the lab below (evaluate, falsify, selection), host/artifact and host/registry,
// and of governance only what clients link: bundle, ledger, client.
package candidate
