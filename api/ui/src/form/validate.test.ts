import { equal, ok, test } from "../testing.ts";
import { fieldOf, fieldsOf } from "./schema.ts";
import { mismatch, read, readAll, toRaw, untouched } from "./validate.ts";
import type { Raw } from "./draft.ts";

const reading = (schema: unknown, raw: Raw, required = false) => {
  const r = read(fieldOf("x", schema, required), raw);
  return r.problem ? r.problem.message : r.value;
};
const integer = { type: "integer", minimum: 1, maximum: 500 };

test("validate: whole numbers are text until they are read", () => {
  equal(reading(integer, "10"), 10);
  equal(reading(integer, " 10 "), 10);
  equal(reading(integer, "1e2"), 100);
  equal(reading(integer, "10.0"), 10);
  equal(reading(integer, "1.5"), "must be a whole number");
  equal(reading(integer, "0"), "must be at least 1");
  equal(reading(integer, "501"), "must be at most 500");
  equal(reading(integer, "ten"), "is not a number");
  equal(reading(integer, "0x10"), "is not a number");
  equal(reading({ type: "integer" }, "9007199254740993"), "has more digits than a number keeps: stay below 2^53");
  equal(reading({ type: "integer" }, "-9007199254740991"), -9007199254740991);
});

test("validate: numbers", () => {
  const n = { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1, multipleOf: 0.1 };
  equal(reading(n, "0.3"), 0.3);
  equal(reading(n, ".5"), 0.5);
  equal(reading(n, "0"), "must be more than 0");
  equal(reading(n, "1"), "must be less than 1");
  equal(reading(n, "0.35"), "must be a multiple of 0.1");
  equal(reading(n, "0,5"), "is not a number: write 0.5, without other separators");
  equal(reading({ type: "number" }, "1e400"), "is too large");
  equal(reading({ type: "number" }, "Infinity"), "is not a number");
  equal(reading({ type: "number" }, "-0"), 0);
  equal(reading({ type: "number" }, "0.1234567890123456789"), 0.12345678901234568);
});

test("validate: empty is absent, the default applies", () => {
  equal(reading(integer, ""), undefined);
  equal(reading({ ...integer, default: 7 }, undefined), 7);
  equal(reading({ ...integer, default: 7 }, "", true), undefined);
  equal(reading(integer, "  ", true), "is required");
  equal(reading({ type: "string" }, undefined, true), "is required");
  equal(reading({ type: "boolean" }, undefined), undefined);
  equal(reading({ type: "boolean" }, undefined, true), false);
  equal(reading({ type: "boolean", default: true }, undefined), true);
  equal(read(fieldOf("x", { type: "integer", default: 7 }), undefined, true), {}, "blank");
});

test("validate: an emptied text is sent as one", () => {
  equal(reading({ type: "string", default: "abc" }, ""), "");
  equal(reading({ type: "string", default: "abc" }, undefined), "abc");
  equal(reading({ type: "string", default: "abc", minLength: 1 }, ""), "needs at least 1 character");
  equal(read(fieldOf("x", { type: "string" }, true), ""), { value: "", problem: { message: "is empty", certain: false } });
  equal(read(fieldOf("x", { type: "string", default: "abc" }), "", true), {}, "where untouched fields send nothing it is untouched");
});

test("validate: text and patterns", () => {
  equal(reading({ type: "string", minLength: 2 }, "a"), "needs at least 2 characters");
  equal(reading({ type: "string", maxLength: 2 }, "😀😀"), "😀😀");
  equal(reading({ type: "string", maxLength: 2 }, "abc"), "has 3 characters, at most 2");
  equal(reading({ type: "string" }, " a "), " a ");
  const r = read(fieldOf("x", { type: "string", pattern: "^[a-z]+$" }), "A1");
  equal([r.value, r.problem?.certain], ["A1", false], "the service is the judge");
});

test("validate: patterns that cannot be judged pass", () => {
  ok(mismatch("^a", "b"), "plain");
  ok(!mismatch("^(a+)+$", "a".repeat(50) + "b"), "nested");
  ok(!mismatch("[", "b"), "broken");
  ok(!mismatch("(?i)abc", "ABC"), "other dialect");
  ok(!mismatch("\\z", "x"), "other escape");
  ok(!mismatch("a*b*c*d*e", "x"), "many repeats");
  ok(!mismatch("^a$", "b".repeat(1000)), "long");
});

test("validate: choices keep their type", () => {
  const e = { enum: ["1", 1, true, null] };
  equal(reading(e, '"1"'), "1");
  equal(reading(e, "1"), 1);
  equal(reading(e, "null"), null);
  equal(reading(e, "2"), "is not one of the choices");
});

test("validate: lists", () => {
  const numbers = { type: "array", items: { type: "integer", minimum: 1 }, minItems: 2, maxItems: 3, uniqueItems: true };
  equal(reading(numbers, ["1", "2"]), [1, 2]);
  equal(reading(numbers, ["1"]), "needs at least 2 items");
  equal(reading(numbers, ["1", "2", "3", "4"]), "has 4 items, at most 3");
  equal(reading(numbers, ["1", "0"]), "item 2 must be at least 1");
  equal(reading(numbers, ["1", "1.0"]), "has an item twice");
  equal(reading(numbers, []), undefined);
  equal(reading({ type: "array", items: { type: "string" }, default: ["a"] }, []), [], "emptied on purpose");
  equal(reading({ type: "array", items: { type: "string" } }, [], true), []);
});

test("validate: JSON", () => {
  equal(reading({}, '{"a":[1]}'), { a: [1] });
  ok(String(reading({}, "{a}")).startsWith("is not JSON: "), "its own parse error");
});

test("validate: values come back as they are shown", () => {
  for (const [schema, value] of [
    [integer, 12], [{ type: "string" }, "a"], [{ type: "boolean" }, true], [{ enum: ["a", 1] }, 1], [{}, { a: 1 }], [{ type: "array", items: { type: "number" } }, [1, 0.5]],
    [{ type: "array", items: { enum: ["a", 1] } }, ["a", 1]],
  ] as const) {
    const f = fieldOf("x", schema);
    equal(read(f, toRaw(f, value as never)).value, value);
  }
  equal(untouched(fieldOf("x", { type: "integer", default: { a: 1 } })), '{"a":1}');
});

test("validate: a whole object", () => {
  const fields = fieldsOf({ properties: { a: { type: "integer", default: 1 }, b: { type: "number" } }, additionalProperties: true, required: ["b"] });
  const typed: Record<string, string> = { b: "x", "": '{"a":9,"__proto__":2}' };
  const r = readAll(fields, (f) => typed[f.name]);
  equal(JSON.stringify(r.value), '{"a":1,"__proto__":2}');
  equal([...r.problems].map(([f, p]) => [f.name, p.message]), [["b", "is not a number"]]);
});
