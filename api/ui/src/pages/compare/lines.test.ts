import { equal, test } from "../../testing.ts";
import { changes, lines } from "./lines.ts";

test("a diff has lines that came and went, and none that hide others", () => {
  const all = lines("--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@\n same\n-- gone\n+\tnew \u202e\u001b\n");
  equal(all.map((l) => l.kind), ["place", "place", "place", "same", "removed", "added"]);
  equal(all[5]?.text, "+\tnew \ufffd\ufffd");
  equal(changes(all), { added: 1, removed: 1 });
  equal(lines(""), []);
});
