// Package cli is what all commands of the lab share: the common flags, the envelope of
// --json, tables and progress, the table of error codes and exit codes, and the opening
// of the host's stores.
//
// A command hands its work to App.Action and returns an Outcome or an error; this
// package alone knows how both are printed and which exit code they have. A panic is
// such an error, too. What the command line refuses names the word to blame (args.go);
// what could come next, a shell asks by the functions of complete.go, which read the
// state directory and never make one. Long work tells how far it is through a Progress.
package cli
