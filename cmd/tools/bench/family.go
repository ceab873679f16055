package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// The search that is measured.
const (
	familyTrials                 = 200
	familyWindow                 = "BTC/USDT 1h, 58,419 candles"
	familyProject, familyProgram = "family", "sma_cross"
)

// familyJSON is SMA cross on the bundled candles, with a space of which nearly all points
// trade often enough to be measured.
const familyJSON = `{"schema":"lab/v1","slug":"sma_cross","hypothesis":"It is only measured.",` +
	`"exchange":"sample","symbols":["BTC/USDT"],"timeframe":"1h",
"plugin":{"path":%q},"family":{"space":{"fast":{"type":"int","low":5,"high":40},"slow":{"type":"int",` +
	`"low":50,"high":200}},"max_trials":%d}}`

// measureFamily times lab family run, with two workers and with one, each from nothing;
// what comes out must be the same bytes.
func measureFamily(lab, strategies string, trials int) error {
	fmt.Printf("\nlab family run, %d trials of %s, sobol, %s\n", trials, familyProgram, familyWindow)
	dir, err := os.MkdirTemp("", "assay-bench-family-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := filepath.Abs(filepath.Join(strategies, familyProgram))
	if err != nil {
		return err
	}
	project := filepath.Join(dir, familyProject)
	if err := os.Mkdir(project, 0o755); err != nil {
		return err
	}
	relative, err := filepath.Rel(project, program)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(project, "lab.json"), fmt.Appendf(nil, familyJSON, relative, trials),
		0o644); err != nil {
		return err
	}
	var seconds, cpu [3]float64 // by number of workers
	var out [3][]byte
	for _, workers := range []int{2, 1} {
		state := filepath.Join(dir, fmt.Sprint(workers))
		if seconds[workers], cpu[workers], out[workers],
			err = runFamily(lab, project, state, workers); err != nil {
			return err
		}
	}
	if !bytes.Equal(out[1], out[2]) {
		return fmt.Errorf("one worker and two do not give the same family_result.json")
	}
	header()
	trialGoal.row("processor time of a trial, all splits", cpu[2]/float64(trials), "all processes, 2 workers")
	busyGoal.row("  how busy both processors are", cpu[2]/seconds[2]/2,
		fmt.Sprintf("%.1f s in all", seconds[2]))
	speedupGoal.row("  2 workers against 1", seconds[1]/seconds[2], fmt.Sprintf("%.1f s with 1", seconds[1]))
	state := filepath.Join(dir, "2")
	families, runs := filepath.Join(state, "families"), filepath.Join(state, "runs")
	results, _, err := usage(families, filepath.Join(runs, "registry.sqlite3"))
	if err != nil {
		return err
	}
	whole, files, err := usage(families, runs)
	if err != nil {
		return err
	}
	diskGoal.row("  disk of a trial, registry and results", float64(results)/float64(trials)/1000,
		fmt.Sprintf("%.1f MB in %d files with the selected run", float64(whole)/1e6, files))
	return nil
}

// usage is how many bytes and files there are at and below some paths.
func usage(paths ...string) (bytes int64, files int, err error) {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			bytes, files = bytes+info.Size(), files+1
			return nil
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return bytes, files, nil
}

// runFamily plans, which is not timed, and runs. It returns the seconds, those of all
// processors together, which a busy machine changes little, and the result.
func runFamily(lab, project, state string, workers int) (wall, cpu float64, result []byte, err error) {
	call := func(args ...string) ([]byte, error) {
		cmd := exec.Command(lab, append(args, "--dir", project, "--state-dir", state, "--quiet", "--json")...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("lab %v: %w: %s", args, err, out)
		}
		// The plugins are in it: the lab has waited for them.
		cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
		return out, nil
	}
	out, err := call("family", "plan", familyProgram)
	if err != nil {
		return 0, 0, nil, err
	}
	var planned struct {
		Result struct {
			PlanID string `json:"plan_id"`
		} `json:"result"`
	}
	if err := json.Unmarshal(out, &planned); err != nil {
		return 0, 0, nil, err
	}
	begin := time.Now()
	if _, err := call("family", "run", familyProgram, "--workers", fmt.Sprint(workers)); err != nil {
		return 0, 0, nil, err
	}
	wall = time.Since(begin).Seconds()
	result, err = os.ReadFile(filepath.Join(state, "families", familyProgram, planned.Result.PlanID,
		"family_result.json"))
	return wall, cpu, result, err
}
