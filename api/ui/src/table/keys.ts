// Where a key takes the focus within a grid.

/** The row above the first: the heads of the columns. */
export const headRow = -1;

export interface Place {
  row: number;
  column: number;
}

export interface Extent {
  rows: number;
  columns: number;
  /** Rows of a screen. */
  page: number;
  /** Whether the heads can have the focus. */
  heads: boolean;
}

/** The cell that a key leads to; null when the key is not the grid's. */
export function travel(key: string, ctrl: boolean, at: Place, x: Extent): Place | null {
  const top = x.heads ? headRow : 0;
  const row = (to: number) => ({ row: Math.max(top, Math.min(x.rows - 1, to)), column: at.column });
  const column = (to: number) => ({ row: at.row, column: Math.max(0, Math.min(x.columns - 1, to)) });
  switch (key) {
    case "ArrowUp":
      return row(at.row - 1);
    case "ArrowDown":
      return row(at.row + 1);
    case "PageUp":
      return row(at.row <= 0 ? at.row : Math.max(0, at.row - x.page));
    case "PageDown":
      return row(Math.max(0, at.row) + x.page);
    case "ArrowLeft":
      return column(at.column - 1);
    case "ArrowRight":
      return column(at.column + 1);
    case "Home":
      return ctrl ? { row: x.rows ? 0 : top, column: 0 } : column(0);
    case "End":
      return ctrl ? { row: x.rows - 1, column: x.columns - 1 } : column(x.columns - 1);
    default:
      return null;
  }
}
