package drive

import (
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
)

// sdkPath is the import path below which code is not the author's.
const sdkPath = "github.com/assay-run/assay/plugin-sdk"

// panicPlace is the author's file and line that led to the panic which is being recovered,
// such as strategy.go:36; "" where no frame is the author's. Call it in the deferred
// function.
func panicPlace() string {
	module := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		module = info.Main.Path
	}
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	panicked := false
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch {
		case f.Function == "runtime.gopanic" || f.Function == "runtime.sigpanic":
			panicked = true
		case panicked && isAuthors(f.Function, module):
			return fmt.Sprintf("%s:%d", shortFile(f.File, module), f.Line)
		}
	}
	return ""
}

// isAuthors reports whether a function belongs to the author's program: to its main package
// or to its module, as in a test, but not to the SDK, which is of the same module in its
// own checkout.
func isAuthors(function, module string) bool {
	if within(function, sdkPath) {
		return false
	}
	return strings.HasPrefix(function, "main.") || module != "" && within(function, module)
}

func within(function, importPath string) bool {
	rest, ok := strings.CutPrefix(function, importPath)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '/')
}

// shortFile is a file below the author's module, else its name alone.
func shortFile(file, module string) string {
	if rest, ok := strings.CutPrefix(file, module+"/"); ok {
		return rest
	}
	return path.Base(file)
}
