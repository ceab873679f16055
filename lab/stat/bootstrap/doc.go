// Package bootstrap resamples a series in blocks of random length, so that what hangs
// together in time stays together: the stationary bootstrap of Politis and Romano, the
// block length of Politis and White, the variance that the resampling has without being
// drawn, and intervals for a mean.
//
// Every replica has a random stream of its own, named by its number; results are stored
// by that number and reduced in its order, so the number of workers changes nothing. It
// imports packages stat and random.
package bootstrap
