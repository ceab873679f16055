// The equity of a run, and its drawdown.
import { useSignal } from "@preact/signals";
import { Curves } from "../../plot/curves.tsx";
import { count, percent, words } from "../../state/format.ts";
import { useAnswer } from "../answer.ts";
import { Section, States } from "../kit.tsx";
import type { Curve } from "../shapes.ts";

/** An equity curve as points of a plot. */
export const points = (items: Curve["items"], key: "equity" | "drawdown" = "equity") => items.map((p) => [Date.parse(p.timestamp), key === "equity" ? p.equity : -p.drawdown] as const);

interface Props {
  path: string;
  name?: string;
  /** Asks for the curve where it is not simply that of the path. */
  ask?: (path: string) => Promise<Curve>;
}

export function Drawn({ path, name = "Equity", ask }: Props) {
  const asked = useAnswer<Curve>(path + "/equity?points=800", 0, ask), log = useSignal(false);
  return (
    <Section name={name} aside={<label class="switch"><input type="checkbox" checked={log.value} onChange={(e) => (log.value = e.currentTarget.checked)} />Logarithmic</label>}>
      <States of={asked} what="equity" empty={(c) => c.items.length === 0 && <p>The run has no equity curve.</p>}>
        {(curve) => (
          <>
            <p class="caption">{words(curve.split)}</p>
            <Curves label={label(curve)} log={log.value} height={260} format={count} series={[{ name: "Strategy", points: points(curve.items), color: 0 }, ...held(curve)]} />
            <Curves label={`Drawdown, at worst ${percent(Math.max(...curve.items.map((p) => p.drawdown)))}`} height={120} format={(v) => percent(v, 0)} fill={0} series={[{ name: "Drawdown", points: points(curve.items, "drawdown"), color: 1 }]} />
          </>
        )}
      </States>
    </Section>
  );
}

/** Holding instead, thin and grey, where its candles are at hand. */
const held = ({ holding }: Curve) => (holding ? [{ name: "Holding, no fees", points: holding.map(([at, value]) => [at!, value!] as const), color: 7 }] : []);

const label = ({ items }: Curve) => `Equity from ${count(items[0]?.equity)} to ${count(items.at(-1)?.equity)}`;
