import { equal, test } from "../testing.ts";
import { moment, typed } from "./moment.ts";

test("moment: what the service reads", () => {
  equal(moment("2024-01-31"), { text: "2024-01-31", ms: Date.UTC(2024, 0, 31) });
  equal(moment(" 2024-01-31 12:30 "), { text: "2024-01-31T12:30Z", ms: Date.UTC(2024, 0, 31, 12, 30) });
  equal(moment("2024-01-31T12:30:05")?.text, "2024-01-31T12:30:05Z");
  equal(moment("2024-01-31t12:30:05.25z")?.text, "2024-01-31T12:30:05.25Z");
  equal(moment("2024-01-31T12:30:05+02:00"), { text: "2024-01-31T12:30:05+02:00", ms: Date.UTC(2024, 0, 31, 10, 30, 5) });
  equal(moment("2024-02-29")?.text, "2024-02-29");
});

test("moment: what is none", () => {
  for (const s of ["", "2024", "2024-1-1", "2023-02-29", "2024-13-01", "2024-00-10", "2024-01-01 24:00", "2024-01-01 12:60", "01/02/2024", "2024-01-01T12", "2024-01-01 12:00 CET", "tomorrow"]) {
    equal(moment(s), null, s);
  }
});

test("moment: as it stands in an input", () => {
  equal(typed("2024-01-31T00:00:00.000Z"), "2024-01-31");
  equal(typed("2017-08-17T04:00:00.000Z"), "2017-08-17 04:00");
  equal(typed("2017-08-17T04:00:09.000Z"), "2017-08-17 04:00:09");
  equal(typed("2017-08-17T04:00:00.250Z"), "2017-08-17 04:00:00.250");
  equal(typed("later"), "later");
});
