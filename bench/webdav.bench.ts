import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import {
  davUser,
  missingFor,
  startDavServer,
  type DavServerName,
} from "../test/support/cloud/dav-servers.ts";
import { croftJson, type CroftEnvironment } from "../test/support/croft.ts";
import { built, makeHome, PASSWORD } from "./daemon.ts";
import { atLeast, median, report } from "./measure.ts";
import type { Figure } from "./results.ts";

// Files through croft's command line and daemon to a WebDAV server, beside rclone to the same server, in turns.

const MIB = 1024 ** 2;
const LARGE_BYTES = 200 * MIB;
const SMALL_FILES = 1_000;
const SMALL_BYTES = 10_000;
const ROUNDS = 3;

const run = promisify(execFile);
const servers: readonly DavServerName[] = ["apache"];

for (const server of servers) {
  const missing = missingFor(server) ?? missingFor("rclone");
  if (missing === undefined) await measure(server);
  else
    report(`WebDAV (${server})`, "There was no server to measure against.", [
      { label: "skipped", value: missing },
    ]);
}

async function measure(name: DavServerName): Promise<void> {
  await using server = await startDavServer(name);
  await using home = await makeHome();
  const local = await mkdtemp(join(tmpdir(), "croft-bench-dav-"));
  const daemon = await home.serve({ CROFT_BYTE_CACHE_BYTES: String(2048 * MIB) });
  try {
    const around: CroftEnvironment = { home: home.home, cwd: local };
    const croft = (...args: string[]) => croftJson(built, ["--url", daemon.url, ...args], around);
    const account = ["--url", daemon.url, "--email", "mira@example.org", "--password-stdin"];
    await croftJson(built, ["vault", "register", "--handle", "mira", ...account], around, PASSWORD);
    await croftJson(built, ["login", "vault", ...account], around, PASSWORD);
    const folder = await server.makeFolder("bench");
    await croftJson(
      built,
      [
        ...["vault", "connection", "add", "webdav", "--url", daemon.url, "--name", "dav"],
        ...["--setting", `url=${server.origin}/bench`],
        ...["--setting", `username=${davUser.username}`, "--credential-stdin", "password"],
      ],
      around,
      davUser.password,
    );
    const { stdout: obscured } = await run("rclone", ["obscure", davUser.password]);
    const rclone = (...args: string[]) =>
      run("rclone", args, {
        cwd: local,
        env: {
          PATH: process.env["PATH"],
          HOME: local,
          RCLONE_CONFIG_DAV_TYPE: "webdav",
          RCLONE_CONFIG_DAV_URL: `${server.origin}/bench`,
          RCLONE_CONFIG_DAV_VENDOR: "other",
          RCLONE_CONFIG_DAV_USER: davUser.username,
          RCLONE_CONFIG_DAV_PASS: obscured.trim(),
        },
      });

    await mkdir(join(local, "small"));
    for (let at = 0; at < SMALL_FILES; at++)
      await writeFile(join(local, "small", `file-${at}.bin`), randomBytes(SMALL_BYTES));

    const pairs: Record<string, { croft: number; rclone: number }[]> = {};
    const note = (label: string, croftSeconds: number, rcloneSeconds: number) =>
      (pairs[label] ??= []).push({ croft: croftSeconds, rclone: rcloneSeconds });

    for (let round = 0; round < ROUNDS; round++) {
      // Bytes of their own each round: nothing is in a cache.
      const large = `large-${round}.bin`;
      await writeFile(join(local, large), randomBytes(LARGE_BYTES));
      note(
        "upload of 200 MiB",
        await seconds(() => croft("vault", "item", "upload", large, "dav:/")),
        await seconds(() => rclone("copyto", large, `DAV:rclone-${large}`)),
      );
      if ((await hashOf(join(folder, large))) !== (await hashOf(join(local, large))))
        throw new Error("the upload altered the file");
      note(
        "cold download of 200 MiB",
        await seconds(() => croft("vault", "item", "download", `dav:/${large}`, "-o", "back.bin")),
        await seconds(() => rclone("copyto", `DAV:rclone-${large}`, "rclone-back.bin")),
      );
      if ((await hashOf(join(local, "back.bin"))) !== (await hashOf(join(local, large))))
        throw new Error("the download altered the file");
      for (const path of [large, "back.bin", "rclone-back.bin"]) await rm(join(local, path));
      for (const path of [large, `rclone-${large}`]) await rm(join(folder, path));

      await croft("vault", "item", "mkdir", `dav:/c${round}`);
      note(
        "upload of 1,000 files of 10 KB",
        await seconds(() => croft("vault", "item", "upload", "-r", "small", `dav:/c${round}`)),
        await seconds(() => rclone("copy", "small", `DAV:r${round}/small`)),
      );
      const arrived = await readdir(join(folder, `c${round}`, "small"));
      if (arrived.length !== SMALL_FILES) throw new Error(`${arrived.length} files arrived`);
      note(
        "cold download of 1,000 files of 10 KB",
        await seconds(() =>
          croft("vault", "item", "download", "-r", `dav:/c${round}/small`, "-o", `got${round}`),
        ),
        await seconds(() => rclone("copy", `DAV:r${round}/small`, `rgot${round}`)),
      );
    }
    report(
      `WebDAV (${name}), croft's command line beside rclone's`,
      "Both send the same bytes to the same server; croft passes them through a daemon that caches and records.",
      Object.entries(pairs).flatMap(([label, rounds]): Figure[] => {
        const show = (each: "croft" | "rclone") => {
          const time = median(rounds.map((round) => round[each]));
          return label.includes("files")
            ? `${Math.round(SMALL_FILES / time)} files/s`
            : `${Math.round(LARGE_BYTES / MIB / time)} MiB/s`;
        };
        return [
          { label: `${label}: croft, rclone`, value: `${show("croft")}, ${show("rclone")}` },
          atLeast("ratio of speeds", median(rounds.map((each) => each.rclone / each.croft)), 0.7),
        ];
      }),
    );
  } finally {
    await daemon.end("SIGTERM");
    await rm(local, { recursive: true });
  }
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
