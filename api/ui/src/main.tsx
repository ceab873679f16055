import { render } from "preact";
import { App } from "./app.tsx";
import { begin } from "./state/session.ts";

const root = document.getElementById("app");
if (root) render(<App />, root);
begin();
