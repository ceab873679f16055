// Package launch finds the connectors of the connectors folder and starts their
// processes.
//
// Open looks at every executable file of the folder, copies it under its hash into the
// state directory, starts the copy once and asks it what it is. The list is fixed until
// the program starts again; a file that cannot be used is listed as unavailable with the
// reason. Launch starts a fresh process for one run, from the copy, which is hashed again
// through the very descriptor that is executed.
//
// A process gets nothing of the host's environment but PATH, has a process group and a
// private folder for its socket to itself, and is not killed when the host dies: it loses
// its lease then, cancels the orders of its run and ends by itself (package wire). That a
// process is gone, or has broken the protocol, is told over a channel; starting another
// one is the decision of whoever drives the run.
package launch
