package proc

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/proc/bundle"
	"github.com/assay-run/assay/host/proc/sandbox"
)

// framesCore begins the line with which a bundle's process says where it listens.
const framesCore = "assay"

// socketDirVariable names the folder of the socket to the process, as go-plugin does.
const socketDirVariable = "PLUGIN_UNIX_SOCKET_DIR"

// launchBundle starts the interpreter of a bundle and connects to its socket, which is in a
// private folder and not encrypted.
func (s Store) launchBundle(ctx context.Context, l Launch) (*Plugin, error) {
	if l.Role.Frames == nil {
		return nil, &LaunchError{*Faultf(CodeBadBundle, "a bundle is no %s", l.Role.Noun), []string{}}
	}
	m, err := s.openBundle(l.Program.SHA256)
	if err != nil {
		return nil, &LaunchError{*Faultf(CodeBadBundle, "%v", err), []string{}}
	}
	place := s.place()
	home := place.Layer(m.Layers[0])
	program, err := os.Open(filepath.Join(home, filepath.FromSlash(m.Interpreter)))
	if err != nil {
		return nil, &LaunchError{*Faultf(CodeBadBundle, "%v", err), []string{}}
	}
	defer program.Close()
	if why := sandbox.Unwalled(l.Config.Sandbox, false); l.Sessions && why != "" {
		return nil, needsOwnProcess(why)
	}
	folder, err := newSocketFolder()
	if err != nil {
		return nil, fmt.Errorf("make the socket folder: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	r := &runner{config: pythonConfig(l.Config, m, l.Program.SHA256, place, l.Sessions), limit: limited}
	r.config.Binary, r.config.SocketDir = program, folder.dir
	r.config.Env = append(r.config.Env, socketDirVariable+"="+folder.dir)
	p := &Plugin{runner: r, folder: folder, role: l.Role, sessions: l.Sessions}
	stop := context.AfterFunc(limited, r.abort)
	if err = r.Start(limited); err == nil && l.Sessions {
		if why := r.child().level.LacksAny(sandbox.PartPID, sandbox.PartRoot); why != "" {
			stop()
			p.Discard()
			return nil, needsOwnProcess(why)
		}
	}
	if err == nil {
		p.address, err = l.listens(r)
	}
	if err == nil {
		err = p.Reconnect(limited)
	}
	if inTime := stop(); err == nil && inTime {
		p.Child = r.child()
		return p, nil
	}
	defer p.Discard()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, l.explain(r, err, limited.Err() != nil)
}

// needsOwnProcess refuses a process that plays more than one run: what a play leaves behind could not be
// found.
func needsOwnProcess(why string) error {
	return &LaunchError{*Faultf(CodeSandboxUnavailable, "each run needs a process of its own: %s", why),
		[]string{}}
}

// Reconnect closes the connection of a bundle and makes another, for its next run.
func (p *Plugin) Reconnect(ctx context.Context) error {
	var d net.Dialer
	link, err := d.DialContext(ctx, "unix", p.address)
	if err != nil {
		return err
	}
	client, link, err := p.role.Frames(link)
	if err != nil {
		return err
	}
	p.linked.Lock()
	defer p.linked.Unlock()
	if p.link != nil {
		_ = p.link.Close()
	}
	p.link, p.Service = link, client
	return nil
}

// unlink closes the connection of a bundle and reports whether it has one.
func (p *Plugin) unlink() bool {
	p.linked.Lock()
	defer p.linked.Unlock()
	if p.link != nil {
		_ = p.link.Close()
	}
	return p.link != nil
}

// clear closes the connection of a bundle whose process is gone.
func (p *Plugin) clear() {
	p.unlink()
	p.folder.remove()
}

// listens waits for the process to say where it listens.
func (l *Launch) listens(r *runner) (address string, err error) {
	line, err := bufio.NewReader(r.Stdout()).ReadString('\n')
	parts := strings.Split(strings.TrimSpace(line), "|")
	switch {
	case err != nil:
		return "", fmt.Errorf("it ended before it said where it listens: %w", err)
	case len(parts) != 5 || parts[0] != framesCore || parts[4] != "frames":
		return "", fmt.Errorf("it begins with %.80q", line)
	case parts[1] != strconv.Itoa(l.Role.ProtocolVersion):
		return "", fmt.Errorf("it speaks protocol %.20s, the host speaks %d", parts[1],
			l.Role.ProtocolVersion)
	}
	_, address, err = r.PluginToHost(parts[2], parts[3])
	return address, err
}

// numbers keep what NumPy computes the same on every processor that has AVX2 and on those
// that have not: one thread, one kernel, no dispatch.
var numbers = []string{
	"OPENBLAS_NUM_THREADS=1", "OPENBLAS_CORETYPE=Haswell", "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1",
	"POLARS_MAX_THREADS=1",
	"NPY_DISABLE_CPU_FEATURES=AVX2 FMA3 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL",
}

// pythonConfig is what the interpreter of a bundle gets: its library, the layers and the
// author's files, and nothing of the machine's Python. A process of sessions gets the author's files by
// name: what it imports before it forks is not to find them.
func pythonConfig(c Config, m *bundle.Manifest, id string, place bundle.Place, sessions bool) Config {
	home, files := place.Layer(m.Layers[0]), place.Files(id)
	c.Folders = append(c.Folders, home, files)
	// Not -I or -E, which ignore PYTHONHASHSEED.
	c.Args = []string{"-s", "-P", "-B", "-m", "assay.serve", m.Entry}
	paths := []string{files}
	if sessions {
		c.Args, paths = append(c.Args, files), nil
	}
	for _, l := range m.Layers[1:] {
		paths, c.Folders = append(paths, place.Layer(l)), append(c.Folders, place.Layer(l))
	}
	c.Env = append(c.Env, numbers...)
	c.Env = append(c.Env, "PYTHONHOME="+home, "PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1",
		"PYTHONNOUSERSITE=1", "PYTHONUNBUFFERED=1", "LD_LIBRARY_PATH="+filepath.Join(home, "lib"),
		"LC_ALL=C.UTF-8", "PYTHONPATH="+strings.Join(paths, string(filepath.ListSeparator)))
	c.Libraries = true
	return c
}
