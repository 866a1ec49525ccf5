import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { makeHome } from "./daemon.ts";
import { atLeast, atMost, findProgram, median, report, residentMiB } from "./measure.ts";
import { call, curl, registerUser, watchMemory } from "./vault-client.ts";

// The vault as a drive and by a link, beside `rclone serve webdav` on the same disk: the same client, by turns.

const MIB = 1024 ** 2;
const FILE_BYTES = 256 * MIB;
const ROUNDS = 5;
const EMAIL = "mira@example.org";

interface Round {
  readonly upload: number;
  readonly download: number;
  readonly link: number;
  readonly theirUpload: number;
  readonly theirDownload: number;
}

const rclone = await findProgram("rclone");
if (rclone === undefined) {
  console.log("\nThe vault as a drive: skipped, rclone is not installed");
} else await measure(rclone);

async function measure(program: string): Promise<void> {
  await using home = await makeHome();
  await using daemon = await home.serve({
    CROFT_DEFAULT_QUOTA_BYTES: String(16 * 1024 * MIB),
  });
  const theirs = await startRclone(program, join(home.home, "theirs"));
  try {
    const bearer = await registerUser(daemon.url, "mira");
    const vault = <T>(path: string, body: object) =>
      call<T>(`${daemon.url}${path}`, "POST", body, bearer);
    const { token } = await vault<{ token: string }>("/api/auth/tokens", {
      name: "bench",
      scope: "write",
    });
    const source = join(home.home, "source.bin");
    const back = join(home.home, "back.bin");
    const drive = (path: string, ...args: string[]) =>
      curl(["-u", `${EMAIL}:${token}`, ...args, `${daemon.url}/dav/documents/all/${path}`]);
    const rounds: Round[] = [];
    let growth = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      await writeFile(source, randomBytes(FILE_BYTES));
      const name = `round-${round}.bin`;
      const idle = await residentMiB(daemon.pid);
      const memory = watchMemory(daemon.pid);
      const upload = await drive(name, "-T", source, "-o", "/dev/null");
      const theirUpload = await curl(["-T", source, "-o", "/dev/null", `${theirs.url}/${name}`]);
      const download = await drive(name, "-o", back);
      const theirDownload = await curl(["-o", "/dev/null", `${theirs.url}/${name}`]);
      const link = await measureLink(name);
      growth = Math.max(growth, (await memory.stop()) - idle);
      if (!(await readFile(back)).equals(await readFile(source)))
        throw new Error("the drive altered the file");
      rounds.push({ upload, download, link, theirUpload, theirDownload });
    }

    async function measureLink(name: string): Promise<number> {
      const { items } = await call<{ items: { id: string; filename: string }[] }>(
        `${daemon.url}/api/documents`,
        "GET",
        undefined,
        bearer,
      );
      const id = items.find(({ filename }) => filename === name)?.id;
      const { url } = await vault<{ url: string }>("/api/links", { document_id: id });
      return curl(["-o", "/dev/null", `${daemon.url}${new URL(url).pathname}/download`]);
    }

    const speed = (time: (round: Round) => number) =>
      `${(FILE_BYTES / MIB / median(rounds.map(time))).toFixed(0)} MiB/s`;
    report(
      `A file of ${FILE_BYTES / MIB} MiB on the vault's drive, beside rclone serve webdav`,
      "Both pass the bytes between a socket and a file; croft also hashes and syncs an upload, and counts a download.",
      [
        {
          label: "upload: croft, rclone",
          value: `${speed((one) => one.upload)}, ${speed((one) => one.theirUpload)}`,
        },
        atLeast("upload, speed", median(rounds.map((r) => r.theirUpload / r.upload)), 0.4),
        {
          label: "download: croft, rclone",
          value: `${speed((one) => one.download)}, ${speed((one) => one.theirDownload)}`,
        },
        atLeast("download, speed", median(rounds.map((r) => r.theirDownload / r.download)), 0.6),
        atLeast(
          "download by a link, speed",
          median(rounds.map((r) => r.theirDownload / r.link)),
          0.6,
        ),
        atMost("memory above idle", growth, 64, "MiB"),
      ],
    );
  } finally {
    await theirs.stop();
  }
}

/** `rclone serve webdav` on a free port; it tells its address on standard error. */
async function startRclone(
  program: string,
  folder: string,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  await mkdir(folder);
  const child = spawn(program, ["serve", "webdav", folder, "--addr", "127.0.0.1:0", "-v"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stderr).on("line", (line) => {
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
      if (found !== undefined) resolve(found);
    });
    child.once("close", (code) => reject(new Error(`rclone ended with ${code}`)));
  });
  return {
    url,
    stop: async () => {
      const ended = once(child, "close");
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
