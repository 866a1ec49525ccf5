import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { truncate, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { makeHome } from "./daemon.ts";
import { atLeast, atMost, median, report, residentMiB } from "./measure.ts";
import { copyDurably, curl, watchMemory } from "./vault-client.ts";

// A layer of a container image on the built daemon, pushed and pulled as docker does, beside a plain copy of its bytes.

const MIB = 1024 ** 2;
const LAYER_BYTES = 1024 * MIB;
const ROUNDS = 3;

interface Round {
  readonly plain: number;
  readonly push: number;
  readonly pull: number;
}

await using home = await makeHome();
await using daemon = await home.serve();
const headers = { Authorization: `token ${home.token}` };
// Opens the forge, whose code counts as idle memory.
await send("GET", "/v2/", 200);
const source = join(home.home, "layer.bin");
await writeFile(source, "");
await truncate(source, LAYER_BYTES);
const rounds: Round[] = [];
let growth = 0;
for (let round = 0; round < ROUNDS; round += 1) {
  // Other bytes each time: equal bytes would be stored once.
  await writeFile(source, randomBytes(16), { flag: "r+" });
  const digest = await hashFile(source);
  const copy = join(home.home, "copy.bin");
  const plain = await copyDurably(source, copy);
  await unlink(copy);
  const idle = await residentMiB(daemon.pid);
  const memory = watchMemory(daemon.pid);
  const push = await pushLayer(digest);
  const pull = await curl(["-o", "/dev/null", `${daemon.url}/v2/keeper/kiln/blobs/${digest}`]);
  growth = Math.max(growth, (await memory.stop()) - idle);
  rounds.push({ plain, push, pull });
}
report(
  "A layer of a container image of 1 GiB against a plain durable copy",
  "A layer is written and synced once, and hashed: most of the speed of a plain durable copy, without keeping it in memory.",
  [
    {
      label: "plain durable copy, push, pull",
      value: rounds
        .map(({ plain, push, pull }) =>
          [plain, push, pull].map((seconds) => `${seconds.toFixed(1)} s`).join(", "),
        )
        .join("; "),
    },
    atLeast("push, speed", median(rounds.map(({ plain, push }) => plain / push)), 0.6),
    atLeast("pull, speed", median(rounds.map(({ plain, pull }) => plain / pull)), 0.6),
    atMost("memory above idle", growth, 64, "MiB"),
  ],
);

/** Begins an upload, sends the bytes as one stream, and completes it. Returns the seconds that it took. */
async function pushLayer(digest: string): Promise<number> {
  const begun = await send("POST", "/v2/keeper/kiln/blobs/uploads/", 202);
  const address = begun.headers.get("location") ?? "";
  const seconds = await curl([
    ...["-H", `Authorization: ${headers.Authorization}`],
    ...["-X", "PATCH", "-T", source, "-o", "/dev/null", daemon.url + address],
  ]);
  const start = performance.now();
  await send("PUT", `${address}?digest=${digest}`, 201);
  return seconds + (performance.now() - start) / 1000;
}

async function send(method: string, path: string, status: number): Promise<Response> {
  const response = await fetch(daemon.url + path, { method, headers });
  if (response.status !== status) throw new Error(`${response.status} ${await response.text()}`);
  return response;
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return `sha256:${hash.digest("hex")}`;
}
