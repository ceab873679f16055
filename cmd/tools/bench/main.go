// Bench measures what Assay promises about speed and memory, each figure beside the
// in-process loop that it is a ratio of, all in one run. It needs what `make build`
// puts into bin/. A digest of every trade shows that nothing changed on the way; the
// program fails when the digests of the three ways to drive a strategy differ or
// when those of the reference run R are not the known ones.
//
// Each size runs in a process of its own, so that one does not use the memory that
// another left behind.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

func main() {
	size := flag.Int("size", 0, "measure one size, in candles, and print JSON (used by the program itself)")
	sizes := flag.String("sizes", "100000,1500000,10000000", "candles of each measurement")
	strategies := flag.String("strategies", "bin/strategies", "the folder that make build fills")
	lab := flag.String("lab", "bin/lab", "the lab that make build makes")
	trials := flag.Int("trials", familyTrials, "trials of the search; 0 leaves it out")
	attack := flag.Bool("falsify", true, "time lab falsify")
	others := flag.Bool("peers", false, "play R in other backtesters instead (Python packages are installed)")
	profile := flag.String("cpuprofile", "", "with -size: write a profile of co-simulation in the host")
	coOnly := flag.Bool("co", false, "with -size: nothing but co-simulation")
	flag.Parse()
	if *others {
		if err := measurePeers(*sizes, *strategies, "cmd/tools/bench/peers"); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	err := measureAll(*size, *sizes, *strategies, *profile, *coOnly)
	if err == nil && *size == 0 && *trials > 0 {
		err = measureFamily(*lab, *strategies, *trials)
	}
	if err == nil && *size == 0 && *attack {
		err = measureFalsify(*lab, *strategies)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measureAll(size int, sizes, strategies, profile string, coOnly bool) error {
	if size > 0 {
		f, err := measure(size, strategies, profile, coOnly)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(f)
	}
	fmt.Printf("%s, %d processors, %s/%s\n", runtime.Version(), runtime.NumCPU(), runtime.GOOS,
		runtime.GOARCH)
	fmt.Println("R: sma_cross (stake 100) on Synth(1, n, 2017-01-01, 1m), cash 100,000, bar-v1")
	var last figures
	for text := range strings.SplitSeq(sizes, ",") {
		if text == "" {
			continue // nothing but the search
		}
		f, err := inChild(text, strategies)
		if err != nil {
			return err
		}
		f.print()
		if err := f.check(); err != nil {
			return err
		}
		if last.Candles > 0 {
			grew := float64(f.Candles) / float64(last.Candles)
			fmt.Printf("  growth from the size before: candles x%.1f, co-simulation time x%.1f, plugin "+
				"memory %+.1f MiB\n",
				grew, f.CoSimulation/last.CoSimulation, f.PluginMiB-last.PluginMiB)
		}
		last = f
	}
	return nil
}

// inChild measures one size in a fresh process.
func inChild(size, strategies string) (figures, error) {
	var f figures
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	cmd := exec.Command(self, "-size", size, "-strategies", strategies)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return f, fmt.Errorf("size %s: %w", size, err)
	}
	return f, json.Unmarshal(out, &f)
}

// figures are the measurements of one size; times in seconds.
type figures struct {
	Candles                      int
	InProcess, Bare, Idle        float64
	CoSimulation, FirstCandle    float64
	Whole                        whole
	LockstepSteps                int
	Stepped                      stepped
	Scan, Import                 float64
	ImportRows                   int
	HostMiB, PluginMiB           float64
	Trades                       int
	Final                        string
	Digest, CoDigest, StepDigest string
	StepReference                string
}

// whole is of the run from the request until every file is written: seconds, those of both processes, and of
// them the host's in the loop and the plugin's.
type whole struct{ Seconds, CPU, LoopCPU, PluginCPU float64 }

// stepped is of the run in lockstep: seconds of the loop, those from the request to it, and the memory of
// the plugin.
type stepped struct {
	Seconds, Start, MiB float64
	Trades              int
}

func (f *figures) print() {
	rate := func(n int, s float64) float64 { return float64(n) / s / 1e6 }
	ofLoop := func(s float64) string { return fmt.Sprintf("%.2f of the loop", f.InProcess/s) }
	fmt.Printf("\n%d candles, %d trades, final value %s, digest %.16s\n", f.Candles, f.Trades, f.Final,
		f.Digest)
	header()
	plain("in-process loop, everything recorded", rate(f.Candles, f.InProcess), "M/s", "the loop")
	loopGoal.row("in-process loop, nothing recorded", rate(f.Candles, f.Bare), ofLoop(f.Bare))
	idleGoal.row("  without orders", rate(f.Candles, f.Idle), ofLoop(f.Idle))
	coGoal.row("co-simulation, plugin process", rate(f.Candles, f.CoSimulation), ofLoop(f.CoSimulation))
	firstGoal.row("  first candle after the request", f.FirstCandle*1e3, "")
	wholeGoal.row("  from the request to every file", rate(f.Candles, f.Whole.Seconds),
		ofLoop(f.Whole.Seconds))
	perCandle := func(s float64) float64 { return s * 1e9 / float64(f.Candles) }
	plain("  CPU of it, both processes", perCandle(f.Whole.CPU), "ns/c", fmt.Sprintf(
		"of it the plugin %.0f, the host until the last candle %.0f", perCandle(f.Whole.PluginCPU),
		perCandle(f.Whole.LoopCPU)))
	hostGoal.row("  peak memory of the host", f.HostMiB, "beside the mapped file")
	pluginGoal.row("  peak memory of the plugin", f.PluginMiB, "")
	lockstepGoal.row("lockstep, plugin process", float64(f.LockstepSteps)/f.Stepped.Seconds/1e3,
		fmt.Sprintf("over %d steps", f.LockstepSteps))
	storeGoal.row("store: open (CRC) and scan", f.Scan*1e3/float64(f.Candles)*1e6, "")
	importGoal.row("CSV import, stored", rate(f.ImportRows, f.Import),
		fmt.Sprintf("over %d rows", f.ImportRows))
}

// The known results of R at 1.5 million candles.
const (
	referenceCandles = 1_500_000
	referenceTrades  = 33_055
	referenceFinal   = "80013.167730478"
)

func (f *figures) check() error {
	if f.Digest != f.CoDigest {
		return fmt.Errorf("the books of co-simulation (%s) differ from those in process (%s)", f.CoDigest,
			f.Digest)
	}
	if f.StepDigest != f.StepReference {
		return fmt.Errorf("the books of lockstep (%s) differ from those in process (%s)", f.StepDigest,
			f.StepReference)
	}
	if f.Candles == referenceCandles && (f.Trades != referenceTrades || f.Final != referenceFinal) {
		return fmt.Errorf("the run R has %d trades and ends with %s, known are %d and %s", f.Trades, f.Final,
			referenceTrades, referenceFinal)
	}
	return nil
}
