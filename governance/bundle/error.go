package bundle

import "github.com/assay-run/assay/governance/bundle/field"

// Code is why something is refused: a code of the control plane's table. The codes
// themselves are in package field.
type Code = field.Code

// Error is a refusal with code and JSON pointer.
type Error = field.Error
