package redteam

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// witness looks at the plugin's processes from outside as long as they run, and keeps what should not be.
type witness struct {
	stage *stage
	role  string
	seen  facts
	links map[string]int // how often a descriptor was seen
	stop  chan struct{}
	done  chan struct{}
}

// pulse is how often the witness looks.
const pulse = 20 * time.Millisecond

func (s *stage) watch(role string) *witness {
	w := &witness{stage: s, role: role, seen: facts{}, links: map[string]int{}, stop: make(chan struct{}),
		done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for {
			w.look()
			select {
			case <-w.stop:
				return
			case <-time.After(pulse):
			}
		}
	}()
	return w
}

// end stops the witness and adds what it saw to the facts.
func (w *witness) end(f facts) {
	close(w.stop)
	<-w.done
	for key, value := range w.seen {
		f[key] = value
	}
}

// marked are the processes that carry a mark in their command line.
func marked(mark string) []int {
	var list []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, _, _ := bytes.Cut([]byte(contents("/proc/"+e.Name()+"/cmdline")), []byte{0})
		if strings.HasPrefix(filepath.Base(string(line)), mark) && !strings.HasPrefix(processState(pid),
			"Z") {
			list = append(list, pid)
		}
	}
	return list
}

func processState(pid int) string { return statusField(pid, "State") }

func (w *witness) look() {
	host := w.stage.service
	own, err := os.Stat(filepath.Join(w.stage.dir, "bin", "assay"))
	if err != nil || host == nil {
		return
	}
	for _, pid := range marked(w.stage.target.Mark) {
		exe, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
		if err != nil || os.SameFile(own, exe) {
			continue // the host's part, before it has become the plugin or beside it
		}
		w.lookAt(pid)
	}
	for _, folder := range w.stage.socketFolders() {
		_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && e.Name() == "on-disk" {
				w.seen["plugin files on disk"] = path
			}
			return nil
		})
	}
	if tracer := statusField(w.stage.bystander.cmd.Process.Pid, "TracerPid"); tracer != "0" && tracer != "" {
		w.seen["bystander tracer"] = tracer
	}
	port := fmt.Sprintf("0100007F:%04X 00000000:0000 0A", w.stage.target.FreePort)
	if strings.Contains(contents("/proc/net/tcp"), port) {
		w.seen["plugin listens"] = port
	}
	if strings.Contains(contents("/proc/net/unix"), "@"+w.stage.target.Mark+"-bound") {
		w.seen["plugin binds"] = "seen outside"
	}
}

func (w *witness) lookAt(pid int) {
	for _, kind := range []string{"CapEff", "CapPrm", "CapInh", "CapAmb"} {
		if mask, err := strconv.ParseUint(statusField(pid, kind), 16, 64); err == nil && mask != 0 {
			w.seen["plugin capabilities"] = fmt.Sprintf("%s %x", kind, mask)
		}
	}
	if fields := strings.Fields(statusField(pid, "Uid")); slices.Contains(fields, "0") {
		w.seen["plugin user"] = "root"
	}
	if v := statusField(pid, "NoNewPrivs"); v == "0" {
		w.seen["plugin may gain privileges"] = "yes"
	}
	if v := statusField(pid, "Seccomp"); v != "" && v != "2" {
		w.seen["plugin filter of system calls"] = "none"
	}
	var shared []string
	for _, kind := range []string{"user", "mnt", "pid", "ipc", "uts", "net"} {
		mine, _ := os.Readlink("/proc/self/ns/" + kind)
		theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
		if err == nil && mine == theirs && (kind != "net" || w.role != "connector") {
			shared = append(shared, kind)
		}
	}
	if len(shared) > 0 {
		w.seen["plugin namespaces"] = strings.Join(shared, " ")
	}
	if names := foreignNames(contents(fmt.Sprintf("/proc/%d/environ", pid))); len(names) > 0 {
		w.seen["plugin environment"] = strings.Join(names, " ")
	}
	w.lookAtDescriptors(pid)
}

// foreignNames are those of variables that a plugin does not need.
func foreignNames(environ string) []string {
	var names []string
	for _, kv := range strings.Split(environ, "\x00") {
		name, value, ok := strings.Cut(kv, "=")
		needed := strings.HasPrefix(name, "PLUGIN_") || name == "GOMAXPROCS" || name == "REDTEAM_ROLE" ||
			name == "GORACE" ||
			name == "ASSAY_PLUGIN" || name == "ASSAY_CONNECTOR" || name == "ASSAY_PARENT_FD" ||
			name == "ASSAY_FRAMES"
		if ok && (!needed || strings.Contains(value, "SECRET")) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// lookAtDescriptors finds folders, and files that can be written to, besides those of its own folder.
func (w *witness) lookAtDescriptors(pid int) {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, link := range links {
		to, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(to, "/") || to == os.DevNull || strings.Contains(to, "/as-") ||
			strings.Contains(to, "/ac-") ||
			strings.HasPrefix(to, "/memfd:") || strings.HasPrefix(to, "/dev/shm/") {
			continue
		}
		var st unix.Stat_t
		var flags int
		info := contents(strings.Replace(link, "/fd/", "/fdinfo/", 1))
		if _, rest, ok := strings.Cut(info, "flags:"); ok {
			_, _ = fmt.Sscanf(strings.TrimSpace(rest), "%o", &flags)
		}
		folder := unix.Stat(link, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
		if folder || flags&unix.O_ACCMODE != unix.O_RDONLY {
			// In the middle of an execution a process has its new name and still the old descriptors.
			if w.links[link+to]++; w.links[link+to] > 1 {
				w.seen["plugin descriptors"] = fmt.Sprintf("%s, as %s", to, link)
			}
		}
	}
}
