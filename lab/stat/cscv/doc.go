// Package cscv estimates the probability that choosing the best of many trials
// overfits, by combinatorially symmetric cross-validation (Bailey, Borwein, Lopez de
// Prado and Zhu, 2017).
//
// A matrix of returns comes in, a row per observation, the oldest first, and a column
// per trial. The rows are cut into S blocks; every choice of half of them is in sample
// once, the other half is out of sample. Out comes how often the best in sample is below
// the median out of sample. It imports package stat; there is no randomness.
package cscv
