// What the module imports: `crates/kernels/src/host.rs` has the list. Runs in the worker.

const decoder = new TextDecoder();
const encoder = new TextEncoder();
/** The most that `getRandomValues` gives at once. */
const RANDOM = 65536;

/**
 * Starts a module and runs it to its end.
 * @param module the compiled `WebAssembly.Module`
 * @param connection `send(bytes)`, `reader` (a `RingReader`) and `close()`
 * @param args what it asks for by name
 * @param print takes lines
 * @param now the clock, in milliseconds
 */
export function run(module, { send, reader, close }, args, print, now = () => performance.now()) {
  let memory;
  // The memory may have grown, which detaches earlier views.
  const view = (at, length) => new Uint8Array(memory.buffer, at >>> 0, length >>> 0);
  const vesica = {
    send: (at, length) => send(view(at, length).slice()),
    receive: (at, length) => reader.receive(view(at, length)),
    readable: () => Math.min(reader.readable(), 0x7fffffff),
    expect_within: (milliseconds) => reader.expectWithin(milliseconds),
    close,
    random(at, length) {
      const bytes = view(at, length);
      for (let first = 0; first < bytes.length; first += RANDOM) {
        const part = new Uint8Array(Math.min(RANDOM, bytes.length - first));
        bytes.set(crypto.getRandomValues(part), first);
      }
    },
    argument(name, nameLength, into, room) {
      const value = args[decoder.decode(view(name, nameLength))];
      if (value === undefined) return -1;
      const bytes = encoder.encode(value);
      if (bytes.length <= room >>> 0) view(into, bytes.length).set(bytes);
      return bytes.length;
    },
    now,
    print: (at, length) => print(decoder.decode(view(at, length))),
  };
  const { exports } = new WebAssembly.Instance(module, { vesica });
  memory = exports.memory;
  return exports.main(0, 0);
}
