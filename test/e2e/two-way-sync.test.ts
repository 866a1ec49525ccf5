import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type CroftCommand,
  croftJson,
  runCroft,
  type ServedCroft,
  serveCroft,
  startCroft,
} from "../support/croft.ts";
import { countKills, limitOfKills } from "../support/kills.ts";

const croft: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];
const password = "Correct-Horse-7-Battery";

let home = "";
let served: ServedCroft | undefined;

const at = () => ({ home, cwd: join(home, "work"), env: { CROFT_URL: served?.url ?? "" } });
const here = (path = "") => join(home, "work/here", path);
const there = (path = "") => join(home, "files/mira/papers/there", path);
const line = "vault item sync here Papers:/there --both --json";

interface Row {
  readonly item: string;
  readonly action: string;
  readonly side: string | null;
  readonly other_path: string | null;
}

async function sync(more = ""): Promise<readonly Row[]> {
  return croftJson<Row[]>(croft, `${line}${more}`.split(" "), at());
}

/** Files below a folder with their content. */
async function read(root: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const path of (await readdir(root, { recursive: true })).toSorted())
    if (!path.endsWith(".croft-part") && (await stat(join(root, path))).isFile())
      found[path] = await readFile(join(root, path), "utf8");
  return found;
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "croft-two-way-"));
  for (const folder of ["work/here", "files/mira/papers"])
    await mkdir(join(home, folder), { recursive: true });
  const admin = "init --username keeper --email keeper@example.org --password-stdin";
  await croftJson(croft, admin.split(" "), { home }, password);
  served = await serveCroft(croft, { home, env: { CROFT_RATE_LIMITS: "off" } });
  const run = (text: string, stdin = "") => croftJson(croft, text.split(" "), at(), stdin);
  await run("vault register --handle mira --email mira@example.org --password-stdin", password);
  await run("login vault --email mira@example.org --password-stdin", password);
  const root = join(home, "files/mira/papers");
  await run(`vault connection add local_folder --name Papers --setting root=${root}`);
}, 240_000);

afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

test("changes of both sides reach the other one, and stops protect against losses", async () => {
  for (const folder of ["d", "e"]) {
    await mkdir(here(folder), { recursive: true });
    for (let file = 0; file < 6; file++)
      await writeFile(here(`${folder}/${file}.txt`), `${folder}${file}`);
  }
  await writeFile(here("large.bin"), Buffer.alloc(3_000_000, "large"));
  await symlink("/etc/hostname", here("link"));
  await sync();
  expect(await read(there())).toEqual({ ...(await read(here())), link: undefined });

  // An edit, a deletion and a renamed folder on each side; a conflict; a deletion against a change; an ignored file.
  await appendFile(here("d/0.txt"), " edited here");
  await appendFile(there("d/1.txt"), " edited there");
  await rm(here("d/2.txt"));
  await rm(there("d/3.txt"));
  await rename(here("e"), here("renamed"));
  await rename(there("large.bin"), there("d/large.bin"));
  await appendFile(here("d/4.txt"), " here");
  await appendFile(there("d/4.txt"), " there");
  await rm(here("d/5.txt"));
  await appendFile(there("d/5.txt"), " changed");
  await writeFile(there(".croftignore"), "*.tmp\n");
  await writeFile(here("x.tmp"), "x");
  const rows = await sync();
  const of = (action: string) => rows.filter((row) => row.action === action);
  expect(of("move").map(({ item, side, other_path: from }) => [from, item, side])).toEqual([
    ["e", "renamed", "remote"],
    ["large.bin", "d/large.bin", "local"],
  ]);
  const [conflict] = of("conflict");
  expect(conflict?.other_path).toMatch(/^d\/4 \(conflict \d{4}-\d\d-\d\d .+\)\.txt$/);
  const local = await read(here());
  expect(local["d/4.txt"]).toBe("d4 there");
  expect(local[conflict?.other_path ?? ""]).toBe("d4 here");
  expect(local["d/5.txt"]).toBe("d5 changed");
  expect(local["d/1.txt"]).toBe("d1 edited there");
  expect([local["d/2.txt"], local["d/3.txt"]]).toEqual([undefined, undefined]);
  const { "x.tmp": ignored, link, ...shared } = local;
  expect([ignored, link === undefined]).toEqual(["x", false]);
  expect(await read(there())).toEqual(shared);
  expect(await sync()).toEqual([]);

  // More than half, an emptied folder, and a missing one are no deletions.
  await rm(here("renamed"), { recursive: true });
  await rm(here("d"), { recursive: true });
  const stopped = await runCroft(croft, line.split(" "), at());
  expect(stopped.code).toBe(7);
  expect(stopped.stderr).toContain("would delete");
  await rename(here(), `${here()}-away`);
  const missing = await runCroft(croft, line.split(" "), at());
  expect([missing.code, missing.stderr.includes("is missing")]).toEqual([17, true]);
  await mkdir(here());
  const emptied = await runCroft(croft, `${line} --max-delete 100%`.split(" "), at());
  expect([emptied.code, emptied.stderr.includes("is empty and another folder")]).toEqual([7, true]);
  expect(await read(there())).toEqual(shared);
  await rm(here(), { recursive: true });
  await rename(`${here()}-away`, here());
  await sync(" --max-delete 100%");
  expect(Object.keys(await read(there()))).toEqual([".croftignore"]);
}, 120_000);

test("--watch follows both sides, survives a killed daemon and ends at Ctrl-C", async () => {
  await writeFile(here("first"), "first");
  const words = `${line.replace("--json", "--ndjson")} --watch --interval 2`.split(" ");
  const child = startCroft(croft, words, at());
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => (output += String(chunk)));
  const wait = { timeout: 60_000, interval: 100 };
  const textAt = (path: string) => readFile(path, "utf8").catch(() => undefined);
  await expect.poll(() => textAt(there("first")), wait).toBe("first");
  await writeFile(there("second"), "second");
  await expect.poll(() => textAt(here("second")), wait).toBe("second");
  // A second sync of the pair does not run beside it.
  const other = await runCroft(croft, line.split(" "), at());
  expect([other.code, other.stderr.includes("another sync")]).toEqual([7, true]);
  const { url = "" } = served ?? {};
  await served?.end("SIGKILL");
  await writeFile(here("third"), "third");
  served = await serveCroft(croft, {
    home,
    env: { CROFT_RATE_LIMITS: "off" },
    port: Number(new URL(url).port),
  });
  await expect.poll(() => textAt(there("third")), wait).toBe("third");
  // The storage has the file before the command has the answer.
  await expect.poll(() => output, wait).toContain('"third"');
  child.kill("SIGINT");
  expect(await ended).toBe(130);
  const rows = output
    .trim()
    .split("\n")
    .map((text) => JSON.parse(text) as Row);
  expect(rows.map(({ item, action, side }) => [item, action, side])).toEqual([
    ["first", "upload", "remote"],
    ["second", "download", "local"],
    ["third", "upload", "remote"],
  ]);
}, 120_000);

test("a folder of the connection that another program removed after it was listed is missing for a sync", async () => {
  await writeFile(here("kept"), "kept");
  await sync();
  await rm(there(), { recursive: true });
  const stopped = await runCroft(croft, line.split(" "), at());
  expect(stopped.stderr).toContain("Papers:/there is missing; nothing was deleted");
  expect(stopped.code).toBe(6);
  // Without a run before it, `--both` makes the folder, as a sync in one direction does.
  await rm(join(home, "state/sync"), { recursive: true });
  await sync();
  expect(await read(there())).toMatchObject({ kept: "kept" });
  await rm(there(), { recursive: true });
  await croftJson(croft, "vault item sync here Papers:/there --json".split(" "), at());
  expect(await read(there())).toMatchObject({ kept: "kept" });
});

const kills = countKills(4);

test(
  "a sync that is killed again and again loses nothing, and shows no partial file",
  async () => {
    const random = (below: number) => Math.floor(Math.random() * below);
    const contents = new Set<string>();
    let count = 0;
    const write = async (path: string) => {
      const text = `${++count} `.repeat(1 + random(2) * 200_000);
      contents.add(text);
      await writeFile(path, text);
    };
    await rm(here(), { recursive: true });
    await rm(there(), { recursive: true });
    await rm(join(home, "state/sync"), { recursive: true });
    await mkdir(here("a/b"), { recursive: true });
    for (let kill = 0; kill < kills; kill++) {
      for (let file = 0; file < 8; file++) await write(here(`a/${kill}-${file}`));
      const hasThere = await stat(there("a")).catch(() => undefined);
      for (let file = 0; file < 8 && hasThere !== undefined; file++)
        await write(there(`a/there-${kill}-${file}`));
      const child = startCroft(croft, line.split(" "), at());
      const ended = new Promise((resolve) => child.once("exit", resolve));
      await new Promise((resolve) => setTimeout(resolve, 50 + random(700)));
      child.kill("SIGKILL");
      await ended;
      for (const [, text] of Object.entries({
        ...(await read(here())),
        ...(await read(there()).catch(() => ({}))),
      }))
        expect(contents).toContain(text);
    }
    await sync();
    expect(await sync()).toEqual([]);
    const [one, other] = [await read(here()), await read(there())];
    expect(other).toEqual(one);
    for (const text of contents) expect(Object.values(one).includes(text)).toBe(true);
    const names = await readdir(here(), { recursive: true });
    expect(names.filter((name) => name.endsWith(".croft-part"))).toEqual([]);
  },
  limitOfKills(kills),
);

test(
  "an export of documents that is killed again and again shows no partial file and is completed by the same command",
  async () => {
    const size = 4 * 1024 * 1024;
    const names = Array.from({ length: 8 }, (_, index) => `scan-${index}.bin`);
    for (const [index, name] of names.entries())
      await writeFile(join(home, "work", name), Buffer.alloc(size, index + 1));
    await croftJson(croft, ["vault", "document", "upload", ...names], at());
    const words = ["vault", "document", "export", "papers"];
    const exported = async () => {
      const files = await readdir(join(home, "work/papers"), {
        recursive: true,
        withFileTypes: true,
      }).catch(() => []);
      return files.filter((file) => file.isFile() && file.name.startsWith("scan-"));
    };
    for (let kill = 0; kill < kills; kill++) {
      const before = (await exported()).length;
      const child = startCroft(croft, words, at());
      const ended = new Promise((resolve) => child.once("exit", resolve));
      const isMoving = async () => child.exitCode !== null || (await exported()).length !== before;
      await expect.poll(isMoving, { timeout: 60_000, interval: 5 }).toBe(true);
      child.kill("SIGKILL");
      await ended;
      for (const { name, parentPath } of await exported())
        if (names.includes(name)) expect((await stat(join(parentPath, name))).size).toBe(size);
    }
    await croftJson(croft, words, at());
    for (const [index, name] of names.entries()) {
      const found = (await exported()).find((file) => file.name === name);
      const content = await readFile(join(found?.parentPath ?? "", name));
      expect(content.equals(Buffer.alloc(size, index + 1))).toBe(true);
    }
  },
  limitOfKills(kills),
);
