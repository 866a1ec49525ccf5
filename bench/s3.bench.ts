import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { croftJson, runCroft } from "../test/support/croft.ts";
import { built, makeHome, PASSWORD } from "./daemon.ts";
import { atLeast, findProgram, ratio, report, residentMiB } from "./measure.ts";

// Transfers with the command line through a bucket, beside rclone against the same bucket. The environment names the bucket,
// as for the conformance suite; it should be on this machine and hold nothing else.

const MIB = 1024 ** 2;
const LARGE_BYTES = 200 * MIB;
const SMALL_FILES = 1_000;
const SMALL_BYTES = 10 * 1024;
const ROUNDS = 3;
const AIM = 0.7;

const run = promisify(execFile);
const {
  CROFT_TEST_S3_ENDPOINT: endpoint,
  CROFT_TEST_S3_BUCKET: bucket,
  CROFT_TEST_S3_KEY: key,
  CROFT_TEST_S3_SECRET: secret,
} = process.env;

if (!endpoint || !bucket || !key || !secret)
  console.log("\nS3: skipped, CROFT_TEST_S3_ENDPOINT, _BUCKET, _KEY and _SECRET name no bucket");
else if ((await findProgram("rclone")) === undefined)
  console.log("\nS3: skipped, rclone is not installed");
else await measure({ endpoint, bucket, key, secret });

async function measure(at: {
  readonly endpoint: string;
  readonly bucket: string;
  readonly key: string;
  readonly secret: string;
}): Promise<void> {
  await using home = await makeHome();
  const work = join(home.home, "work");
  await mkdir(join(work, "small"), { recursive: true });
  await writeFile(join(work, "large.bin"), randomBytes(LARGE_BYTES));
  for (let n = 0; n < SMALL_FILES; n += 1)
    await writeFile(join(work, "small", `${n}.bin`), randomBytes(SMALL_BYTES));
  await using daemon = await home.serve({ CROFT_BYTE_CACHE_BYTES: String(4096 * MIB) });
  const around = { home: home.home, cwd: work, env: { CROFT_URL: daemon.url } };
  const json = (line: string, stdin = "") => croftJson(built, line.split(" "), around, stdin);
  await json("vault register --handle mira --email mira@example.org --password-stdin", PASSWORD);
  await json("login vault --email mira@example.org --password-stdin", PASSWORD);
  const setting = `--setting endpoint=${at.endpoint} --setting bucket=${at.bucket}`;
  await json(
    `vault connection add s3 --name Bucket ${setting} --setting prefix=bench-${process.pid} --credential-stdin access_key_id,secret_access_key`,
    `${at.key}\n${at.secret}\n`,
  );

  async function croft(args: string): Promise<number> {
    const startedAt = performance.now();
    const { code, stderr } = await runCroft(built, args.split(" "), around);
    if (code !== 0) throw new Error(`croft ${args} ended with ${code}: ${stderr}`);
    return (performance.now() - startedAt) / 1000;
  }
  const remote = `:s3:${at.bucket}/bench-${process.pid}-rclone`;
  async function rclone(args: string): Promise<number> {
    const startedAt = performance.now();
    // A CA bundle is nothing to a server on this machine, and this rclone cannot load one.
    const { AWS_CA_BUNDLE: _bundle, ...env } = process.env;
    await run("rclone", ["--config", "", ...args.split(" ")], {
      cwd: work,
      env: {
        ...env,
        RCLONE_S3_PROVIDER: "Other",
        RCLONE_S3_ENDPOINT: at.endpoint,
        RCLONE_S3_REGION: "us-east-1",
        RCLONE_S3_FORCE_PATH_STYLE: "true",
        RCLONE_S3_NO_CHECK_BUCKET: "true",
        RCLONE_S3_ACCESS_KEY_ID: at.key,
        RCLONE_S3_SECRET_ACCESS_KEY: at.secret,
      },
    });
    return (performance.now() - startedAt) / 1000;
  }

  let round = 0;
  const speeds: [string, { ratio: number; a: number; b: number }, (seconds: number) => string][] =
    [];
  const rate = (seconds: number) => `${Math.round(LARGE_BYTES / MIB / seconds)} MiB/s`;
  const count = (seconds: number) => `${Math.round(SMALL_FILES / seconds)} files/s`;
  /** Times of both programs for one kind of transfer. `folder` is another one in each round. */
  async function compare(
    label: string,
    show: (seconds: number) => string,
    mine: (folder: string) => Promise<number>,
    theirs: (folder: string) => Promise<number>,
  ): Promise<void> {
    const first = round;
    let their = first;
    speeds.push([
      label,
      await ratio(
        ROUNDS,
        () => mine(`r${round++}`),
        () => theirs(`r${their++}`),
      ),
      show,
    ]);
  }

  await compare(
    "200 MiB up",
    rate,
    async (folder) => {
      await croft(`vault item mkdir Bucket:/${folder}`);
      return croft(`vault item upload large.bin Bucket:/${folder}`);
    },
    (folder) => rclone(`copy large.bin ${remote}/${folder}`),
  );
  const uploaded = [0, 1, 2].map((n) => `r${n}`);
  let next = 0;
  await compare(
    "200 MiB down, cold",
    rate,
    async () => {
      await rm(join(work, "back.bin"), { force: true });
      const seconds = await croft(
        `vault item download Bucket:/${uploaded[next]}/large.bin -o back.bin`,
      );
      if ((await stat(join(work, "back.bin"))).size !== LARGE_BYTES) throw new Error("cut short");
      return seconds;
    },
    async () => {
      await rm(join(work, "theirs"), { recursive: true, force: true });
      return rclone(`copy ${remote}/${uploaded[next++]}/large.bin theirs`);
    },
  );
  await compare(
    "1,000 files of 10 KiB up",
    count,
    async (folder) => {
      await croft(`vault item mkdir Bucket:/${folder}`);
      return croft(`vault item upload small Bucket:/${folder} -r -q --ndjson`);
    },
    (folder) => rclone(`copy small ${remote}/${folder}`),
  );
  let from = ROUNDS * 2;
  await compare(
    "1,000 files of 10 KiB down, cold",
    count,
    async (folder) => {
      const seconds = await croft(
        `vault item download Bucket:/r${from}/small -r -o ${folder} -q --ndjson`,
      );
      const arrived = (await readdir(join(work, folder, "small"))).length;
      if (arrived !== SMALL_FILES) throw new Error(`${arrived} files arrived`);
      return seconds;
    },
    (folder) => rclone(`copy ${remote}/r${from++} ${folder}-theirs`),
  );
  const memory = await residentMiB(daemon.pid);
  await croft("vault item delete Bucket:/r0/large.bin --yes");
  await rclone(`purge ${remote}`);
  report(
    `S3 through ${at.endpoint}, the command line against rclone`,
    "Both send the same bytes to the same server; croft passes them through a daemon that caches and records.",
    [
      ...speeds.flatMap(([label, measured, show]) => [
        { label: `${label}: croft, rclone`, value: `${show(measured.a)}, ${show(measured.b)}` },
        atLeast(`${label}: ratio`, 1 / measured.ratio, AIM),
      ]),
      { label: "resident memory of the daemon", value: `${Math.round(memory)} MiB` },
    ],
  );
}
