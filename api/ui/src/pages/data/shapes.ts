// The answers about stored candles that the page of the data shows.

export interface Dataset {
  dataset_id: string;
  exchange: string;
  symbol: string;
  timeframe: string;
  sha256?: string;
  rows: number;
  first: string;
  last: string;
  missing: number;
  /** Shares of a stretch that have candles, 0 to 1, from first to last. */
  coverage?: (number | { share?: number; rows?: number; expected?: number })[] | null;
  holdout_start?: string | null;
  looks?: number;
  calendar?: unknown;
  provenance?: unknown;
  report?: Record<string, unknown> | null;
}

export interface Gap {
  from?: string;
  to?: string;
  start?: string;
  end?: string;
  candles?: number;
  missing?: number;
}

/** The share of a bucket that has candles. */
export function shareOf(bucket: NonNullable<Dataset["coverage"]>[number]): number {
  const share = typeof bucket === "number" ? bucket : bucket.share ?? (bucket.expected ? (bucket.rows ?? 0) / bucket.expected : 1);
  return Math.min(1, Math.max(0, share));
}
