// Package child owns the operating system's side of one plugin process: it starts
// the program behind an open file, in its own process group, with almost no
// environment and, if wanted, in the sandbox; it keeps what the process says on
// stderr; and it makes sure that nothing of it is left.
//
// A child dies with its host: Linux kills it when the thread that started it ends,
// which is why a goroutine with a thread of its own stays with it, and the reading
// end of a pipe whose other end only the host holds tells it everywhere else.
//
// It knows nothing of go-plugin or gRPC and imports only package sandbox of the
// module. Package catalog drives it.
package child
