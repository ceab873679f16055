import { equal, test } from "../testing.ts";
import { address, placeOf } from "./address.ts";

test("an address is a page and what it shows", () => {
  equal(placeOf("/ui"), { page: "runner", id: "" });
  equal(placeOf("/api/v1/ui"), { page: "runner", id: "" });
  equal(placeOf("/ui/runs"), { page: "runs", id: "" });
  equal(placeOf("/ui/runs/a%2Fb%20%3Cc%3E"), { page: "run", id: "a/b <c>" });
  equal(placeOf("/ui/runs/%zz"), { page: "run", id: "%zz" });
  for (const path of ["/ui/", "/ui/licenses", "/ui/runs/", "/ui/runs/a/b", "/docs", "/ui/app-0123456789.js"]) equal(placeOf(path), null, path);
});

test("an address is built so that it is read back", () => {
  for (const id of ["run_1", "a/b", "<x>", "100%", "ü?#"]) equal(placeOf(address("family", id)), { page: "family", id });
  equal(address("compare", "", "ids=a,b"), "/ui/compare?ids=a,b");
});
