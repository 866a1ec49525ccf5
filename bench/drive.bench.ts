import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { makeHome } from "./daemon.ts";
import {
  atLeast,
  atMost,
  findProgram,
  median,
  processorSeconds,
  report,
  residentMiB,
} from "./measure.ts";
import { call, curl, registerUser, watchMemory } from "./vault-client.ts";

// The vault as a drive and by a link, beside `rclone serve webdav` on the same disk: the same client, by turns.

const MIB = 1024 ** 2;
const FILE_BYTES = 256 * MIB;
const ROUNDS = 5;
const EMAIL = "mira@example.org";

/** Seconds on the clock and of the server's processor time. */
interface Time {
  readonly wall: number;
  readonly processor: number;
}

type Round = Readonly<
  Record<"upload" | "download" | "link" | "theirUpload" | "theirDownload", Time>
>;

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
      const upload = await timeOf(daemon.pid, () => drive(name, "-T", source, "-o", "/dev/null"));
      const theirUpload = await timeOf(theirs.pid, () =>
        curl(["-T", source, "-o", "/dev/null", `${theirs.url}/${name}`]),
      );
      await waitForAnalysis();
      const download = await timeOf(daemon.pid, () => drive(name, "-o", "/dev/null"));
      const theirDownload = await timeOf(theirs.pid, () =>
        curl(["-o", "/dev/null", `${theirs.url}/${name}`]),
      );
      const address = await createLink(name);
      const link = await timeOf(daemon.pid, () => curl(["-o", "/dev/null", address]));
      growth = Math.max(growth, (await memory.stop()) - idle);
      await drive(name, "-o", back);
      if (!(await readFile(back)).equals(await readFile(source)))
        throw new Error("the drive altered the file");
      rounds.push({ upload, download, link, theirUpload, theirDownload });
    }

    async function createLink(name: string): Promise<string> {
      const id = (await listDocuments()).find(({ filename }) => filename === name)?.id;
      const { url } = await vault<{ url: string }>("/api/links", { document_id: id });
      return `${daemon.url}${new URL(url).pathname}/download`;
    }

    /** Waits until no document is read by its analysis. */
    async function waitForAnalysis(): Promise<void> {
      while ((await listDocuments()).some(({ status }) => /^(?:pending|processing)$/.test(status)))
        await new Promise((resolve) => setTimeout(resolve, 100));
    }

    async function listDocuments() {
      const { items } = await call<{ items: { id: string; filename: string; status: string }[] }>(
        `${daemon.url}/api/documents`,
        "GET",
        undefined,
        bearer,
      );
      return items;
    }

    const speed = (time: (round: Round) => Time) =>
      `${(FILE_BYTES / MIB / median(rounds.map((round) => time(round).wall))).toFixed(0)} MiB/s`;
    const ratioOf = (theirs: keyof Round, ours: keyof Round, kind: keyof Time) =>
      median(rounds.map((round) => round[theirs][kind] / round[ours][kind]));
    report(
      `A file of ${FILE_BYTES / MIB} MiB on the vault's drive, beside rclone serve webdav`,
      "Both pass the bytes between a socket and a file; croft also hashes and syncs an upload, and counts a download.",
      [
        {
          label: "upload: croft, rclone",
          value: `${speed((one) => one.upload)}, ${speed((one) => one.theirUpload)}`,
        },
        atLeast("upload, speed", ratioOf("theirUpload", "upload", "wall"), 0.4),
        {
          label: "download: croft, rclone",
          value: `${speed((one) => one.download)}, ${speed((one) => one.theirDownload)}`,
        },
        atLeast("download, speed", ratioOf("theirDownload", "download", "wall"), 0.6),
        atLeast(
          "download, bytes/processor time",
          ratioOf("theirDownload", "download", "processor"),
          0.6,
        ),
        atLeast("download by a link, speed", ratioOf("theirDownload", "link", "wall"), 0.6),
        atLeast(
          "download by a link, bytes/processor time",
          ratioOf("theirDownload", "link", "processor"),
          0.6,
        ),
        atMost("memory above idle", growth, 64, "MiB"),
      ],
    );
  } finally {
    await theirs.stop();
  }
}

async function timeOf(server: number, transfer: () => Promise<number>): Promise<Time> {
  const before = processorSeconds(server);
  const wall = await transfer();
  return { wall, processor: processorSeconds(server) - before };
}

/** `rclone serve webdav` on a free port; it tells its address on standard error. */
async function startRclone(
  program: string,
  folder: string,
): Promise<{ readonly url: string; readonly pid: number; stop(): Promise<void> }> {
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
    pid: child.pid ?? 0,
    stop: async () => {
      const ended = once(child, "close");
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
