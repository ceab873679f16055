import { equal, test } from "../testing.ts";
import { action, move, type Pressed } from "./keys.ts";

const press = (key: string, rest: Partial<Pressed> = {}): Pressed => ({ key, ctrlKey: false, altKey: false, metaKey: false, typing: false, ...rest });

test("letters act only when switched on", () => {
  equal(action(press("?"), false), { do: "help" });
  equal(action(press("s"), false), null);
  equal(action(press("s"), true), { do: "stop" });
  equal(action(press("r"), true), { do: "reset" });
  equal(action(press("t"), true), { do: "theme" });
  equal(action(press("7"), true), { do: "tab", index: 6 });
  for (const key of ["8", "0", "12", "x", "S", "Enter"]) equal(action(press(key), true), null, key);
});

test("keys are left alone in fields and with modifiers", () => {
  equal(action(press("?", { typing: true }), true), null);
  equal(action(press("s", { typing: true }), true), null);
  for (const key of ["ctrlKey", "altKey", "metaKey"]) equal(action(press("s", { [key]: true }), true), null, key);
});

test("arrows go round the tabs", () => {
  equal(move("ArrowRight", 6, 7), 0);
  equal(move("ArrowLeft", 0, 7), 6);
  equal(move("ArrowRight", 2, 7), 3);
  equal(move("Home", 4, 7), 0);
  equal(move("End", 4, 7), 6);
  equal(move("a", 4, 7), null);
});
