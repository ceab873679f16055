// Package battery makes the tests of a falsification: the replays side by side, and the numbers
// from which the rule of each test makes its verdict.
//
// A [Test] is in a folder of its own below lab/falsify/tests, which imports this package; [Run]
// gets the list. It opens a [Bench]: the base is played once more on its search split, and its
// candles up to the end of that split are taken out of the store, which is all that a replay can
// ever see. The first tests are made, then the others unless one of the first has refuted what
// they stand on. The plan of a test is a [Check]: a list of plays and a function that judges
// what has become of them. Every [Play] has its place in a list, and lists are reduced in order:
// the number of workers cannot change a byte.
//
// The files: battery (the order of things), bench (what all tests share), pool (replays side by
// side), check (from replays to a [Finding]). It imports lab/evaluate, which plays, the packages
// replay, judge and profile of lab/falsify, lab/selection, and parts of the host below them.
package battery
