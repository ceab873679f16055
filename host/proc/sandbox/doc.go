// Package sandbox closes a plugin process in before it runs its first instruction.
//
// The host starts its own executable again with a [Policy] in the environment. That
// process, the shim, never gets to its main: it lowers its resource limits, gives up capabilities and the right
// to gain new ones, restricts its view of the file system with Landlock to the
// plugin's program, its socket folder, the null device and the files of the Policy
// (and the system's libraries, if the program is linked dynamically), and then
// becomes the plugin. The network namespace without interfaces is made by the host when it
// starts the shim, because a program with several threads cannot enter a user
// namespace any more. What could not be had is reported back through a pipe, so that
// the level of every run is known.
//
// Everything here is Linux; elsewhere a plugin runs without a sandbox, and its level is off.
// The package imports nothing of the module, so that the shim starts early and fast.
// Package proc starts the processes.
package sandbox
