// Package registry keeps one row per run in <state_dir>/runs/registry.sqlite3: what
// was asked, how it stands, and a copy of its metadata.json.
//
// A run's rows are made when it begins (status running) and completed in one
// transaction after package artifact has put its files in place. ListMetadata is the
// one way to enumerate runs, for CLI, comparison, API and packing.
//
// It also counts what people should not have to be asked: Trials is what has been tried
// in a family, Peeks who has looked at the locked test metrics, PostPeek whether a trial
// comes after such a look.
//
// A crash can come between any two of these steps. The next Open settles it: a
// folder that is whole but whose row is still running is verified and adopted, one
// that does not verify moves to runs/.orphan/, and InterruptService marks the runs
// of the service that will never end. Several processes may use the file at once.
//
// Every exported method is one transaction. The package imports sqlite, artifact and
// result.
package registry
