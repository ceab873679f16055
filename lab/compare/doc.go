// Package compare puts runs of one strategy side by side: whether they may be compared
// at all, what was asked differently, what came out, whether the difference is more
// than luck, how many trials it took to find, and what a falsification said.
//
// Rows of the registry come in, with their report.json and, for the daily differences,
// the equity curves; nothing is executed. Out comes a Comparison, compare/v1, which is
// the JSON; tables, Markdown and CSV are views of it and know nothing besides. The
// metrics of a locked test stay out until somebody asks for them, which the registry
// is told first.
//
// One aspect is one file: load (which runs), comparable, differs, metrics, curve and
// pair (daily differences), standing (trials, peeks, falsification), view and render.
// Everything random comes from the streams of package random, so the same rows give
// the same bytes.
//
// The package imports host artifact, metric and registry, and lab/stat; package lab
// calls it.
package compare
