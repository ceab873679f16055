// Package battery makes the tests of a falsification: what has to be played for each, the
// replays side by side, and the numbers from which package judge makes verdicts.
//
// Run opens a bench: the base is played once more on its search split, and its candles
// up to the end of that split are taken out of the store, which is all that a replay can
// ever see. The first five tests are made, then the others unless one of the first has
// refuted what they stand on. A test is a check: a list of plays and a function that
// judges what has become of them. Every play has its place in a list, and lists are
// reduced in order: the number of workers cannot change a byte.
//
// The files: battery (the order of things), bench (what all tests share), pool (replays
// side by side), check (from replays to findings); then the tests themselves, causal (1 to
// 5), stress (6 to 8), changed (9, 10, 16, 21, 22), params (11), records (12 to 15, 17 to
// 20, 24) and search (23).
//
// It imports lab/request, which plays, the packages replay, judge and profile of
// lab/falsify, lab/search/selection, and parts of the host below them.
package battery
