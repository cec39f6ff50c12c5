// Bytes from the thread that owns the connection to a worker that waits for them, through shared memory. The worker may
// block in `Atomics.wait`; the other thread, which may not in a page, keeps what does not fit.

const WRITTEN = 0, READ = 1, CLOSED = 2, WANTS_ROOM = 3;

/** The shared memory of a ring of so many bytes, a power of two. */
export function ringMemory(size) {
  return { state: new SharedArrayBuffer(16), bytes: new SharedArrayBuffer(size) };
}

/** The end that bytes are put into. */
export class RingWriter {
  #backlog = [];
  #closing = false;

  constructor({ state, bytes }) {
    this.state = new Int32Array(state);
    this.bytes = new Uint8Array(bytes);
  }

  push(chunk) {
    this.#backlog.push(chunk);
    this.pump();
  }

  /** Nothing comes after what was pushed. */
  close() {
    this.#closing = true;
    this.pump();
  }

  /** Moves what fits; to be called again when the reader says that there is room. */
  pump() {
    const size = this.bytes.length;
    Atomics.store(this.state, WANTS_ROOM, 0);
    while (this.#backlog.length > 0) {
      const written = Atomics.load(this.state, WRITTEN);
      const free = size - ((written - Atomics.load(this.state, READ)) >>> 0);
      const at = (written >>> 0) % size;
      const chunk = this.#backlog[0];
      const count = Math.min(free, size - at, chunk.length);
      if (count === 0) {
        // The reader may have made room since; then it looks again, and so does this.
        if (Atomics.exchange(this.state, WANTS_ROOM, 1) === 1) return;
        continue;
      }
      this.bytes.set(chunk.subarray(0, count), at);
      if (count === chunk.length) this.#backlog.shift();
      else this.#backlog[0] = chunk.subarray(count);
      Atomics.store(this.state, WRITTEN, (written + count) | 0);
      Atomics.notify(this.state, WRITTEN);
    }
    if (this.#closing) {
      Atomics.store(this.state, CLOSED, 1);
      Atomics.notify(this.state, WRITTEN);
    }
  }
}

/** The end of the worker. `onRoom` is called when the other thread is to pump. */
export class RingReader {
  #deadline = Infinity;

  constructor({ state, bytes }, onRoom) {
    this.state = new Int32Array(state);
    this.bytes = new Uint8Array(bytes);
    this.onRoom = onRoom;
  }

  /** All that is awaited has to arrive within so many milliseconds; no limit if negative. */
  expectWithin(milliseconds) {
    this.#deadline = milliseconds < 0 ? Infinity : performance.now() + milliseconds;
  }

  get #waiting() {
    return (Atomics.load(this.state, WRITTEN) - Atomics.load(this.state, READ)) >>> 0;
  }

  /** Bytes that are there; -1 if none are and none will be. */
  readable() {
    // What is closed is looked at first: bytes are written before it is.
    const closed = Atomics.load(this.state, CLOSED) === 1;
    const waiting = this.#waiting;
    return waiting === 0 && closed ? -1 : waiting;
  }

  /** Fills `into`: 0; or 1 if there will not be so many bytes, 2 if the limit passes. */
  receive(into) {
    let filled = 0;
    while (filled < into.length) {
      const written = Atomics.load(this.state, WRITTEN);
      const readable = this.readable();
      if (readable === -1) return 1;
      if (readable === 0) {
        const left = this.#deadline - performance.now();
        if (left <= 0) return 2;
        // A close notifies without a change of the number waited for: it is looked for again after a while.
        Atomics.wait(this.state, WRITTEN, written, Math.min(left, 50));
        continue;
      }
      const read = Atomics.load(this.state, READ);
      const at = (read >>> 0) % this.bytes.length;
      const count = Math.min(readable, into.length - filled, this.bytes.length - at);
      into.set(this.bytes.subarray(at, at + count), filled);
      filled += count;
      Atomics.store(this.state, READ, (read + count) | 0);
      if (Atomics.exchange(this.state, WANTS_ROOM, 0) === 1) this.onRoom();
    }
    return 0;
  }
}
