import { equal, ok, test } from "../testing.ts";
import { elementId, locate, pointer, tokens } from "./pointer.ts";

test("pointer: there and back", () => {
  equal(pointer("strategy_params", "x~/y"), "/strategy_params/x~0~1y");
  equal(tokens("/strategy_params/x~0~1y"), ["strategy_params", "x~/y"]);
  equal(tokens("/a/"), ["a", ""]);
  equal(tokens(""), []);
  equal(tokens("a"), null);
  equal(tokens("/a~2"), null);
  equal(tokens("/~01"), ["~1"]);
});

test("pointer: the field, or the nearest one above", () => {
  const fields = new Set(["/symbols", "/strategy_params/list", "/strategy_params/a~1b", "/exchange_config"]);
  equal(locate("/symbols/1", fields), { field: "/symbols", within: ["1"] });
  equal(locate("/strategy_params/list/2/x", fields), { field: "/strategy_params/list", within: ["2", "x"] });
  equal(locate("/strategy_params/a~1b", fields), { field: "/strategy_params/a~1b", within: [] });
  equal(locate("/strategy_params/zz", fields), null);
  equal(locate("", fields), null);
  equal(locate("nonsense", fields), null);
});

test("pointer: ids have no blanks and differ", () => {
  const ids = ["/a b", "/a/b", "/a.b", "/a~1b", "/ä"].map(elementId);
  ok(ids.every((id) => /^[\w.-]+$/.test(id)), ids.join(" "));
  equal(new Set(ids).size, ids.length);
});
