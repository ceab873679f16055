// Package trials counts what has been tried on some days, whatever it was called.
//
// Read takes every trial of a registry: runs of the lab, trials of searches and backtests
// of the service, of every strategy, family, symbol, timeframe and exchange. A trial is a
// class of them. Those with one trial key are of one class, and so are those whose daily
// net returns correlate by more than 0.999 on at least 30 shared days, as the builds of one
// program with other comments do; what has no such returns is of the class of those with
// its decision hash. N is the number of classes with a member that overlaps the days in
// question.
//
// The replays of a falsification do not count, with one exception. Once a run has the
// parameters of a replay of param_neighbourhood, all replays of that test count: somebody
// has chosen among them.
//
// Daily returns are those of the stitched walk-forward, else of the split full. They are
// derived from the files of a run once and then kept in the registry, so that a trial
// stays counted with its returns when its files are gone. Nothing depends on the order in
// which runs have ended but the Position of a run.
//
// The package imports host artifact, digest, metric and registry, lab/split, lab/stat and
// package series beside it.
package trials
