import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { clientEnvironment } from "../test/support/forge/git-client.ts";
import { makeHome } from "./daemon.ts";
import { atLeast, findProgram, median, processorSeconds, report, startChild } from "./measure.ts";
import { call } from "./vault-client.ts";

// `git lfs push` of many objects, as a project sends its first large files: to the built daemon, to a plain server that stores and
// records objects, and to one that only writes their bytes, by turns.

const OBJECTS = 1_000;
const OBJECT_BYTES = 100 * 1024;
const ROUNDS = 3;
const BRANCH = "main";

const run = promisify(execFile);

if ((await findProgram("git-lfs")) === undefined)
  console.log("\ngit lfs push: skipped, git-lfs is not installed");
else await measure();

async function measure(): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), "croft-bench-lfs-"));
  try {
    await using home = await makeHome();
    await using daemon = await home.serve();
    const authorization = `token ${home.token}`;
    await call(`${daemon.url}/api/v1/user/repos`, "POST", { name: "kiln" }, authorization);
    const plain = await startPlain(join(work, "plain"), "objects");
    const bytes = await startPlain(join(work, "bytes"), "bytes");
    const withPassword = (url: string, password: string) =>
      url.replace("://", `://keeper:${password}@`);
    const ours = `${withPassword(daemon.url, home.token)}/keeper/kiln.git/info/lfs`;
    const rounds: { ours: number; plain: number; bytes: number; processor: number }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const source = await makeObjects(join(work, `round-${round}`));
      await run("sync");
      const before = processorSeconds(daemon.pid);
      rounds.push({
        ours: await push(source, ours),
        processor: processorSeconds(daemon.pid) - before,
        plain: await push(source, withPassword(plain.url, "password")),
        bytes: await push(source, bytes.url),
      });
    }
    await Promise.all([plain.stop(), bytes.stop()]);
    const all = (name: keyof (typeof rounds)[number]) =>
      rounds.map((each) => `${each[name].toFixed(1)} s`).join(", ");
    report(
      `git lfs push of ${OBJECTS} objects of ${OBJECT_BYTES / 1024} KiB`,
      "Beside what the plain server does, croft checks the right to write three times an object, syncs the folders of its file, and keeps a row in a database: half of the speed. A server that neither hashes nor syncs nor records shows what durability costs.",
      [
        { label: "croft", value: all("ours") },
        { label: "processor time of croft", value: all("processor") },
        { label: "plain server", value: all("plain") },
        { label: "server that only writes the bytes", value: all("bytes") },
        atLeast(
          "speed against the plain server",
          median(rounds.map((each) => each.plain / each.ours)),
          0.5,
        ),
        {
          label: "speed against the server that only writes",
          value: median(rounds.map((each) => each.bytes / each.ours)).toFixed(2),
        },
      ],
    );
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function startPlain(
  folder: string,
  mode: "objects" | "bytes",
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  await mkdir(folder, { recursive: true });
  const program = join(import.meta.dirname, "bare-lfs.ts");
  const { line, stop } = await startChild(process.execPath, [program, folder, mode]);
  return { url: (JSON.parse(line) as { url: string }).url, stop };
}

/** Makes a repository whose only commit has pointers to new objects. The objects are where git-lfs keeps its own. */
async function makeObjects(folder: string): Promise<string> {
  await mkdir(folder);
  const git = (...args: string[]) =>
    run("git", args, { cwd: folder, env: clientEnvironment(folder) });
  await git("init", "-q", "-b", BRANCH);
  await git("remote", "add", "origin", "http://127.0.0.1:1/none.git");
  for (let made = 0; made < OBJECTS; made += 1) {
    const bytes = randomBytes(OBJECT_BYTES);
    const oid = createHash("sha256").update(bytes).digest("hex");
    const kept = join(folder, ".git/lfs/objects", oid.slice(0, 2), oid.slice(2, 4));
    await mkdir(kept, { recursive: true });
    await writeFile(join(kept, oid), bytes);
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${OBJECT_BYTES}\n`;
    await writeFile(join(folder, `${made}.bin`), pointer);
  }
  await git("add", ".");
  await git("commit", "-q", "-m", "objects");
  return folder;
}

/** Returns the seconds of a push. */
async function push(folder: string, url: string): Promise<number> {
  const config = ["-c", `lfs.url=${url}`, "-c", `lfs.${url}.locksverify=false`];
  const startedAt = performance.now();
  await run("git", [...config, "lfs", "push", "origin", BRANCH], {
    cwd: folder,
    env: clientEnvironment(folder),
  });
  return (performance.now() - startedAt) / 1000;
}
