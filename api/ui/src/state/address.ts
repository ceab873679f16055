// The table of addresses.

/** Every page with its address; ui.go serves the document under the same ones. */
const places = {
  runner: "/ui",
  runs: "/ui/runs",
  run: "/ui/runs/{id}",
  compare: "/ui/compare",
  families: "/ui/families",
  family: "/ui/families/{id}",
  falsification: "/ui/falsifications/{id}",
  data: "/ui/data",
  governance: "/ui/governance",
  live: "/ui/live",
} as const;

export type PageName = keyof typeof places;

export interface Place {
  page: PageName;
  /** The last part of the address of one thing, decoded; "" on other pages. */
  id: string;
}

/** The place of a path; null when it is not one of the table. */
export function placeOf(path: string): Place | null {
  if (path === "/api/v1/ui") return { page: "runner", id: "" };
  const parts = path.split("/");
  for (const [page, pattern] of Object.entries(places) as [PageName, string][]) {
    const wanted = pattern.split("/");
    if (parts.length !== wanted.length) continue;
    if (!wanted.every((part, i) => (part === "{id}" ? parts[i] !== "" : part === parts[i]))) continue;
    return { page, id: pattern.endsWith("{id}") ? decoded(parts.at(-1) ?? "") : "" };
  }
  return null;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a page. */
export const address = (page: PageName, id = "", query = ""): string => places[page].replace("{id}", encodeURIComponent(id)) + (query && "?" + query);
