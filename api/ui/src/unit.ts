// Every unit test of the pure modules; `go run ./tool -tests unit.js` bundles it.
import { run } from "./testing.ts";
import "./state/format.test.ts";
import "./form/schema.test.ts";
import "./form/validate.test.ts";
import "./form/pointer.test.ts";
import "./form/basics.test.ts";
import "./form/request.test.ts";
import "./form/refusal.test.ts";
import "./form/stored.test.ts";
import "./form/offers.test.ts";
import "./form/moment.test.ts";
import "./table/window.test.ts";
import "./table/slots.test.ts";
import "./table/pages.test.ts";
import "./table/table.test.ts";

import "./panels/keys.test.ts";
import "./panels/numbers.test.ts";
import "./panels/words.test.ts";
import "./state/repeat.test.ts";
import "./stream/sequence.test.ts";
import "./stream/frames.test.ts";
import "./stream/curve.test.ts";
import "./stream/requests.test.ts";
import "./stream/link.test.ts";
import "./chart/align.test.ts";
import "./chart/range.test.ts";
import "./chart/scale.test.ts";
import "./chart/scene.test.ts";
import "./chart/feed.test.ts";

(globalThis as { unitTests?: typeof run }).unitTests = run;
