import { equal, ok, test } from "../testing.ts";
import { Slots } from "./slots.ts";

test("rows that stay keep their slot, others take the freed ones", () => {
  const s = new Slots();
  equal(s.assign([0, 1, 2, 3, 4]), [0, 1, 2, 3, 4]);
  equal(s.assign([2, 3, 4, 5, 6]), [2, 3, 4, 0, 1]);
  equal(s.assign([1, 2, 3, 4, 5]), [1, 2, 3, 4, 0]);
});

test("a jump moves no element", () => {
  const s = new Slots();
  s.assign([0, 1, 2]);
  equal(s.assign([70, 71, 72]), [0, 1, 2]);
});

test("a row that stays far away is not moved", () => {
  const s = new Slots();
  equal(s.assign([0, 1, 2, 3]), [0, 1, 2, 3]);
  // Row 2 stays first, as its cell has the focus: slots 0 and 1 stand before it and are given up.
  equal(s.assign([2, 50, 51, 52]), [2, 3, 4, 5]);
  equal(s.assign([2, 90, 91, 92]), [2, 3, 4, 5]);
});

test("no slot twice, and no more than the most rows at once", () => {
  const s = new Slots();
  for (let first = 0; first < 500; first += 7) {
    const rows = Array.from({ length: 10 + (first % 3) }, (_, i) => first + i);
    const slots = s.assign(rows);
    equal(new Set(slots).size, rows.length);
    ok(Math.max(...slots) < 40, "slots are taken again");
  }
});
