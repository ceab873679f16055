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
	folder, err := newSocketFolder()
	if err != nil {
		return nil, fmt.Errorf("make the socket folder: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	r := &runner{config: pythonConfig(l.Config, m, l.Program.SHA256, place), limit: limited}
	r.config.Binary, r.config.SocketDir = program, folder.dir
	r.config.Env = append(r.config.Env, socketDirVariable+"="+folder.dir)
	p := &Plugin{runner: r, folder: folder}
	stop := context.AfterFunc(limited, r.abort)
	err = r.Start(limited)
	if err == nil {
		p.link, err = l.connect(limited, r)
	}
	if inTime := stop(); err == nil && inTime {
		p.Child, p.Service = r.child(), l.Role.Frames(p.link)
		return p, nil
	}
	defer p.Discard()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, l.explain(r, err, limited.Err() != nil)
}

// clear closes the connection of a bundle whose process is gone.
func (p *Plugin) clear() {
	if p.link != nil {
		_ = p.link.Close()
	}
	p.folder.remove()
}

// connect waits for the process to say where it listens.
func (l *Launch) connect(ctx context.Context, r *runner) (net.Conn, error) {
	line, err := bufio.NewReader(r.Stdout()).ReadString('\n')
	parts := strings.Split(strings.TrimSpace(line), "|")
	switch {
	case err != nil:
		return nil, fmt.Errorf("it ended before it said where it listens: %w", err)
	case len(parts) != 5 || parts[0] != framesCore || parts[4] != "frames":
		return nil, fmt.Errorf("it begins with %.80q", line)
	case parts[1] != strconv.Itoa(l.Role.ProtocolVersion):
		return nil, fmt.Errorf("it speaks protocol %.20s, the host speaks %d", parts[1],
			l.Role.ProtocolVersion)
	}
	network, address, err := r.PluginToHost(parts[2], parts[3])
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

// numbers keep what NumPy computes the same on every processor that has AVX2 and on those
// that have not: one thread, one kernel, no dispatch.
var numbers = []string{
	"OPENBLAS_NUM_THREADS=1", "OPENBLAS_CORETYPE=Haswell", "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1",
	"POLARS_MAX_THREADS=1",
	"NPY_DISABLE_CPU_FEATURES=AVX2 FMA3 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL",
}

// pythonConfig is what the interpreter of a bundle gets: its library, the layers and the
// author's files, and nothing of the machine's Python.
func pythonConfig(c Config, m *bundle.Manifest, id string, place bundle.Place) Config {
	home, paths := place.Layer(m.Layers[0]), []string{place.Files(id)}
	c.Folders = append(c.Folders, home, place.Files(id))
	for _, l := range m.Layers[1:] {
		paths, c.Folders = append(paths, place.Layer(l)), append(c.Folders, place.Layer(l))
	}
	// Not -I or -E, which ignore PYTHONHASHSEED.
	c.Args = []string{"-s", "-P", "-B", "-m", "assay.serve", m.Entry}
	c.Env = append(c.Env, numbers...)
	c.Env = append(c.Env, "PYTHONHOME="+home, "PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1",
		"PYTHONNOUSERSITE=1", "PYTHONUNBUFFERED=1", "LD_LIBRARY_PATH="+filepath.Join(home, "lib"),
		"LC_ALL=C.UTF-8", "PYTHONPATH="+strings.Join(paths, string(filepath.ListSeparator)))
	c.Libraries = true
	return c
}
