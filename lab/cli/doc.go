// Package cli is what all commands of the lab share: the common flags, the envelope of
// --json, tables and progress, the table of error codes and exit codes, and the opening
// of the host's stores.
//
// A command hands its work to App.Action and returns an Outcome or an error; this
// package alone knows how both are printed and which exit code they have.
package cli
