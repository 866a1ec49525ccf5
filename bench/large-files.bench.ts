import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, truncate, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { makeHome } from "./daemon.ts";
import { atLeast, atMost, median, report, residentMiB } from "./measure.ts";
import { call, copyDurably, curl, watchMemory } from "./vault-client.ts";

// Objects of Git LFS on the built daemon, put and got as git-lfs does, beside plain durable copies of their bytes.

const MIB = 1024 ** 2;
const LARGE_BYTES = 512 * MIB;
const SMALL_OBJECTS = 200;
const SMALL_BYTES = 10_000;
const ROUNDS = 3;

await using home = await makeHome();
await using daemon = await home.serve();
const authorization = `token ${home.token}`;
await call(
  `${daemon.url}/api/v1/user/repos`,
  "POST",
  { name: "kiln", auto_init: true },
  authorization,
);
const objects = `${daemon.url}/keeper/kiln.git/info/lfs/objects`;

await measureLarge();
await measureSmall();

async function measureLarge(): Promise<void> {
  const source = join(home.home, "large.bin");
  await writeFile(source, "");
  await truncate(source, LARGE_BYTES);
  const rounds: { plain: number; put: number; get: number }[] = [];
  let growth = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    // Other bytes each time: equal bytes would be stored once.
    await writeFile(source, randomBytes(16), { flag: "r+" });
    const id = await hashFile(source);
    const copy = join(home.home, "copy.bin");
    const plain = await copyDurably(source, copy);
    await unlink(copy);
    const idle = await residentMiB(daemon.pid);
    const memory = watchMemory(daemon.pid);
    const put = await curl([
      ...["-H", `Authorization: ${authorization}`, "-H", "Accept: application/vnd.git-lfs+json"],
      ...["-T", source, "-o", "/dev/null", `${objects}/${id}/${LARGE_BYTES}`],
    ]);
    const get = await curl(["-o", "/dev/null", `${objects}/${id}`]);
    growth = Math.max(growth, (await memory.stop()) - idle);
    rounds.push({ plain, put, get });
  }
  await unlink(source);
  report(
    `An object of Git LFS of ${LARGE_BYTES / MIB} MiB against a plain durable copy`,
    "The bytes are written and synced once, and hashed: most of the speed of the copy, without keeping them in memory.",
    [
      atLeast("put, speed", median(rounds.map(({ plain, put }) => plain / put)), 0.6),
      atLeast("get, speed", median(rounds.map(({ plain, get }) => plain / get)), 0.6),
      atMost("memory above idle", growth, 64, "MiB"),
    ],
  );
}

async function measureSmall(): Promise<void> {
  const put = async (bytes: Uint8Array<ArrayBuffer>) => {
    const id = createHash("sha256").update(bytes).digest("hex");
    const answer = await fetch(`${objects}/${id}/${bytes.byteLength}`, {
      method: "PUT",
      headers: { Authorization: authorization, Accept: "application/vnd.git-lfs+json" },
      body: bytes,
    });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`a put was answered ${answer.status}`);
  };
  const write = async (bytes: Uint8Array<ArrayBuffer>) => {
    await using file = await open(join(home.home, "small.bin"), "w");
    await file.writeFile(bytes);
    await file.datasync();
  };
  const puts: number[] = [];
  const writes: number[] = [];
  for (let at = 0; at < SMALL_OBJECTS; at += 1) {
    const bytes = new Uint8Array(randomBytes(SMALL_BYTES));
    let startedAt = performance.now();
    await put(bytes);
    puts.push(performance.now() - startedAt);
    startedAt = performance.now();
    await write(bytes);
    writes.push(performance.now() - startedAt);
  }
  report(
    "Objects of Git LFS of 10 KB, one after the other",
    "An object is a durable file and a durable row, so it may take three durable writes.",
    [
      { label: "durable write of the same bytes", value: `${median(writes).toFixed(1)} ms` },
      { label: "put", value: `${median(puts).toFixed(1)} ms` },
      atMost("put against the durable write", median(puts) / median(writes), 3, ""),
    ],
  );
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
