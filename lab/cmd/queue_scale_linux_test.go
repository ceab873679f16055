package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/hosttest/ring"
)

const (
	quotaOfCPU = 0.2
	perWorker  = 40 // trials of each
)

// TestEfficiency plays a search by 1, 2, 4 and 8 workers, each in a network namespace of its own and with its
// plugin under a quota of 0.2 CPU; coordinator and server have none, in a namespace that bridges the others.
// What is measured is how much workers lose to each other, the queue and the coordinator, not their speed.
func TestEfficiency(t *testing.T) {
	ring.Long(t, "it measures for minutes")
	ring.Alone(t, "it measures throughput")
	quotas := findQuotas(t)
	one := 0.0
	for _, n := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			speed := throughput(t, quotas, n)
			if n == 1 {
				one = speed
			}
			efficiency := speed / (float64(n) * one)
			t.Logf("%.2f trials/s, efficiency %.2f", speed, efficiency)
			if n == 4 && efficiency < 0.9 {
				t.Errorf("4 workers have an efficiency of %.2f, below 0.9", efficiency)
			}
		})
	}
}

// throughput is how many trials a second a search with n workers comes to, from its start to its end.
func throughput(t *testing.T, quotas quotas, n int) float64 {
	t.Helper()
	net := makeNetwork(t, n)
	dir := makeSearched(t, fmt.Sprintf(`{"space": {"mode": {"type": "choice", "values": ["ponder"]},
		"calm": {"type": "bool"}, "period": {"type": "int", "low": 3, "high": 500}}, "method": "sobol",
		"max_trials": %d}`, n*perWorker))
	lengthen(t, filepath.Join(dir, "lab.json"))
	state, key := planned(t, dir), signKeys(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("of a test"), 0o600); err != nil {
		t.Fatal(err)
	}
	var all []*process
	defer func() {
		for _, p := range all {
			p.kill()
		}
	}()
	start := func(group, namespace string, args ...string) *process {
		p := start(t, exec.Command("sh", append([]string{"-c",
			`echo $$ > "$1" && shift && exec ip netns exec "$@"`, "sh", filepath.Join(group, "cgroup.procs"),
			namespace, "lab"}, args...)...))
		all = append(all, p)
		return p
	}
	free := quotas.group(t, "hub", 0)
	server := start(free, net.hub, "queue", "serve", "--listen", net.address+":4222", "--folder", t.TempDir(),
		"--token-file", token)
	awaitWords(t, server, "the queue is at")
	url := "nats://" + net.address + ":4222"
	var workers []*process
	for i, namespace := range net.workers {
		w := start(quotas.group(t, fmt.Sprint("w", i), quotaOfCPU), namespace, "worker", "--join", url,
			"--token-file", token, "--allow", dsse.PublicPath(key), "--state-dir", t.TempDir(), "--sandbox", "off",
			"--workers", "1")
		awaitWords(t, w, "plays 1 trials")
		workers = append(workers, w)
	}
	began := time.Now()
	coordinator := start(free, net.hub, "family", "run", "choosy", "--on", url, "--token-file", token,
		"--sign-key", key, "--dir", dir, "--state-dir", state, "--sandbox", "off")
	select {
	case <-coordinator.ended:
	case <-time.After(10 * time.Minute):
		t.Fatalf("the search does not end: %s", coordinator.output)
	}
	if code := coordinator.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("exit %d: %s", code, coordinator.output)
	}
	gone := time.Since(began)
	var computed time.Duration
	for _, w := range workers {
		_ = w.Process.Signal(syscall.SIGTERM) // it waits for its plugin, whose time is then its own
		<-w.ended
		computed += computedBy(w)
	}
	t.Logf("%d trials in %s: %d CPU-ms each by workers, %d by the coordinator", n*perWorker, gone.Round(time.Second),
		computed.Milliseconds()/int64(n*perWorker), computedBy(coordinator).Milliseconds()/int64(n*perWorker))
	return float64(n*perWorker) / gone.Seconds()
}

// lengthen makes the trials of a project as long as real ones: six years of hours.
func lengthen(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.NewReplacer("2020-01-01T", "2018-01-01T", "2020-04-01T", "2024-01-01T", `"train": 800`,
		`"train": 8000`, `"test": 400`, `"test": 4000`, `"step": 800`, `"step": 8000`).Replace(string(text))
	if err := os.WriteFile(path, []byte(long), 0o644); err != nil {
		t.Fatal(err)
	}
}

// computedBy is how long a process that has ended has computed, with those that it has waited for.
func computedBy(p *process) time.Duration {
	return p.ProcessState.UserTime() + p.ProcessState.SystemTime()
}

func awaitWords(t *testing.T, p *process, words string) {
	t.Helper()
	for range 6000 {
		if strings.Contains(p.output.String(), words) {
			return
		}
		if p.over() {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it never said %q: %s", words, p.output)
}

// network is a bridge in a namespace of its own, and a namespace of each worker that sees nothing but it.
type network struct {
	hub, address string
	workers      []string
}

func makeNetwork(t *testing.T, n int) network {
	t.Helper()
	net := network{hub: fmt.Sprintf("assay-%d-hub", os.Getpid()), address: "10.99.0.1"}
	add := func(name string) {
		ipCommand(t, "netns", "add", name)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() }) // with its links
		ipCommand(t, "-n", name, "link", "set", "lo", "up")
	}
	add(net.hub)
	ipCommand(t, "-n", net.hub, "link", "add", "hub", "type", "bridge")
	ipCommand(t, "-n", net.hub, "addr", "add", net.address+"/24", "dev", "hub")
	ipCommand(t, "-n", net.hub, "link", "set", "hub", "up")
	for i := range n {
		name, port := fmt.Sprintf("assay-%d-%d", os.Getpid(), i), fmt.Sprint("port", i)
		add(name)
		ipCommand(t, "-n", net.hub, "link", "add", port, "type", "veth", "peer", "name", "net", "netns", name)
		ipCommand(t, "-n", net.hub, "link", "set", port, "master", "hub", "up")
		ipCommand(t, "-n", name, "addr", "add", fmt.Sprintf("10.99.0.%d/24", 10+i), "dev", "net")
		ipCommand(t, "-n", name, "link", "set", "net", "up")
		net.workers = append(net.workers, name)
	}
	return net
}

func ipCommand(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// quotas makes control groups with a quota of CPU, of version 1 or 2.
type quotas struct {
	root string
	v2   bool
}

// findQuotas skips the test where namespaces and quotas cannot be had.
func findQuotas(t *testing.T) quotas {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces and control groups need root")
	}
	probe := fmt.Sprintf("assay-%d-probe", os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", probe).CombinedOutput(); err != nil {
		t.Skipf("no network namespaces here: %v: %s", err, out)
	}
	ipCommand(t, "netns", "del", probe)
	if text, _ := os.ReadFile("/sys/fs/cgroup/cgroup.subtree_control"); strings.Contains(string(text), "cpu") {
		return quotas{"/sys/fs/cgroup", true}
	}
	for _, root := range []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"} {
		if _, err := os.Stat(filepath.Join(root, "cpu.shares")); err == nil {
			return quotas{root: root}
		}
	}
	t.Skip("no control groups with quotas of CPU here")
	return quotas{}
}

// group makes one with a quota of CPUs, 0 for none. Its weight keeps what else the machine does away from it.
func (q quotas) group(t *testing.T, name string, cpus float64) string {
	t.Helper()
	dir := filepath.Join(q.root, fmt.Sprintf("assay-%d-%s", os.Getpid(), name))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no control groups here: %v", err)
	}
	t.Cleanup(func() {
		for range 500 { // what was killed may need a moment
			if os.Remove(dir) == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("%s is left", dir)
	})
	const period = 100_000
	set := map[string]string{"cpu.shares": "65536"}
	if cpus > 0 {
		set["cpu.cfs_quota_us"] = strconv.Itoa(int(cpus * period))
	}
	if q.v2 {
		set = map[string]string{"cpu.weight": "10000"}
		if cpus > 0 {
			set["cpu.max"] = fmt.Sprint(int(cpus*period), period)
		}
	}
	for file, value := range set {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
