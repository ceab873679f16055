//go:build race

package live

// raceDetector says whether it watches: it makes everything some ten times slower.
const raceDetector = true
