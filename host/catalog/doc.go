// Package catalog knows which strategies there are and starts them.
//
// Open looks once at the strategies folder. Every executable file in it is hashed
// and copied to the state folder under its hash; only these copies are executed, and
// each is hashed again, through the very descriptor that is executed, before it
// runs, unless it is a file that was hashed before and that nobody has touched since. New ones are probed: started in the sandbox, asked to describe themselves,
// ended. What they answer is checked, kept by hash in plugins.lock.json and listed
// by Strategies; a file that fails is listed as unavailable with one of the Reasons.
// The set then stays as it is until the next Open, whatever happens to the folder.
//
// Launch starts one process for one run and returns a Process with the generated
// gRPC client. Process.Kill ends it within two seconds in every case. Strategies
// named by ASSAY_REATTACH_STRATEGIES run under a debugger: they are connected to
// instead of being started and carry the mark Debug.
//
// Package proc starts the processes.
package catalog
