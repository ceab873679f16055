// JSON Schema -> the fields of a form. What the profile does not know becomes a JSON
// text area; nothing that a plugin sends may break the page.
export type Scalar = string | number | boolean | null;
export type Json = Scalar | Json[] | { [key: string]: Json };
export type Kind = "integer" | "number" | "string" | "boolean" | "enum" | "array" | "json";
export type Widget = "slider" | "switch" | "select" | "textarea";

/** Bounds of a value; of the items where the field is a list. */
export interface Bounds {
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
}

export interface Field extends Bounds {
  name: string;
  kind: Kind;
  title: string;
  description: string;
  unit: string;
  group: string;
  widget?: Widget;
  advanced: boolean;
  required: boolean;
  /** Masked where it is a text, never stored, removed once sent. */
  secret: boolean;
  /** Takes, as one JSON object, the keys that have no field of their own: all of them if nothing else is laid out. */
  rest: boolean;
  initial?: Json;
  options?: Scalar[];
  /** Of a list: what an item is. */
  items?: Field;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
}

type Node = Record<string, unknown>;

/** More than this are not laid out one by one. */
const maxFields = 256;
const maxOptions = 500;
/** Keywords that restrict a value in ways a single input does not know. */
const structural = ["$ref", "$dynamicRef", "oneOf", "anyOf", "allOf", "not", "if", "const"];
const widgets: readonly string[] = ["slider", "switch", "select", "textarea"];

/** Lays out an object schema; defaults win over the schema's own. */
export function fieldsOf(schema: unknown, defaults: unknown = {}): Field[] {
  const root = object(schema), values = object(defaults);
  const properties = Object.entries(object(root.properties));
  if (opaque(root) || properties.length > maxFields || (!properties.length && branches(root))) return [restOf(root, values)];
  const required = new Set(strings(root.required));
  const laid = properties.map(([name, node], at) => ({ at, order: order(node), field: fieldOf(name, node, required.has(name), own(values, name)) }));
  laid.sort((a, b) => a.order - b.order || a.at - b.at);
  const fields = laid.map((f) => f.field);
  const known = new Set(properties.map(([name]) => name));
  const others = Object.entries(values).filter(([name]) => !known.has(name));
  if (open(root) || others.length) fields.push(restOf(root, dictionary(others as [string, Json][]), properties.length > 0));
  return fields;
}

/** A schema that says nothing readable about its keys. */
const opaque = (root: Node) => (root.type !== undefined && root.type !== "object") || root.$ref !== undefined || root.$dynamicRef !== undefined;
const branches = (root: Node) => ["oneOf", "anyOf", "allOf", "if"].some((k) => root[k] !== undefined);
/** Says itself that it takes keys which it does not name; merely not closing it does not count. */
const open = (root: Node) => root.additionalProperties === true || isObject(root.additionalProperties) || root.patternProperties !== undefined;

function restOf(root: Node, values: Node, beside = false): Field {
  const field: Field = {
    name: "", kind: "json", title: beside ? "Other values" : "All values", description: "One JSON object", unit: "", group: "", advanced: beside,
    required: false, secret: mentionsSecret(root), rest: true,
  };
  if (Object.keys(values).length) field.initial = values as Json;
  return field;
}

/** An object that takes any key, also __proto__. */
export function dictionary(entries: Iterable<[string, Json]>): { [key: string]: Json } {
  const out = Object.create(null) as { [key: string]: Json };
  for (const [key, value] of entries) out[key] = value;
  return out;
}

/** One property as a field. */
export function fieldOf(name: string, schema: unknown, required = false, initial?: Json): Field {
  const node = object(schema), ui = object(node["x-ui"]);
  const field: Field = {
    name, kind: kindOf(node), title: text(node.title, 80) || words(name), description: text(node.description, 600), unit: text(ui.unit, 24), group: text(ui.group, 60),
    advanced: ui.advanced === true, required, secret: false, rest: false, ...bounds(node),
  };
  field.secret = field.kind === "string" ? isSecret(node) : (field.kind === "json" || field.kind === "array") && mentionsSecret(node);
  if (typeof ui.widget === "string" && widgets.includes(ui.widget)) field.widget = ui.widget as Widget;
  const value = initial !== undefined ? initial : (node.default as Json | undefined);
  if (value !== undefined) field.initial = value;
  if (field.kind === "enum") field.options = node.enum as Scalar[];
  if (field.kind === "array") list(field, node);
  return field;
}

function list(field: Field, node: Node) {
  field.items = fieldOf(field.name, node.items);
  const min = natural(node.minItems), max = natural(node.maxItems);
  if (min !== undefined) field.minItems = min;
  if (max !== undefined) field.maxItems = max;
  if (node.uniqueItems === true) field.uniqueItems = true;
}

function kindOf(node: Node): Kind {
  if (structural.some((k) => node[k] !== undefined && !(k === "anyOf" && formats(node)))) return "json";
  if (node.enum !== undefined) return enumerable(node.enum) ? "enum" : "json";
  switch (node.type) {
    case "integer": case "number": case "string": case "boolean":
      return node.type;
    case "array":
      return listable(node) ? "array" : "json";
    default:
      return "json";
  }
}

/** A text that may be written in several formats is a text: the service knows them. */
function formats({ type, anyOf }: Node): boolean {
  return type === "string" && Array.isArray(anyOf) && anyOf.every((n) => isObject(n) && Object.keys(n).every((k) => k === "format"));
}

function listable(node: Node): boolean {
  if (node.prefixItems !== undefined || node.contains !== undefined || !isObject(node.items)) return false;
  return ["integer", "number", "string", "boolean", "enum"].includes(kindOf(node.items));
}

function enumerable(values: unknown): boolean {
  if (!Array.isArray(values) || !values.length || values.length > maxOptions) return false;
  return values.every((v) => v === null || ["string", "number", "boolean"].includes(typeof v));
}

const isSecret = (node: Node) => node.format === "password" || node.writeOnly === true;
export const mentionsSecret = (node: unknown) => /"format":"password"|"writeOnly":true/.test(JSON.stringify(node));

function bounds(node: Node): Bounds {
  const out: Bounds = {};
  for (const key of ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] as const) {
    const v = node[key];
    if (typeof v === "number" && Number.isFinite(v)) out[key] = v;
  }
  if (typeof node.multipleOf === "number" && node.multipleOf > 0) out.multipleOf = node.multipleOf;
  for (const key of ["minLength", "maxLength"] as const) {
    const v = natural(node[key]);
    if (v !== undefined) out[key] = v;
  }
  if (typeof node.pattern === "string") out.pattern = node.pattern;
  return out;
}

/** Fields under their group's name, groups in the order of their first fields. */
export function grouped(fields: Field[]): [group: string, fields: Field[]][] {
  const groups = new Map<string, Field[]>();
  for (const f of fields) {
    const of = groups.get(f.group);
    if (of) of.push(f);
    else groups.set(f.group, [f]);
  }
  return [...groups];
}

function order(node: unknown): number {
  const v = object(object(node)["x-ui"]).order;
  return typeof v === "number" && Number.isFinite(v) ? v : Infinity;
}

const isObject = (v: unknown): v is Node => typeof v === "object" && v !== null && !Array.isArray(v);
const object = (v: unknown): Node => (isObject(v) ? v : {});
const own = (o: Node, key: string) => (Object.hasOwn(o, key) ? (o[key] as Json) : undefined);
const strings = (v: unknown): string[] => (Array.isArray(v) ? v.filter((x) => typeof x === "string") : []);
const natural = (v: unknown) => (typeof v === "number" && Number.isInteger(v) && v >= 0 ? v : undefined);
const text = (v: unknown, most: number) => (typeof v !== "string" ? "" : v.length > most ? v.slice(0, most - 1) + "…" : v);

/** stop_loss and stopLoss as "Stop loss". */
function words(name: string): string {
  const spaced = name.replace(/([a-z\d])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").trim().slice(0, 80);
  return spaced ? spaced.charAt(0).toUpperCase() + spaced.slice(1).toLowerCase() : name;
}
