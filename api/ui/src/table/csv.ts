// A table as CSV (RFC 4180), with the names and raw values of the API.

/** The file: a line of field names, then one line for each row. */
export function csv<R>(fields: readonly (keyof R & string)[], rows: readonly R[]): string {
  const lines = [fields.join(",")];
  for (const row of rows) lines.push(fields.map((field) => cell(row[field])).join(","));
  return lines.join("\r\n") + "\r\n";
}

/** One value: null is empty, a list is joined by semicolons as in trades.csv of the run. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return decimal(value);
  if (typeof value === "boolean") return String(value);
  return quote(harmless(Array.isArray(value) ? value.join(";") : String(value)));
}

// A spreadsheet runs text that begins like a formula, and a tag may be anybody's.
function harmless(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
}

function quote(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

/** A number without an exponent, as the API writes money. */
function decimal(value: number): string {
  const text = String(value);
  const parts = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (!parts) return text;
  const [, sign = "", lead = "", rest = "", power = "0"] = parts;
  const digits = lead + rest, point = 1 + Number(power);
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  return sign + digits.padEnd(point, "0");
}
