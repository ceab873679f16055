import { equal, test } from "../testing.ts";
import { land } from "./refusal.ts";

const fields = new Set(["/mode", "/symbols", "/timeframe", "/strategy_params/fast", "/strategy_params/a~1b", "/exchange_config/apiKey"]);
const landed = (code: string, errors: [string, string][], details: Record<string, unknown> = {}) => {
  const l = land({ code, message: "refused", details, fields: errors.map(([pointer, message]) => ({ pointer, message, rule: "x" })) }, fields);
  return [Object.fromEntries(l.at), l.rest];
};

test("refusal: pointers land at their fields, the rest stays", () => {
  equal(landed("VALIDATION_FAILED", [["/symbols/1", "no"], ["/symbols/1", "never"], ["/strategy_params/fast", "got 0"], ["/strategy_params/zz", "unknown"], ["", "odd"], ["x", "?"]]), [
    { "/symbols": "item 2: no; item 2: never", "/strategy_params/fast": "got 0" }, ["/strategy_params/zz: unknown", "the request: odd", "x: ?"],
  ]);
  equal(landed("VALIDATION_FAILED", [["/strategy_params/a~1b/c/0", "no"]]), [{ "/strategy_params/a~1b": "/c/0: no" }, []]);
  equal(landed("VALIDATION_FAILED", [["/exchange_config", "unknown key"]]), [{}, ["/exchange_config: unknown key"]]);
});

test("refusal: codes that are about a field", () => {
  equal(landed("UNSUPPORTED_TIMEFRAME", []), [{ "/timeframe": "refused" }, []]);
  equal(landed("MODE_NOT_SUPPORTED", []), [{ "/mode": "refused" }, []]);
  equal(landed("EXCHANGE_NOT_FOUND", []), [{}, []], "a field that is not shown");
  equal(landed("RUN_START_FAILED", []), [{}, []]);
  equal(landed("CREDENTIALS_REQUIRED", [], { missing: ["apiKey", "secret", 3] }), [{ "/exchange_config/apiKey": "is required for live" }, ["/exchange_config/secret: is required for live"]]);
});
