package redteam

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/assay-run/assay/host/hosttest/redteam/attack"
)

// facts are what can be seen from outside, by name.
type facts map[string]string

// changed names the facts below a name that differ, with what they were and are. Of the state folder
// only what was there before counts: the service itself adds to it.
func (f facts) changed(now facts, name string) []string {
	var list []string
	for key, value := range now {
		if key != name && !strings.HasPrefix(key, name+" ") {
			continue
		}
		before, known := f[key]
		if before != value && (known || !strings.HasPrefix(key, "state ")) {
			list = append(list, fmt.Sprintf("%s: %q became %q", key, before, value))
		}
	}
	for key, value := range f {
		if _, is := now[key]; !is && (key == name || strings.HasPrefix(key, name+" ")) {
			list = append(list, fmt.Sprintf("%s: %q is gone", key, value))
		}
	}
	slices.Sort(list)
	return list
}

// look collects every fact that can be seen at this moment.
func (s *stage) look() facts {
	f := facts{}
	f.process("bystander", s.bystander.cmd.Process.Pid)
	f["bystander signals"] = fmt.Sprint(s.bystander.signals.Load())
	f["bystander memory"] = s.bystander.answer()
	if s.service != nil && s.service.alive() {
		f.process("service", s.service.cmd.Process.Pid)
		f["service"] = "alive"
	} else {
		f["service"] = "gone"
	}
	s.lookAtFiles(f)
	for name, count := range s.met {
		f["listener "+name] = fmt.Sprint(count.Load())
	}
	s.lookAtMachine(f)
	return f
}

func (b *bystander) answer() string {
	if _, err := b.ask.Write([]byte("?\n")); err != nil {
		return "gone"
	}
	select {
	case a := <-b.answers:
		return a
	case <-time.After(2 * time.Second):
		return "silent"
	}
}

func contents(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

func (s *stage) contents(name string) string { return contents(filepath.Join(s.dir, name)) }

// process are the facts of a process that has nothing to do with the plugin.
func (f facts) process(name string, pid int) {
	proc := fmt.Sprintf("/proc/%d/", pid)
	for _, line := range strings.Split(contents(proc+"limits"), "\n") {
		if len(line) > 26 && strings.HasPrefix(line, "Max") {
			f[name+" limit "+strings.TrimSpace(line[:26])] = strings.Join(strings.Fields(line[26:]), " ")
		}
	}
	_, rest, _ := strings.Cut(contents(proc+"stat"), ") ")
	if fields := strings.Fields(rest); len(fields) > 39 {
		f[name+" nice"], f[name+" scheduler"] = fields[16], fields[38]
	}
	f[name+" processors"] = statusField(pid, "Cpus_allowed_list")
	f[name+" out-of-memory score"] = strings.TrimSpace(contents(proc + "oom_score_adj"))
	class, _, _ := syscall.Syscall(unix.SYS_IOPRIO_GET, 1, uintptr(pid), 0)
	f[name+" disk class"] = fmt.Sprint(class)
}

func statusField(pid int, name string) string {
	for _, line := range strings.Split(contents(fmt.Sprintf("/proc/%d/status", pid)), "\n") {
		if key, value, ok := strings.Cut(line, ":"); ok && key == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// lookAtFiles are the facts of files: of the user's everything, of the service's what nobody changes.
func (s *stage) lookAtFiles(f facts) {
	for _, a := range attack.List() {
		files, _ := filepath.Glob(s.target.File(a.Name) + "*")
		for _, path := range files {
			name := filepath.Base(path)
			if name == a.Name || strings.HasPrefix(name, a.Name+".") {
				f["home "+a.Name+" "+name] = s.describe(path, true)
			}
		}
	}
	names, _ := filepath.Glob(s.target.Strategies + "/*")
	f["strategies"] = strings.ReplaceAll(strings.Join(names, " "), s.target.Strategies+"/", "")
	for _, folder := range []string{"plugins", "connectors", "data/candles", "data/windows", "runs"} {
		files, _ := filepath.Glob(filepath.Join(s.target.State, folder, "*"))
		for _, path := range files {
			name := "state " + strings.TrimPrefix(folder, "data/") + " " + filepath.Base(path)
			if strings.Contains(path, "sqlite") || folder == "runs" || folder == "connectors" {
				if info, err := os.Stat(path); err == nil {
					f[name+" mode"] = info.Mode().String()
				}
				continue
			}
			f[name] = s.describe(path, false)
		}
	}
}

// describe is everything that can be known about a file, its time of change only where wanted.
func (s *stage) describe(path string, change bool) string {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("mode %o, owner %d.%d, %d names, ", st.Mode, st.Uid, st.Gid, st.Nlink)
	if written := time.Unix(st.Mtim.Unix()); strings.Contains(path, "/windows/") && written.After(s.made) {
		text += fmt.Sprintf("%x", sha256.Sum256([]byte(contents(path)))) // the service dates what it uses
	} else {
		text += fmt.Sprintf("written %d", written.UnixNano())
	}
	if st.Mode&unix.S_IFMT == unix.S_IFREG {
		b := make([]byte, 1024)
		if n, err := unix.Llistxattr(path, b); err == nil {
			text += fmt.Sprintf(", attributes %q", b[:n])
		}
		text += fmt.Sprintf(", %d bytes", st.Size)
		if fd, err := unix.Open(path, unix.O_RDONLY, 0); err == nil {
			if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
				text += ", locked"
			}
			flags, _ := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
			text += fmt.Sprintf(", flags %#x", flags)
			unix.Close(fd)
		}
	}
	if change {
		text += fmt.Sprintf(", changed %d", st.Ctim.Nano())
	}
	if change && st.Mode&unix.S_IFMT == unix.S_IFREG {
		text += fmt.Sprintf(", %q", contents(path))
	}
	return text
}

// lookAtMachine are the facts of objects that belong to no process.
func (s *stage) lookAtMachine(f facts) {
	for name, file := range map[string]string{"shared memory": "shm", "semaphores": "sem",
		"message queues": "msg"} {
		found := ""
		for _, line := range strings.Split(contents("/proc/sysvipc/"+file), "\n") {
			if fields := strings.Fields(line); len(fields) > 0 && fields[0] == strconv.Itoa(s.target.Key) {
				found = "there"
			}
		}
		f["machine "+name] = found
	}
	f["machine posix queue"] = ""
	if fd, err := attack.OpenQueue(s.target.Mark, unix.O_RDWR); err == nil {
		unix.Close(fd)
		f["machine posix queue"] = "there"
	}
	f["machine posix shared memory"], f["machine temporary files"] = "", ""
	for _, pattern := range notePlaces(s.target.Mark) {
		files, _ := filepath.Glob(pattern)
		key := "machine temporary files"
		if strings.HasPrefix(pattern, "/dev/shm") {
			key = "machine posix shared memory"
		}
		f[key] += strings.Join(files, " ")
	}
	f["machine keys"] = ""
	for _, line := range strings.Split(contents("/proc/key-users"), "\n") {
		if fields := strings.Fields(line); len(fields) > 3 && fields[0] == strconv.Itoa(s.uid)+":" {
			f["machine keys"] = fields[3]
		}
	}
	f["machine name"], _ = os.Hostname()
	f["machine core pattern"] = contents("/proc/sys/kernel/core_pattern")
}

func unlinkQueue(name *byte) {
	_, _, _ = syscall.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0)
}
