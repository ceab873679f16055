import { equal, test } from "../testing.ts";
import type { Raw } from "./draft.ts";
import { fieldsOf } from "./schema.ts";
import { terms } from "./terms.ts";
import { readAll } from "./validate.ts";

const shown = (properties: object, raws: Record<string, Raw> = {}, defaults: object = {}) => {
  const fields = fieldsOf({ properties }, defaults);
  return terms(fields, readAll(fields, (f) => raws[f.name]), "USDT").map((t) => `${t.name}: ${t.text}`);
};

test("terms: what is sent, with its unit", () => {
  const properties = {
    fast: { type: "integer", default: 10, "x-ui": { unit: "candles" } }, budget: { type: "number", "x-ui": { unit: "quote" } }, on: { type: "boolean", default: true },
    note: { type: "string", default: "abc" }, none: { type: "integer" }, list: { type: "array", items: { type: "number" }, default: [1, 2.5] },
  };
  equal(shown(properties, { budget: "500", note: "" }), ["Fast: 10 candles", "Budget: 500 USDT", "On: yes", 'Note: ""', "List: [1,2.5]"]);
});

test("terms: keys without a field, and secrets", () => {
  equal(shown({ a: { type: "integer" } }, {}, { a: 1, z: "more" }), ["A: 1", "z: more"]);
  equal(shown({ pin: { type: "string", format: "password" } }, { pin: "canary" }), ["Pin: [hidden]"]);
});
