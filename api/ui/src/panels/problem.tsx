// What went wrong with a request, and the id by which the service's log has the cause.
import { ApiError } from "../api/client.ts";
import { Copy } from "./copy.tsx";

/** Only where the service itself is at fault the message alone does not help. */
export function RequestId({ error }: { error: unknown }) {
  const id = error instanceof ApiError && error.status >= 500 ? error.details.request_id : "";
  return typeof id === "string" && id !== "" ? <span class="request-id">Request <code>{id}</code><Copy text={id} what="request id" /></span> : null;
}

export function Problem({ error }: { error: Error }) {
  return <><bdi>{error.message}</bdi> <RequestId error={error} /></>;
}
