import { equal, test } from "../testing.ts";
import { hint } from "./hint.ts";
import { fieldOf } from "./schema.ts";
import type { Raw } from "./draft.ts";

const said = (schema: unknown, raw: Raw) => hint(fieldOf("x", schema), raw);
const integer = { type: "integer", default: 10 }, text = { type: "string", default: "abc" };

test("hint: untouched fields and defaults need none", () => {
  equal([said(integer, undefined), said(integer, "10"), said(text, "abc"), said({ type: "string" }, undefined)], ["", "", "", ""]);
  equal([said({ type: "integer" }, ""), said({ type: "integer" }, "3"), said({ type: "string", default: "" }, "")], ["", "", ""]);
});

test("hint: an emptied field says what is sent", () => {
  equal(said(integer, " "), "Empty = 10.");
  equal(said(text, ""), "Sent as an empty text. Default: abc.");
  equal(said({ type: "string", minLength: 1 }, "a"), "");
  equal(said({ default: { a: 1 } }, ""), 'Empty = {"a":1}.');
  equal(said({ type: "array", items: { type: "string" }, default: ["a"] }, []), "Sent as an empty list.");
  equal(said({ type: "string", format: "password", default: "canary" }, ""), "Sent as an empty text.");
});

test("hint: the default beside another value", () => {
  equal(said(integer, "11"), "Default: 10.");
  equal(said(text, "b"), "Default: abc.");
  equal(said({ type: "boolean", default: true }, "false"), "Default: yes.");
  equal(said({ enum: ["a", null], default: null }, '"a"'), "Default: none.");
  equal(said({ type: "string", default: "d".repeat(100) }, "b").length, "Default: .".length + 62);
});
