import { on } from "node:events";
import { parentPort } from "node:worker_threads";
import type { ProofBlock, ProofMessage } from "./prover.ts";
import { proof, readArchive } from "./read-archive.ts";

// Entry of the worker thread of `prover.ts`.
const send = (message: ProofMessage) => parentPort?.postMessage(message);

async function* received(): AsyncGenerator<Uint8Array, void, void> {
  if (parentPort === null) return;
  for await (const [block] of on(parentPort, "message") as AsyncIterable<[ProofBlock]>) {
    if (block === null) return;
    yield Buffer.from(block.buffer, block.byteOffset, block.byteLength);
    send({ kind: "read" });
  }
}

readArchive(received(), "what was written", proof).then(
  () => send({ kind: "proven" }),
  (error: Error) => send({ kind: "refused", message: error.message }),
);
