// What a suite finds out, one JSON line each on standard output: {"name", "ok", "detail", "seconds"}.
// "skip" instead of "ok" says why something cannot be found out yet. The Go side holds
// the lines against nothing but ok.
const longest = 6000;

export function report(name, ok, detail = "", seconds = 0) {
  write({ name, ok: Boolean(ok), detail: String(detail).slice(0, longest), seconds });
}

export function skip(name, why) {
  write({ name, ok: true, skip: why });
}

function write(line) {
  process.stdout.write(JSON.stringify(line) + "\n");
}
