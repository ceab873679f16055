// The lines of a unified diff.

export interface Line {
  kind: "added" | "removed" | "place" | "same";
  text: string;
}

/** The lines of a diff. What would not be seen in them, or would hide or turn other text, is replaced. */
export function lines(diff: string): Line[] {
  const all = diff.replace(/[^\P{C}\n\t]/gu, "\ufffd").split("\n");
  if (all.at(-1) === "") all.pop();
  return all.map((text, i) => ({ kind: i < 2 || text.startsWith("@@") ? "place" : text.startsWith("+") ? "added" : text.startsWith("-") ? "removed" : "same", text }));
}

export const changes = (all: Line[]) => ({ added: all.filter((l) => l.kind === "added").length, removed: all.filter((l) => l.kind === "removed").length });
