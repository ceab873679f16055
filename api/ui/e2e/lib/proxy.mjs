// A proxy between browser and service, as kind or as bad as a test wants it. The
// browser's Host goes through unchanged: the service compares it with the Origin.
import http from "node:http";
import net from "node:net";
import { once } from "node:events";
import { encode, Frames } from "./frames.mjs";

/** rules, read at each request, so that a test may change them at any time:
 *    stream  "pass"; "refuse" answers 502; "hang" accepts and never answers
 *    frame   (message) => messages of the server that go on to the browser: [[delay in ms, message], …]
 *    hold    messages of the server wait in the proxy until release()
 *    json    {path: (body, status) => body} changes an answer, or [status, body] with another status
 *    dead    the whole proxy hangs up */
export async function proxy(target, rules = {}) {
  const port = Number(new URL(target).port);
  const open = new Set();
  const server = http.createServer((request, answer) => (rules.dead ? request.socket.destroy() : forward(port, rules, request, answer)));
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => {});
    if (rules.dead) socket.destroy();
    else if (rules.stream === "refuse") socket.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    else if (rules.stream !== "hang") join(port, rules, request, socket, head, streams);
  });
  const streams = new Set();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    rules,
    url: `http://127.0.0.1:${server.address().port}`,
    /** Cuts the streams that are open. */
    cut: () => streams.forEach((socket) => socket.destroy()),
    /** Lets what was held back go on, in its order. */
    release: () => {
      rules.hold = false;
      streams.forEach((socket) => socket.emit("release"));
    },
    close: () => {
      open.forEach((socket) => socket.destroy());
      streams.forEach((socket) => socket.destroy());
      server.close();
    },
  };
}

function forward(port, rules, request, answer) {
  const change = rules.json?.[request.url.split("?")[0]];
  const headers = { ...request.headers };
  if (change) delete headers["accept-encoding"], delete headers["if-none-match"];
  const up = http.request({ host: "127.0.0.1", port, method: request.method, path: request.url, headers }, async (response) => {
    if (!change) {
      answer.writeHead(response.statusCode, response.rawHeaders);
      response.pipe(answer);
      return;
    }
    const parts = [];
    for await (const part of response) parts.push(part);
    const changed = change(JSON.parse(Buffer.concat(parts).toString()), response.statusCode);
    const [status, body] = Array.isArray(changed) && typeof changed[0] === "number" ? changed : [response.statusCode, changed];
    const text = JSON.stringify(body);
    const { etag, "content-length": length, ...rest } = response.headers;
    answer.writeHead(status, { ...rest, "content-length": Buffer.byteLength(text) });
    answer.end(text);
  });
  up.on("error", () => request.socket.destroy());
  request.pipe(up);
}

function join(port, rules, request, socket, head, streams) {
  const up = net.connect(port, "127.0.0.1", () => {
    const lines = [`${request.method} ${request.url} HTTP/1.1`];
    for (let i = 0; i < request.rawHeaders.length; i += 2) lines.push(`${request.rawHeaders[i]}: ${request.rawHeaders[i + 1]}`);
    up.write(lines.join("\r\n") + "\r\n\r\n");
    if (head.length) up.write(head);
    socket.pipe(up);
  });
  streams.add(socket);
  up.on("data", "frame" in rules || "hold" in rules ? rewriter(rules, socket) : (chunk) => socket.write(chunk));
  up.on("error", () => socket.destroy());
  up.on("close", () => socket.end());
  socket.on("close", () => {
    streams.delete(socket);
    up.destroy();
  });
}

/** Passes the answer to the handshake on, then each text message as the rules say. */
function rewriter(rules, socket) {
  const frames = new Frames();
  const held = [];
  let greeting = Buffer.alloc(0);
  let greeted = false;
  const send = (bytes) => {
    if (rules.hold) held.push(bytes);
    else if (socket.writable) socket.write(bytes);
  };
  socket.on("release", () => held.splice(0).forEach(send));
  return (chunk) => {
    if (!greeted) {
      greeting = Buffer.concat([greeting, chunk]);
      const end = greeting.indexOf("\r\n\r\n");
      if (end < 0) return;
      socket.write(greeting.subarray(0, end + 4));
      greeted = true;
      chunk = greeting.subarray(end + 4);
    }
    for (const frame of frames.add(chunk)) {
      if (frame.text === null || !rules.frame) {
        send(Buffer.from(frame.raw));
        continue;
      }
      for (const [delay, message] of rules.frame(JSON.parse(frame.text))) {
        const bytes = encode(JSON.stringify(message));
        if (delay) setTimeout(() => send(bytes), delay);
        else send(bytes);
      }
    }
  };
}
