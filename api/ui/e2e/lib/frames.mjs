// WebSocket frames in a byte stream, as far as a proxy needs them: where one ends and
// what text it carries. Nothing is compressed on this stream.

/** Cuts the bytes of one direction into frames. */
export class Frames {
  #rest = Buffer.alloc(0);

  /** The complete frames among what came so far: {raw, opcode, final, text}. */
  add(chunk) {
    this.#rest = this.#rest.length ? Buffer.concat([this.#rest, chunk]) : chunk;
    const frames = [];
    for (let frame; (frame = cut(this.#rest)); this.#rest = this.#rest.subarray(frame.raw.length)) frames.push(frame);
    return frames;
  }
}

function cut(bytes) {
  if (bytes.length < 2) return null;
  let [length, head] = [bytes[1] & 0x7f, 2];
  const masked = Boolean(bytes[1] & 0x80);
  const extended = length === 126 ? 2 : length === 127 ? 8 : 0;
  if (bytes.length < head + extended + (masked ? 4 : 0)) return null;
  if (extended) length = extended === 2 ? bytes.readUInt16BE(head) : Number(bytes.readBigUInt64BE(head));
  head += extended + (masked ? 4 : 0);
  if (bytes.length < head + length) return null;
  const [opcode, final] = [bytes[0] & 0x0f, Boolean(bytes[0] & 0x80)];
  const text = opcode === 1 && final && !masked ? bytes.toString("utf8", head, head + length) : null;
  return { raw: bytes.subarray(0, head + length), opcode, final, text };
}

/** A text frame of a server. */
export function encode(text) {
  const payload = Buffer.from(text);
  const size = payload.length;
  const head = size < 126 ? Buffer.from([0x81, size]) : size < 65536 ? Buffer.alloc(4) : Buffer.alloc(10);
  if (head.length > 2) {
    head[0] = 0x81;
    head[1] = head.length === 4 ? 126 : 127;
    if (head.length === 4) head.writeUInt16BE(size, 2);
    else head.writeBigUInt64BE(BigInt(size), 2);
  }
  return Buffer.concat([head, payload]);
}
