// The newest entries of a table, kept current from frames. Orders, fills and trades of
// a run are numbered from 1 (o-000143), which is what makes counts exact and holes
// visible: a frame has at most 50 entries and says only how many more there are.

/** Most rows of a table that are kept. */
const mostRows = 200;

/** The number in an id such as o-000143; 0 if there is none. */
export function ordinal(id: string): number {
  const digits = /^[a-z]-(\d{1,15})$/.exec(id)?.[1];
  return digits ? Number(digits) : 0;
}

/**
 * Known rows and those of a frame as one list without holes, newest first. Entries that
 * the frame left out make what was known before doubtful, so it is dropped: whoever
 * wants more asks for rows.
 */
export function merged<T>(known: T[], items: T[], omitted: number, id: (row: T) => string): T[] {
  const byId = new Map<string, T>();
  for (const row of omitted > 0 ? [] : known) byId.set(id(row), row);
  for (const row of items) byId.set(id(row), row);
  const rows = [...byId.values()].sort((a, b) => ordinal(id(b)) - ordinal(id(a)));
  let n = Math.min(rows.length, mostRows);
  for (let i = 1; i < n; i++) {
    if (ordinal(id(rows[i]!)) !== ordinal(id(rows[0]!)) - i) n = i;
  }
  return rows.slice(0, n);
}

/** How many entries there are: the newest one's number. */
export function counted<T>(before: number, items: T[], id: (row: T) => string): number {
  return items.reduce((most, row) => Math.max(most, ordinal(id(row))), before);
}
