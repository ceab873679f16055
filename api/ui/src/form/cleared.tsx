// The result that a refused start has cost the page, and where it still is.
import { Copy } from "../panels/copy.tsx";
import { cleared, sending } from "./outcome.ts";

export function Cleared() {
  const files = cleared.value;
  if (!files || sending.value) return null;
  return <p>The last run was reset before this start was refused. The service keeps its files: <code>{files}</code><Copy text={files} what="path of the files" /></p>;
}
