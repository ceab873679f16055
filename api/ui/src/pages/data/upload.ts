// Sending a file as it is: the one request whose body is not JSON.
import { ApiError } from "../../api/client.ts";
import type { ErrorBody } from "../../api/types.ts";

export interface Uploaded {
  upload_id: string;
  sha256: string;
  bytes: number;
}

/** Sends a file; how much of it arrived is not known before the answer. */
export async function upload(file: File): Promise<Uploaded> {
  let response: Response;
  try {
    response = await fetch("/api/v1/uploads", { method: "POST", body: file, headers: { "Content-Type": "application/octet-stream" } });
  } catch (e) {
    throw new ApiError("NETWORK", "The service does not answer: " + (e as Error).message, 0);
  }
  const answer = (await response.json().catch(() => ({}))) as Uploaded & { error?: ErrorBody };
  if (!response.ok) throw new ApiError(answer.error?.code ?? "UNKNOWN", answer.error?.message ?? `status ${response.status}`, response.status, answer.error?.details ?? {});
  return answer;
}
