import { equal, test } from "../testing.ts";
import { isolated } from "./bidi.ts";

test("bidi: foreign text cannot turn the text around it", () => {
  equal(isolated("sma_cross 1.0"), "sma_cross 1.0");
  equal(isolated(""), "");
  equal(isolated("שלום"), "\u2068שלום\u2069");
  equal(isolated("a\u202eb\u2069c"), "\u2068abc\u2069");
});
