// The smallest harness for tests of pure modules. unit.ts imports every *.test.ts; the
// browser tests load the bundle and read what run returns, Node runs it just as well.
export interface Outcome {
  name: string;
  ok: boolean;
  detail: string;
}

const tests: { name: string; body: () => void | Promise<void> }[] = [];

export function test(name: string, body: () => void | Promise<void>) {
  tests.push({ name, body });
}

/** Compares by structure; throws with both sides when they differ. */
export function equal(got: unknown, want: unknown, what = "") {
  const [a, b] = [show(got), show(want)];
  if (a !== b) throw new Error(`${what ? what + ": " : ""}got ${a}, want ${b}`);
}

export function ok(condition: unknown, what: string) {
  if (!condition) throw new Error(what);
}

function show(value: unknown): string {
  const sorted = (_: string, v: unknown) =>
    typeof v === "number" && !Number.isFinite(v) ? String(v) : v === undefined ? "undefined"
    : v && typeof v === "object" && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort(([x], [y]) => (x < y ? -1 : 1))) : v;
  return JSON.stringify(value, sorted) ?? "undefined";
}

export async function run(): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { name, body } of tests) {
    try {
      await body();
      outcomes.push({ name, ok: true, detail: "" });
    } catch (e) {
      outcomes.push({ name, ok: false, detail: String((e as Error).stack ?? e) });
    }
  }
  return outcomes;
}
