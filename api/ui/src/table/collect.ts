// All rows of a table, page by page, for a file.
import { mostRows, type Answer } from "./pages.ts";

export interface Progress {
  done: number;
  of: number;
}

/** Rows newest first, at most `most`, as they were at the begin: rows that arrive meanwhile are left out. progress returns false to give up: then null. */
export async function collect<T>(
  load: (offset: number, limit: number) => Promise<Answer<T>>, most: number, progress: (p: Progress) => boolean,
): Promise<T[] | null> {
  const rows: T[] = [];
  let answer = await load(0, mostRows);
  const total = answer.of, wanted = Math.min(most, total);
  let offset = 0;
  for (;;) {
    const arrived = answer.of - total;
    // What has arrived since the request stands before the rows that were meant.
    const fresh = answer.items.slice(Math.max(0, rows.length + arrived - offset));
    for (const row of fresh) if (rows.length < wanted) rows.push(row);
    if (rows.length >= wanted) return progress({ done: rows.length, of: wanted }) ? rows : null;
    if (answer.items.length === 0) throw new Error(`only the newest ${rows.length} rows can be had now`);
    if (!progress({ done: rows.length, of: wanted })) return null;
    offset = rows.length + arrived;
    answer = await load(offset, mostRows);
  }
}
