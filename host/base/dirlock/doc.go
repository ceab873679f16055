// Package dirlock locks folders between processes, and syncs them, where the system
// can. A lock ends with its process at the latest, so that what a crash left behind
// can be told from what somebody is at work on. A Room is a locked folder of one process.
package dirlock
