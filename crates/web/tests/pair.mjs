// Two parties in two workers, as in two pages; the main thread is what a page's main thread and the relay are.
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { fileURLToPath } from "node:url";
import { run } from "../js/host.mjs";
import { RingReader, RingWriter, ringMemory } from "../js/ring.mjs";

/** Small, so that a test fills it. */
const RING = 1 << 16;

/** Runs a module as both parties, each with arguments of its own; the lines that each printed. */
export async function runPair(module, [first, second]) {
  const writers = [];
  const start = (party, args) => {
    const ring = ringMemory(RING);
    writers[party] = new RingWriter(ring);
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { module, ring, args } });
    const lines = [];
    worker.on("message", ({ sent, room, line, closed }) => {
      if (sent) writers[1 - party].push(sent);
      if (room) writers[party].pump();
      if (line !== undefined) lines.push(line);
      if (closed) writers[1 - party].close();
    });
    return new Promise((resolve, reject) => {
      worker.on("error", (error) => reject(new Error([...lines, error].join("\n"))));
      worker.on("exit", () => {
        writers[1 - party].close();
        resolve(lines);
      });
    });
  };
  const ended = await Promise.allSettled([start(0, first), start(1, second)]);
  const failed = ended.filter(({ status }) => status === "rejected").map(({ reason }) => reason.message);
  if (failed.length > 0) throw new Error(failed.join("\n"));
  return ended.map(({ value }) => value);
}

if (!isMainThread) {
  const { module, ring, args } = workerData;
  const reader = new RingReader(ring, () => parentPort.postMessage({ room: true }));
  const connection = {
    send: (sent) => parentPort.postMessage({ sent }, [sent.buffer]),
    reader,
    close: () => parentPort.postMessage({ closed: true }),
  };
  run(module, connection, args, (line) => parentPort.postMessage({ line }));
}
