// The table as a file: what is shown, in its order and choice. A table of which only a
// part is here is asked for whole, page by page.
import { signal } from "@preact/signals";
import { count } from "../state/format.ts";
import { status } from "../state/store.ts";
import { announce } from "../state/view.ts";
import type { Progress } from "./collect.ts";
import { csv } from "./csv.ts";

/** The most rows of one file. */
export const mostSaved = 100_000;

/** A table to be saved. */
export interface Sheet<R> {
  name: string;
  fields: readonly (keyof R & string)[];
  /** The rows shown; null when progress returned false. */
  rows(progress: (p: Progress) => boolean): Promise<R[] | null>;
  /** How many there are. */
  total(): number;
}

/** The file being made: null when there is none. */
export const saving = signal<(Progress & { name: string; ticket: number }) | null>(null);
/** What became of the last file, in words. */
export const saved = signal<{ name: string; words: string } | null>(null);

let tickets = 0;

export function cancelSaving() {
  saving.value = null;
}

/** Saves a table. */
export async function save<R>(sheet: Sheet<R>): Promise<void> {
  if (saving.value) return;
  const mine = { name: sheet.name, ticket: ++tickets, done: 0, of: 0 };
  const wanted = () => saving.value?.ticket === mine.ticket;
  saving.value = mine;
  saved.value = null;
  let words = "";
  try {
    const rows = await sheet.rows((p) => {
      if (wanted()) saving.value = { ...mine, ...p };
      return wanted();
    });
    if (rows) words = saveRows(sheet, rows);
  } catch (e) {
    words = `no file: ${(e as Error).message}`;
  }
  if (!wanted()) return;
  saving.value = null;
  saved.value = { name: sheet.name, words };
  announce(words);
}

function saveRows<R>(sheet: Sheet<R>, rows: R[]): string {
  saveText(fileName(sheet.name, "csv"), csv(sheet.fields, rows));
  return `saved ${rows.length < sheet.total() ? "the newest " : ""}${count(rows.length)} ${rows.length === 1 ? "row" : "rows"}`;
}

/** assay-svc_01jd…-trades.csv */
export function fileName(what: string, kind: string): string {
  return `assay-${status.peek().run_id || "run"}-${what}.${kind}`;
}

function saveText(name: string, text: string) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has read the address when the click is done, but not always the data.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
