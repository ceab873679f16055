package child

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/assay-run/assay/host/proc/sandbox"
)

const (
	memoryTick = 200 * time.Millisecond
	// forgetAfter is after how many ticks the numbers of other processes are looked at anew.
	forgetAfter = 25
)

// memory watches the processes of all plugins that have a PID namespace. The limits that
// the kernel sets to a process count neither shared memory nor its children.
var memory struct {
	sync.Mutex
	children map[string]*watched // by PID namespace
}

// watched is one plugin with its processes.
type watched struct {
	child *Child
	limit uint64 // bytes
}

// watchMemory kills the child when all its processes together take more memory than the
// policy allows, swapped memory included and shared memory counted once.
func watchMemory(c *Child, p *sandbox.Policy) {
	if !p.Rung.Processes || p.Limits.MemoryBytes == 0 {
		return
	}
	namespace, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", c.pid))
	if err != nil {
		return // it is gone
	}
	memory.Lock()
	defer memory.Unlock()
	if memory.children == nil {
		memory.children = map[string]*watched{}
	}
	memory.children[namespace] = &watched{c, p.Limits.MemoryBytes}
	if len(memory.children) == 1 {
		go keepWatch()
	}
	go func() {
		<-c.done
		memory.Lock()
		defer memory.Unlock()
		delete(memory.children, namespace)
	}()
}

// keepWatch looks at the memory of plugins as long as there are any.
func keepWatch() {
	ticker := time.NewTicker(memoryTick)
	defer ticker.Stop()
	others := map[string]bool{} // processes that are no plugins'
	for ticks := 0; ; ticks++ {
		<-ticker.C
		if ticks%forgetAfter == 0 {
			clear(others)
		}
		memory.Lock()
		if len(memory.children) == 0 {
			memory.children = nil
			memory.Unlock()
			return
		}
		taken := map[*watched][]string{}
		processes, _ := filepath.Glob("/proc/[1-9]*") // the pattern is good
		for _, process := range processes {
			if others[process] {
				continue
			}
			namespace, _ := os.Readlink(process + "/ns/pid") // gone, or not ours
			if w := memory.children[namespace]; w != nil {
				taken[w] = append(taken[w], process)
			} else {
				others[process] = true
			}
		}
		memory.Unlock()
		for w, processes := range taken {
			if sum(processes, "status", "VmRSS:", "VmSwap:") > w.limit && // which counts what is shared more than once
				sum(processes, "smaps_rollup", "Pss:", "SwapPss:") > w.limit {
				w.child.killFor(fmt.Sprintf("it took more than %d MiB of memory", w.limit>>20))
			}
		}
	}
}

// sum adds up fields, in bytes, of a file that each process has.
func sum(processes []string, file string, fields ...string) (total uint64) {
	for _, process := range processes {
		text, err := os.ReadFile(filepath.Join(process, file))
		if err != nil {
			continue // it is gone
		}
		for line := range bytes.Lines(text) {
			words := bytes.Fields(line)
			for _, field := range fields {
				if len(words) == 3 && string(words[0]) == field {
					n, _ := strconv.ParseUint(string(words[1]), 10, 64) // the kernel writes numbers
					total += n << 10
				}
			}
		}
	}
	return total
}
