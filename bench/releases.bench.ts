import { randomBytes } from "node:crypto";
import { truncate, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeHome } from "./daemon.ts";
import { atLeast, atMost, median, report, residentMiB } from "./measure.ts";
import { call, copyDurably, curl, watchMemory } from "./vault-client.ts";

// A file of a release on the built daemon, beside a plain copy of its bytes.

const MIB = 1024 ** 2;
const FILE_BYTES = 1024 * MIB;
const ROUNDS = 3;

interface Round {
  readonly plain: number;
  readonly upload: number;
  readonly download: number;
}

await using home = await makeHome();
await using daemon = await home.serve();
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
for (let round = 0; round < ROUNDS; round += 1) {
  // Other bytes each time: equal bytes would be stored once.
  await writeFile(source, randomBytes(16), { flag: "r+" });
  const copy = join(home.home, "copy.bin");
  const plain = await copyDurably(source, copy);
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
  rounds.push({ plain, upload, download });
}
report(
  "A file of a release of 1 GiB against a plain durable copy",
  "The bytes are written and synced once, and hashed: most of the speed of a plain durable copy, without keeping them in memory.",
  [
    {
      label: "plain durable copy, upload, download",
      value: rounds
        .map(({ plain, upload, download }) =>
          [plain, upload, download].map((seconds) => `${seconds.toFixed(1)} s`).join(", "),
        )
        .join("; "),
    },
    atLeast("upload, speed", median(rounds.map(({ plain, upload }) => plain / upload)), 0.6),
    atLeast("download, speed", median(rounds.map(({ plain, download }) => plain / download)), 0.6),
    atMost("memory above idle", growth, 64, "MiB"),
  ],
);
