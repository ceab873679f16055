//go:build linux && !amd64

package attack

import "errors"

// foreignCall has nothing to ask: only amd64 answers calls of another architecture in the same process.
func foreignCall(*Target) (string, error) {
	return "", errors.New("this processor has no calls of another architecture")
}
