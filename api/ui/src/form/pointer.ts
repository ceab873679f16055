// RFC 6901 pointers into a request, and where on the page their fields are.

/** Tokens as a pointer: ["strategy_params", "a/b"] is /strategy_params/a~1b. */
export function pointer(...tokens: string[]): string {
  return tokens.map((t) => "/" + t.replaceAll("~", "~0").replaceAll("/", "~1")).join("");
}

/** The tokens of a pointer; [] is the whole document, null is no pointer. */
export function tokens(text: string): string[] | null {
  if (text === "") return [];
  if (!text.startsWith("/") || /~(?![01])/.test(text)) return null;
  return text.slice(1).split("/").map((t) => t.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The field that a pointer is in: itself, or the nearest one above it. null: no field
 *  has it. within names the part of the field, such as the item of a list. */
export function locate(text: string, fields: ReadonlySet<string>): { field: string; within: string[] } | null {
  const all = tokens(text);
  if (!all) return null;
  for (let n = all.length; n > 0; n--) {
    const field = pointer(...all.slice(0, n));
    if (fields.has(field)) return { field, within: all.slice(n) };
  }
  return null;
}

/** The id of a field's control: free of blanks, so that aria-describedby can name it. */
export const elementId = (field: string) => "field" + field.replace(/[^A-Za-z0-9_-]/g, (c) => "." + c.codePointAt(0)?.toString(16) + ".");
