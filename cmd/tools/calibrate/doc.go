// Command calibrate measures the battery of lab falsify itself: how often it lets through
// strategies that know nothing, how often it finds an edge that is there, and whether it
// refutes those that cheat. What comes out is docs/calibration.md: `make calibrate`.
//
// Every case has candles, a family of trials and a falsification of its own, made by the
// same code as lab run and lab falsify, in a state directory of its own that is removed
// afterwards. The strategies are served by this process as under a debugger, so that a
// replay starts no process. All random numbers are streams of a case's number: how many
// cases are made side by side changes nothing.
package main
