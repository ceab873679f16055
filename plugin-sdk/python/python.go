// Package python embeds the sources of the SDK for strategies in Python, which lab puts into
// each bundle. The folder is also a Python project of its own: pip installs it.
//
// It is small because it holds files only, and imports nothing of the module.
package python

import "embed"

// Sources are the files of the Python project: the package assay is below src.
//
//go:embed pyproject.toml README.md backend/*.py
//go:embed src/assay/*.py src/assay/*/*.py src/assay/*/*/*.py src/assay/*.pyi src/assay/py.typed
var Sources embed.FS
