// Package scaffold makes the folder of a new strategy: lab init.
//
// Inside a checkout the folder is strategies/<slug>. Elsewhere it is a Go module of its
// own; the SDK that it builds with comes out of this program: sdk.zip has the sources
// of plugin-sdk as a module, made by internal/sdkzip, which Extract unpacks into the
// state directory. All files of a folder appear at once or none does, and nothing that
// exists is ever overwritten.
package scaffold
