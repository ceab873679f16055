// The money of the run: all of it is written with the same decimals.
import { computed } from "@preact/signals";
import { decimalsOf } from "./format.ts";
import { config, status } from "./store.ts";

/** Decimals of the run's money, by the cash it began with. */
export const decimals = computed(() => decimalsOf(config.value?.initial_cash || status.value.value - status.value.pnl));
