// Package docs is the guides, which the service shows below /docs/guide. It is small because it
// has only the files; package api/docs renders them. It imports the standard library.
package docs

import "embed"

// Guides are the Markdown files of this folder.
//
//go:embed *.md
var Guides embed.FS
