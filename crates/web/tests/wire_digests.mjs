// Two modules play the runs that `crates/protocols/tests/wire_digest` pins, one role each, and send the same bytes as
// native programs: node wire_digests.mjs MODULE
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { runPair } from "./pair.mjs";

const PROTOCOLS = ["vole", "dh", "kkrt"];
const folder = new URL("../../protocols/tests/wire_digest/", import.meta.url);

const module = await WebAssembly.compile(readFileSync(process.argv[2]));
const protocols = PROTOCOLS.join(" ");
const started = performance.now();
const played = await runPair(module, [
  { role: "receiver", protocols },
  { role: "sender", protocols },
]);
const pinned = PROTOCOLS.flatMap((name) => {
  const lines = readFileSync(new URL(`${name}.baseline`, folder), "utf8").trimEnd().split("\n");
  return lines.map((line) => `${name} ${line}`);
});
// First each says which kernels it runs.
for (const lines of played) assert.deepEqual(lines, ["SIMD128", ...pinned]);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(`${pinned.length} runs in both roles: the digests of the native program (${seconds} s)`);

// A party whose partner goes ends with an error, and does not wait for ever.
const alone = runPair(module, [{ role: "receiver", protocols }, { role: "sender" }]);
await assert.rejects(alone, /vole as Receiver: the partner closed the connection before the end/);
