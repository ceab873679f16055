import { equal, ok, test } from "../testing.ts";
import { dictionary, fieldOf, fieldsOf, grouped } from "./schema.ts";
import type { Field } from "./schema.ts";

const names = (fields: Field[]) => fields.map((f) => (f.rest ? "*" : f.name));
const kind = (schema: unknown) => fieldOf("x", schema).kind;

test("schema: kinds of the profile", () => {
  equal(kind({ type: "integer" }), "integer");
  equal(kind({ type: "number" }), "number");
  equal(kind({ type: "string" }), "string");
  equal(kind({ type: "boolean" }), "boolean");
  equal(kind({ enum: ["a", 1, true, null] }), "enum");
  equal(kind({ type: "array", items: { type: "string" } }), "array");
  equal(kind({ type: "array", items: { enum: ["a"] } }), "array");
});

test("schema: everything else is JSON", () => {
  const others: unknown[] = [
    {}, true, null, 7, "x", [], { type: "object" }, { type: ["integer", "null"] }, { type: "null" }, { $ref: "#/x", type: "integer" },
    { oneOf: [{ type: "integer" }] }, { type: "integer", not: {} }, { const: 3 }, { enum: [] }, { enum: [{ a: 1 }] }, { enum: "a" }, { type: "array" },
    { type: "array", items: { type: "object" } }, { type: "array", items: { type: "array", items: { type: "string" } } }, { type: "array", prefixItems: [], items: { type: "string" } },
    { type: "array", items: true },
  ];
  for (const o of others) equal(kind(o), "json", JSON.stringify(o));
});

test("schema: keywords of a field", () => {
  const f = fieldOf("stop_loss", {
    type: "number", title: "Stop", description: "Distance", default: 0.02, minimum: 0, exclusiveMaximum: 1, multipleOf: 0.01,
    "x-ui": { order: 3, group: "Exit", unit: "fraction", widget: "slider", advanced: true },
  }, true);
  equal(f, {
    name: "stop_loss", kind: "number", title: "Stop", description: "Distance", initial: 0.02, minimum: 0, exclusiveMaximum: 1, multipleOf: 0.01, unit: "fraction",
    group: "Exit", widget: "slider", advanced: true, required: true, secret: false, rest: false,
  });
  equal(fieldOf("takeProfit_x", { type: "number" }).title, "Take profit x");
  equal(fieldOf("a", { type: "integer", default: 1 }, false, 9).initial, 9, "the strategy's defaults win");
  equal(fieldOf("a", { type: "string", pattern: "^a", minLength: 2, maxLength: 5 }).maxLength, 5);
});

test("schema: order, then the schema's own order; groups in order", () => {
  const fields = fieldsOf({
    type: "object", properties: {
      a: { type: "integer" }, b: { type: "integer", "x-ui": { order: 2, group: "G" } }, c: { type: "integer", "x-ui": { order: 1, group: "H" } }, d: { type: "integer" },
      e: { type: "integer", "x-ui": { order: "first" } },
    },
  });
  equal(names(fields), ["c", "b", "a", "d", "e"]);
  equal(grouped(fields).map(([g, list]) => [g, names(list)]), [["H", ["c"]], ["G", ["b"]], ["", ["a", "d", "e"]]]);
});

test("schema: required and defaults", () => {
  const [a, b] = fieldsOf({ properties: { a: { type: "integer", default: 1 }, b: { type: "integer" } }, required: ["b", 3] }, { a: 5 });
  equal([a?.required, a?.initial, b?.required, b?.initial], [false, 5, true, undefined]);
});

test("schema: keys without a field", () => {
  const p = { properties: { a: { type: "integer" } } };
  equal(names(fieldsOf({ ...p, additionalProperties: false })), ["a"]);
  equal(names(fieldsOf(p)), ["a"]);
  equal(names(fieldsOf({ ...p, additionalProperties: true })), ["a", "*"]);
  equal(names(fieldsOf({ ...p, patternProperties: {} })), ["a", "*"]);
  equal(fieldsOf(p, { a: 1, z: 2 })[1]?.initial, { z: 2 });
  equal(names(fieldsOf({ $ref: "#/$defs/x" })), ["*"]);
  equal(names(fieldsOf({ oneOf: [{}] })), ["*"]);
  equal(names(fieldsOf({ type: "array" }, { q: 1 })), ["*"]);
  equal(names(fieldsOf({ type: "object", additionalProperties: { type: "number" } })), ["*"]);
});

test("schema: nothing to ask", () => {
  for (const s of [{}, undefined, null, true, "x", { type: "object" }, { properties: {} }, { properties: [] }, { properties: { } , additionalProperties: false }]) {
    equal(fieldsOf(s), [], JSON.stringify(s));
  }
});

test("schema: secrets", () => {
  ok(fieldOf("k", { type: "string", format: "password" }).secret, "password");
  ok(fieldOf("k", { type: "string", writeOnly: true }).secret, "writeOnly");
  ok(fieldOf("k", { type: "object", properties: { k: { type: "string", format: "password" } } }).secret, "inside JSON");
  ok(!fieldOf("k", { type: "string" }).secret, "plain");
});

test("schema: hostile ones give a form", () => {
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => ["p" + i, { type: "integer" }]));
  equal(names(fieldsOf({ properties: many })), ["*"]);
  const odd = JSON.parse('{"properties":{"__proto__":{"type":"integer"},"constructor":{"type":"string"},"":{"type":"boolean"}},"required":"a"}') as unknown;
  equal(names(fieldsOf(odd, JSON.parse('{"__proto__":4}'))), ["__proto__", "constructor", ""]);
  equal(fieldsOf(odd, JSON.parse('{"__proto__":4}'))[0]?.initial, 4);
  equal(fieldsOf(odd)[1]?.initial, undefined, "nothing is inherited");
  const f = fieldOf("x", { type: "integer", title: 5, description: "d".repeat(1e6), minimum: "0", maximum: null, multipleOf: 0, "x-ui": "wide", default: { a: [] } });
  equal([f.title, f.description.length, f.minimum, f.maximum, f.multipleOf], ["X", 600, undefined, undefined, undefined]);
  equal(JSON.stringify(dictionary([["__proto__", 1]])), '{"__proto__":1}');
});

test("schema: a text of several formats is a text, any other choice is JSON", () => {
  equal(kind({ type: "string", anyOf: [{ format: "date-time" }, { format: "date" }] }), "string");
  equal(kind({ type: "string", anyOf: [{ format: "date" }, { pattern: "^now$" }] }), "json");
  equal(kind({ anyOf: [{ format: "date-time" }, { format: "date" }] }), "json");
});
