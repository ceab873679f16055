// Package capsule is the failure capsule: one file that says how a run failed and has
// what is needed to see it fail again (lab.md section 10).
//
// A Capsule is plain data. Kinds sort the failures, Fingerprint names what failed
// whatever the candle, the id also where. Seal takes secrets out and binds the body
// to a hash, Encode keeps it within its size, Decode reads it back strictly: a capsule
// comes from a file that anybody may have written. Shelve keeps the capsules of one
// run few and counts equal ones.
//
// The package plays nothing: package stage below it makes capsules of failed plays and
// repeats them. It imports the nouns of the host, never a process or a store.
package capsule
