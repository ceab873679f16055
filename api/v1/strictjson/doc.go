// Package strictjson reads one JSON value the strict way: UTF-8 without byte order
// mark, no duplicate keys, bounded depth, bounded and finite numbers, nothing
// behind the value. It returns the plain tree that the schema validator reads, with
// numbers as json.Number.
//
// It builds on jsontext and imports nothing of this module.
package strictjson
