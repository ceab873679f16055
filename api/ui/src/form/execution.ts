// The execution options as the form lays them out.
import type { Exchange } from "../api/types.ts";
import type { Raw } from "./draft.ts";
import type { Field } from "./schema.ts";

/** The options with the defaults that apply: fees are those of the exchange, and what
 *  another profile brings only the service knows. */
export function applying(fields: readonly Field[], profile: Raw, fees: Exchange["fees"] | undefined): Field[] {
  const first = JSON.stringify(fields.find((f) => f.name === "profile")?.initial), other = Boolean(profile) && profile !== first;
  const rates: Record<string, number | undefined> = { fee_maker: fees?.maker, fee_taker: fees?.taker };
  return fields.map((f) => {
    const { initial, ...unset } = f, rate = rates[f.name];
    if (rate !== undefined) return { ...unset, initial: rate };
    return other && f.name !== "profile" ? unset : f;
  });
}
