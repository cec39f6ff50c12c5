#!/usr/bin/env -S node --stack-trace-limit=40
// Runs a test program that cargo built for WebAssembly; cargo calls it as the target's runner. Nothing is printed by such a
// program: a test that fails stops it, and the stack names the test.
import { readFileSync } from "node:fs";
import { RingReader, ringMemory } from "../js/ring.mjs";
import { run } from "../js/host.mjs";

const module = await WebAssembly.compile(readFileSync(process.argv[2]));
const connection = { send() {}, reader: new RingReader(ringMemory(16), () => {}), close() {} };
// Times are of the processor, so that other programs change them less.
const now = () => process.cpuUsage().user / 1000;
try {
  process.exitCode = run(module, connection, {}, console.log, now);
  console.log(`passed in ${((now()) / 1000).toFixed(1)} s`);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
