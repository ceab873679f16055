package capsule

import "strconv"

// signals are the names of the numbers that end a process on Linux.
var signals = map[int]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
	10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
}

// SignalOf is the name of the signal that an exit code of 128 and more stands for; ""
// if the process ended by itself or not at all.
func SignalOf(exitCode *int) string {
	if exitCode == nil || *exitCode <= 128 {
		return ""
	}
	n := *exitCode - 128
	if name, known := signals[n]; known {
		return name
	}
	return "SIG" + strconv.Itoa(n)
}

func exitStatus(code int) string { return "exit status " + strconv.Itoa(code) }
