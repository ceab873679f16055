// Revisions that the control plane has of the strategies of this service, wherever they were packed.
import { ApiError, read } from "../../api/client.ts";
import type { Candidate, PromotionState, Reading } from "../shapes.ts";

/** What a card is of: a bundle of this service, or what the control plane alone knows. */
export type Shown = Omit<Candidate, "verification"> & { verification: Candidate["verification"] | "elsewhere" };

type OfStrategy = PromotionState & { revisions: { candidate_revision_id: string; candidate_id: string }[] };

const shown = (strategy_name: string, { candidate_revision_id, candidate_id }: OfStrategy["revisions"][number]): Shown => ({
  candidate_revision_id, candidate_id, strategy_name, verification: "elsewhere", family_id: "", slug: "", owner: "", symbols: [], timeframes: [], parent_revision_id: null,
  change_class: "", requested_stage: "", requested_at: "", expires_at: "", run_ids: [], problems: [],
});

/** Asks about the strategies of a JSON list, newest revisions first; one of which the plane knows nothing is not asked about again. */
export function askOthers(): (names: string) => Promise<Shown[]> {
  const unknown = new Set<string>();
  const one = async (name: string) => {
    try {
      const { document } = await read<Reading<OfStrategy>>("/governance/promotion-state/strategy/" + encodeURIComponent(name));
      return document.revisions.map((r) => shown(name, r)).reverse();
    } catch (e) {
      if (!(e instanceof ApiError) || (e.status !== 404 && e.status !== 400)) throw e;
      unknown.add(name);
      return [];
    }
  };
  return async (names) => (await Promise.all((JSON.parse(names) as string[]).filter((n) => !unknown.has(n)).map(one))).flat();
}
