import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findChromium, launchChromium } from "../test/support/browser.ts";
import { croftJson, type CroftEnvironment } from "../test/support/croft.ts";
import { built, makeHome, PASSWORD } from "./daemon.ts";
import { atLeast, median, processorSeconds, report } from "./measure.ts";
import { call, openUploadPage, signIn } from "./vault-client.ts";

// Many files given to the script of the page at once, beside the command line with the same files.

const FILES = 1_000;
const FILE_BYTES = 10_000;
const ROUNDS = 3;
const EMAIL = "mira@example.org";

const chromium = findChromium();
if (chromium === undefined) {
  console.log("\nUploads of the page: skipped, Chromium is not installed");
} else await measure(chromium);

/** Seconds on the clock, and of the daemon's processor time. */
interface Time {
  readonly wall: number;
  readonly processor: number;
}

async function measure(program: string): Promise<void> {
  await using home = await makeHome();
  await using daemon = await home.serve();
  const local = await mkdtemp(join(tmpdir(), "croft-bench-uploads-"));
  const browser = await launchChromium(program);
  try {
    const around: CroftEnvironment = { home: home.home, cwd: local };
    const account = ["--url", daemon.url, "--email", EMAIL, "--password-stdin"];
    await croftJson(built, ["vault", "register", "--handle", "mira", ...account], around, PASSWORD);
    await croftJson(built, ["login", "vault", ...account], around, PASSWORD);
    const bearer = await signIn(daemon.url, EMAIL);
    const page = await browser.newPage();
    await openUploadPage(page, daemon.url, EMAIL);
    const rounds: { readonly page: Time; readonly command: Time }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const byPage = await makeFiles(join(local, `page-${round}`));
      await makeFiles(join(local, `command-${round}`));
      await page.goto(`${daemon.url}/vault/add`);
      const pageTime = await timeOf(daemon.pid, async () => {
        await page.setInputFiles("form.upload input[name=file]", byPage);
        await page.getByText(`${FILES} of ${FILES} uploaded`).waitFor({ timeout: 600_000 });
      });
      await assertStored(2 * round + 1);
      const command = await timeOf(daemon.pid, () =>
        croftJson(
          built,
          ["--url", daemon.url, "vault", "document", "upload", "-r", `command-${round}`],
          around,
        ),
      );
      await assertStored(2 * round + 2);
      rounds.push({ page: pageTime, command });
    }
    const rate = (time: (round: (typeof rounds)[number]) => Time) =>
      `${Math.round(FILES / median(rounds.map((round) => time(round).wall)))} files/s`;
    report(
      `${FILES} files of ${FILE_BYTES / 1_000} KB given to the page at once`,
      "The page sends each file by one request, as the command line does.",
      [
        {
          label: "page, command line",
          value: `${rate((one) => one.page)}, ${rate((one) => one.command)}`,
        },
        atLeast("ratio", median(rounds.map((one) => one.command.wall / one.page.wall)), 0.7),
        atLeast(
          "ratio of the daemon's processor time",
          median(rounds.map((one) => one.command.processor / one.page.processor)),
          0.7,
        ),
      ],
    );

    async function assertStored(times: number): Promise<void> {
      const path = `${daemon.url}/api/documents?per_page=1`;
      const { total } = await call<{ total: number }>(path, "GET", undefined, bearer);
      if (total !== times * FILES) throw new Error(`${total} documents are stored`);
    }
  } finally {
    await browser.close();
    await rm(local, { recursive: true });
  }
}

async function makeFiles(folder: string): Promise<string[]> {
  await mkdir(folder);
  const paths = Array.from({ length: FILES }, (_, at) => join(folder, `file-${at}.bin`));
  for (const path of paths) await writeFile(path, randomBytes(FILE_BYTES));
  return paths;
}

async function timeOf(server: number, work: () => Promise<unknown>): Promise<Time> {
  const before = processorSeconds(server);
  const startedAt = performance.now();
  await work();
  const wall = (performance.now() - startedAt) / 1_000;
  return { wall, processor: processorSeconds(server) - before };
}
