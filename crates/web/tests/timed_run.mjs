// Times a run between two workers: node timed_run.mjs MODULE PROTOCOL SECURITY SIZE
import { readFileSync } from "node:fs";
import { runPair } from "./pair.mjs";

const [path, protocols, security, size] = process.argv.slice(2);
const module = await WebAssembly.compile(readFileSync(path));
const roles = ["receiver", "sender"];
const played = await runPair(module, roles.map((role) => ({ role, protocols, security, size })));
for (const [index, lines] of played.entries()) console.log(roles[index], lines.join(" · "));
