// Package scaffold makes the folder of a new strategy: lab init.
//
// Inside a checkout the folder is strategies/<slug>. Elsewhere it is a Go module of its
// own and whole: the SDK that it builds with lies in it as sources. They come out of this
// program: sdk.zip has those of plugin-sdk as a module, made by cmd/tools/sdkzip; Update puts
// the ones of a newer program in their place. All files of a folder appear at once or none
// does, and nothing that exists is ever overwritten.
package scaffold
