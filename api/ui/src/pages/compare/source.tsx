// How the sources of the runs differ from those of the baseline, file by file.
import { count } from "../../state/format.ts";
import { Section } from "../kit.tsx";
import type { Comparison, FileDiff } from "../shapes.ts";
import { changes, lines } from "./lines.ts";

export function Sources({ program, nth }: { program: Comparison["program"]; nth: (id: string) => string }) {
  return (
    <Section name="Sources">
      <p>{program.equal ? "All are the same program." : "The programs differ."}</p>
      {program.diff.map((d) => (
        <div key={d.run_id} class="sources">
          <h4>{nth(d.run_id)} against the baseline</h4>
          {d.note && <p class="notes"><bdi>{d.note}</bdi></p>}
          {d.files.map((f) => <File key={f.path} of={f} label={`${nth(d.run_id)}, ${f.path}`} />)}
        </div>
      ))}
    </Section>
  );
}

function File({ of: f, label }: { of: FileDiff; label: string }) {
  const all = lines(f.diff), { added, removed } = changes(all);
  return (
    <details open={all.length <= 100}>
      <summary><code><bdi>{f.path}</bdi></code> {f.diff && <span class="muted">+{count(added)} −{count(removed)}</span>}</summary>
      {f.note && <p class="caption">{f.note}</p>}
      {f.diff && (
        <div class="scroll" role="region" aria-label={`Difference of ${label}`} tabIndex={0}>
          <pre class="diff">{all.map((line, i) => <span key={i} class={line.kind}>{line.text + "\n"}</span>)}</pre>
        </div>
      )}
    </details>
  );
}
