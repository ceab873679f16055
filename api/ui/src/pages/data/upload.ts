// Sends a file and tells how much of it is away, which fetch cannot.
import { ApiError, base, refused } from "../../api/client.ts";
import type { Upload } from "../shapes.ts";

/** A file on its way: how many of its bytes are away. */
export interface Sending {
  name: string;
  away: number;
  size: number;
  stop: () => void;
}

/** What was stopped on purpose is no mistake. */
export const stopped = (e: unknown) => e instanceof ApiError && e.code === "STOPPED";

/** Resolves with what the service calls the file. The service ends it when no byte comes for half a minute. */
export function upload(file: File, tell: (s: Sending) => void): Promise<Upload> {
  return new Promise((done, fail) => {
    const request = new XMLHttpRequest(), stop = () => request.abort();
    const told = (away: number) => tell({ name: file.name, away, size: file.size, stop });
    request.open("POST", base + "/uploads");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (e) => told(e.loaded);
    request.onerror = () => fail(new ApiError("NETWORK", `The service does not answer: ${file.name} was not sent whole.`, 0));
    request.onabort = () => fail(new ApiError("STOPPED", "", 0));
    request.onload = () => {
      let answer: unknown;
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        return fail(new ApiError("NETWORK", `The service's answer broke off (status ${request.status})`, request.status));
      }
      if (request.status >= 400) return fail(refused(request.status, answer));
      done(answer as Upload);
    };
    told(0);
    request.send(file);
  });
}
