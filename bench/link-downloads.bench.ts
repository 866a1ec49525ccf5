import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeHome } from "./daemon.ts";
import { atLeast, atMost, median, processorSeconds, report, residentMiB } from "./measure.ts";
import type { Figure } from "./results.ts";
import { call, curl, registerUser, watchMemory } from "./vault-client.ts";

// Many downloads by one link at once, beside cached downloads of the same bytes from connected storage: one client, by turns.

const AT_ONCE = 20;
const ROUNDS = 5;
const MIB = 1024 ** 2;
const SIZES = [
  { name: "10 KiB", bytes: 10 * 1024, downloads: 400, aim: undefined },
  { name: "1 MiB", bytes: MIB, downloads: 200, aim: 0.8 },
  { name: "10 MiB", bytes: 10 * MIB, downloads: 100, aim: 0.8 },
] as const;

await using home = await makeHome();
const folder = join(home.home, "files", "mira", "Papers");
await mkdir(folder, { recursive: true });
await using daemon = await home.serve();
const bearer = await registerUser(daemon.url, "mira");
const vault = <T>(path: string, body?: object) =>
  call<T>(`${daemon.url}${path}`, body === undefined ? "GET" : "POST", body, bearer);

for (const { name, bytes } of SIZES)
  await writeFile(join(folder, `${name}.bin`), randomBytes(bytes));
const { id: connection } = await vault<{ id: string }>("/api/cloud/connections", {
  ...{ provider: "local_folder", display_name: "Papers" },
  ...{ settings: { root: folder }, credentials: {} },
});
await vault(`/api/cloud/connections/${connection}/items`);
const figures: Figure[] = [];
let growth = 0;
for (const size of SIZES) await measure(size);
report(
  `${AT_ONCE} downloads by a link at once, against cached downloads`,
  "A link gives its bytes as connected storage does. It also counts and records each download durably, which small files feel.",
  [...figures, atMost("memory above idle", growth, 64, "MiB")],
);

async function measure({ name, bytes, downloads, aim }: (typeof SIZES)[number]): Promise<void> {
  const document = await upload(`${name}.bin`);
  const { url } = await vault<{ url: string }>("/api/links", { document_id: document });
  const link = `${daemon.url}${new URL(url).pathname}/download`;
  const item = `${daemon.url}/api/cloud/connections/${connection}/items/${encodeURIComponent(`${name}.bin`)}/download`;
  for (const each of [link, item]) await fetchAll(each, AT_ONCE);
  const idle = await residentMiB(daemon.pid);
  const memory = watchMemory(daemon.pid);
  const rounds: { readonly link: Time; readonly item: Time }[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    rounds.push({ link: await fetchAll(link, downloads), item: await fetchAll(item, downloads) });
  growth = Math.max(growth, (await memory.stop()) - idle);
  const ratioOf = (kind: keyof Time) =>
    median(rounds.map((one) => one.item[kind] / one.link[kind]));
  const show = (of: "link" | "item") => {
    const wall = median(rounds.map((one) => one[of].wall));
    const processor = median(rounds.map((one) => one[of].processor));
    const speed = ((downloads * bytes) / MIB / wall).toFixed(0);
    return `${speed} MiB/s, ${((processor / downloads) * 1_000).toFixed(2)} ms of processor time each`;
  };
  figures.push(
    { label: `${name}: link`, value: show("link") },
    { label: `${name}: cached item`, value: show("item") },
    ...(["wall", "processor"] as const).map((kind) => {
      const label = `${name}: ratio of ${kind === "wall" ? "speeds" : "processor times"}`;
      return aim === undefined
        ? { label, value: ratioOf(kind).toFixed(2) }
        : atLeast(label, ratioOf(kind), aim);
    }),
  );
}

/** Seconds on the clock and of the daemon's processor time. */
interface Time {
  readonly wall: number;
  readonly processor: number;
}

async function fetchAll(url: string, times: number): Promise<Time> {
  const before = processorSeconds(daemon.pid);
  const startedAt = performance.now();
  // A range of addresses: curl repeats the request, and the daemon ignores the query.
  await curl([
    ...["-Z", "--parallel-immediate", "--parallel-max", String(AT_ONCE)],
    ...["-H", `Authorization: ${bearer}`, "-o", "/dev/null", `${url}?n=[1-${times}]`],
  ]);
  const wall = (performance.now() - startedAt) / 1_000;
  return { wall, processor: processorSeconds(daemon.pid) - before };
}

async function upload(name: string): Promise<string> {
  const body = new FormData();
  const bytes = await readFile(join(folder, name));
  body.set("file", new File([new Uint8Array(bytes)], name));
  const headers = { Authorization: bearer, "User-Agent": "curl", "Accept-Language": "" };
  const init = { method: "POST", headers, body };
  const answer = await fetch(`${daemon.url}/api/documents/upload`, init);
  if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as { id: string }).id;
}
