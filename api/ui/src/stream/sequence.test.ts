import { equal, ok, test } from "../testing.ts";
import { frame, hello, snapshot } from "./fake.ts";
import { parse } from "./frame.ts";
import { Sequence } from "./sequence.ts";

const numbers = (s: { apply: { seq: number }[] }) => s.apply.map((f) => f.seq);
const at = (seq: number) => frame("progress", seq);

function begun(seq: number): Sequence {
  const s = new Sequence();
  s.take(hello(seq));
  s.take(snapshot(seq));
  return s;
}

test("frames in order are applied as they come", () => {
  const s = begun(4);
  equal(numbers(s.take(at(5))), [5]);
  equal(numbers(s.take(at(6))), [6]);
  equal([s.last, s.waiting], [6, false]);
});

test("nothing is applied before the first snapshot", () => {
  const s = new Sequence();
  equal(numbers(s.take(hello(4))), [4]);
  equal(s.take(at(5)), { apply: [], gap: false });
  equal(numbers(s.take(snapshot(4))), [4, 5]);
});

test("duplicates are passed over", () => {
  const s = begun(4);
  s.take(at(5));
  equal(numbers(s.take(at(5))), []);
  equal(numbers(s.take(at(3))), []);
  equal(s.waiting, false);
});

test("a gap is reported once, and what comes behind it waits for the snapshot", () => {
  const s = begun(4);
  equal(s.take(at(6)), { apply: [], gap: true });
  equal(s.take(at(7)), { apply: [], gap: false });
  equal(numbers(s.take(snapshot(6))), [6, 7]);
  equal([s.last, s.waiting], [7, false]);
});

test("a late frame closes the gap by itself", () => {
  const s = begun(4);
  s.take(at(7));
  s.take(at(6));
  equal(numbers(s.take(at(5))), [5, 6, 7]);
  equal(s.waiting, false);
  equal(numbers(s.take(snapshot(6))), [], "the snapshot asked for meanwhile is old");
});

test("a gap behind the snapshot asks again", () => {
  const s = begun(4);
  s.take(at(6));
  s.take(at(9));
  equal({ ...s.take(snapshot(7)), apply: [] }, { apply: [], gap: true });
  equal([s.last, s.waiting], [7, true]);
});

test("a reply shows that broadcasts were lost", () => {
  const s = begun(4);
  equal(s.take(frame("rows_result", 4)).gap, false);
  equal(s.take(frame("error", 6)).gap, true);
  equal(s.take(frame("rows_result", 7)).gap, false);
});

test("whatever order: all once, in order", () => {
  let seed = 7;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (let round = 0; round < 50; round++) {
    const s = begun(0), got: number[] = [];
    const sent = Array.from({ length: 40 }, (_, i) => at(i + 1)).flatMap((f) => (random() < 0.2 ? [f, f] : random() < 0.1 ? [] : [f]));
    sent.sort((a, b) => a.seq - b.seq + 6 * (random() - 0.5));
    for (const f of sent) {
      const step = s.take(f);
      got.push(...numbers(step));
      if (step.gap && random() < 0.5) got.push(...numbers(s.take(snapshot(f.seq))));
    }
    if (s.waiting) got.push(...numbers(s.take(snapshot(40))));
    ok(got.every((n, i) => i === 0 || n > got[i - 1]! || n === got[i - 1]), `order in round ${round}: ${got}`);
    ok(s.last >= 39, `the end in round ${round}: ${s.last}`);
  }
});

test("what is no frame is passed over", () => {
  for (const text of ["", "null", "[]", "7", "{", '{"type":"x"}', '{"type":1,"payload":{},"seq":1}', '{"type":"x","payload":[],"seq":1}', '{"type":"x","payload":{},"seq":-1}',
    '{"type":"x","payload":{},"seq":1.5}', '{"type":"x","payload":{},"seq":"1"}', new ArrayBuffer(2), undefined]) {
    equal(parse(text), null, String(text));
  }
  equal(parse('{"type":"x","payload":{},"seq":1}'), { type: "x", payload: {}, timestamp: "", seq: 1 });
});
