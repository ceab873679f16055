// Which key does what, without the page.
export type Action = { do: "help" } | { do: "stop" } | { do: "reset" } | { do: "theme" } | { do: "tab"; index: number };

export interface Pressed {
  key: string;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
  /** Whether a field or a dialog has the focus. */
  typing: boolean;
}

/** What a key pressed anywhere on the page means; letters only when switched on. */
export function action(press: Pressed, letters: boolean): Action | null {
  if (press.typing || press.ctrlKey || press.altKey || press.metaKey) return null;
  if (press.key === "?") return { do: "help" };
  if (!letters) return null;
  if (press.key === "s") return { do: "stop" };
  if (press.key === "r") return { do: "reset" };
  if (press.key === "t") return { do: "theme" };
  return /^[1-7]$/.test(press.key) ? { do: "tab", index: Number(press.key) - 1 } : null;
}

/** Where arrows, Home and End lead in a row of tabs; null for another key. */
export function move(key: string, from: number, count: number): number | null {
  switch (key) {
    case "ArrowRight":
      return (from + 1) % count;
    case "ArrowLeft":
      return (from - 1 + count) % count;
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return null;
  }
}
