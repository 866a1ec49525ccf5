import { randomBytes } from "node:crypto";
import { truncate, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeHome } from "./daemon.ts";
import { atLeast, atMost, median, report, residentMiB, startChild } from "./measure.ts";
import { call, copyDurably, curl, watchMemory } from "./vault-client.ts";

// A file of a release on the built daemon, beside a plain copy of its bytes.

const MIB = 1024 ** 2;
const FILE_BYTES = 1024 * MIB;
const ROUNDS = 3;

interface Round {
  readonly plain: number;
  readonly bare: number;
  readonly upload: number;
  readonly download: number;
}

await using home = await makeHome();
await using daemon = await home.serve();
const copy = join(home.home, "copy.bin");
// With the daemon's own rule of garbage collection (`cli/commands/serve.ts`).
const flags = ["--external-memory-accounted-in-global-limit"];
const bareServer = join(import.meta.dirname, "bare-upload.ts");
const server = await startChild(process.execPath, [...flags, bareServer, copy]);
const { url: bareUrl } = JSON.parse(server.line) as { url: string };
const authorization = `token ${home.token}`;
const post = <T>(path: string, body: object) =>
  call<T>(`${daemon.url}/api/v1${path}`, "POST", body, authorization);
await post("/user/repos", { name: "kiln", auto_init: true });
const release = await post<{ id: number }>("/repos/keeper/kiln/releases", { tag_name: "v1" });
const source = join(home.home, "upload.bin");
await writeFile(source, "");
await truncate(source, FILE_BYTES);
const rounds: Round[] = [];
let growth = 0;
try {
  for (let round = 0; round < ROUNDS; round += 1) {
    // Other bytes each time: equal bytes would be stored once.
    await writeFile(source, randomBytes(16), { flag: "r+" });
    const plain = await copyDurably(source, copy);
    const bare = await curl(["-T", source, "-o", "/dev/null", bareUrl]);
    await unlink(copy);
    const idle = await residentMiB(daemon.pid);
    const memory = watchMemory(daemon.pid);
    const upload = await curl([
      ...["-H", `Authorization: ${authorization}`, "-H", "Content-Type: application/octet-stream"],
      ...["-X", "POST", "-T", source, "-o", join(home.home, "answer.json")],
      `${daemon.url}/api/v1/repos/keeper/kiln/releases/${release.id}/assets?name=${round}.bin`,
    ]);
    const download = await curl([
      ...["-o", "/dev/null", `${daemon.url}/keeper/kiln/releases/download/v1/${round}.bin`],
    ]);
    growth = Math.max(growth, (await memory.stop()) - idle);
    rounds.push({ plain, bare, upload, download });
  }
} finally {
  await server.stop();
}
report(
  "A file of a release of 1 GiB against a plain durable copy",
  "The bytes are written and synced once, and hashed: most of the speed of a plain durable copy, without keeping them in memory. A bare server of Node that does the same is the most that one thread can do.",
  [
    {
      label: "plain durable copy, bare server, upload, download",
      value: rounds
        .map(({ plain, bare, upload, download }) =>
          [plain, bare, upload, download].map((seconds) => `${seconds.toFixed(1)} s`).join(", "),
        )
        .join("; "),
    },
    atLeast("upload, speed", median(rounds.map(({ plain, upload }) => plain / upload)), 0.6),
    atLeast("upload, of a bare server", median(rounds.map((one) => one.bare / one.upload)), 0.8),
    atLeast("download, speed", median(rounds.map(({ plain, download }) => plain / download)), 0.6),
    atMost("memory above idle", growth, 64, "MiB"),
  ],
);
