import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { findChromium, launchChromium } from "../test/support/browser.ts";
import { makeHome } from "./daemon.ts";
import { atMost, processorSeconds, report, residentMiB } from "./measure.ts";
import type { Figure } from "./results.ts";
import { call, curl, openUploadPage, registerUser, watchMemory } from "./vault-client.ts";

// One file of 4 GiB through every way into the vault and out of it: the memory of the daemon stays flat.
// CROFT_BENCH_PART=0.1 takes a tenth.

const PART = Number(process.env["CROFT_BENCH_PART"] ?? 1);
const MIB = 1024 ** 2;
const FILE_BYTES = Math.round(4096 * MIB * PART);
const EMAIL = "mira@example.org";
/** Resident memory above that before the transfer. */
const GROWTH_MAX_MIB = 64;

await using home = await makeHome();
await using daemon = await home.serve({
  CROFT_DEFAULT_QUOTA_BYTES: String(64 * 1024 * MIB),
  CROFT_MAX_UPLOAD_BYTES: String(8 * 1024 * MIB),
  CROFT_ACCESS_TOKEN_SECONDS: "86400",
});
const bearer = await registerUser(daemon.url, "mira");
const vault = <T>(path: string, body: object) =>
  call<T>(`${daemon.url}${path}`, "POST", body, bearer);
const { token } = await vault<{ token: string }>("/api/auth/tokens", {
  ...{ name: "bench", scope: "write" },
});
const source = join(home.home, "large.bin");
await writeFile(source, "the beginning of a file with a hole");
await truncate(source, FILE_BYTES);
const hash = await hashOf(source);
const figures: Figure[] = [];
// What a first request loads and compiles is no growth.
await drive("first.bin", "-T", "/etc/hostname", "-o", "/dev/null");
await drive("first.bin", "-o", "/dev/null");

await measure("upload to the drive", () => drive("drive.bin", "-T", source, "-o", "/dev/null"));
await measure("download from the drive", () => drive("drive.bin", "-o", "/dev/null"));
await measure("the same again", () => drive("drive.bin", "-o", "/dev/null"));
await forget("drive.bin");
const box = await vault<{ url: string }>("/api/links", { kind: "upload" });
await measure("upload to a link", () =>
  curl(["-F", `file=@${source};filename=link.bin`, "-o", "/dev/null", pathOf(box.url)]),
);
const link = await vault<{ url: string }>("/api/links", { document_id: await idOf("link.bin") });
await measure("download by a link", () =>
  curl(["-o", "/dev/null", `${pathOf(link.url)}/download`]),
);
await forget("link.bin");
await measurePage();
report(
  `A file of ${FILE_BYTES / MIB} MiB through the vault`,
  "Bytes pass from a socket to a file and back; none of it stays in memory.",
  figures,
);

async function measurePage(): Promise<void> {
  const chromium = findChromium();
  if (chromium === undefined) {
    figures.push({ label: "upload by the page", value: "skipped: Chromium is not installed" });
    return;
  }
  const browser = await launchChromium(chromium);
  try {
    const page = await browser.newPage();
    await openUploadPage(page, daemon.url, EMAIL);
    await measure("upload by the page", async () => {
      await page.setInputFiles("form.upload input[name=file]", source);
      await page.getByText("1 of 1 uploaded").waitFor({ timeout: 3_600_000 });
    });
    const id = await idOf("large.bin");
    const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`);
    await measure("download by the page", () =>
      curl([
        ...["-H", `Cookie: ${cookie.join("; ")}`, "-o", "/dev/null"],
        `${daemon.url}/vault/d/${id}/download`,
      ]),
    );
  } finally {
    await browser.close();
  }
}

async function measure(label: string, transfer: () => Promise<unknown>): Promise<void> {
  const idle = await residentMiB(daemon.pid);
  const before = processorSeconds(daemon.pid);
  const memory = watchMemory(daemon.pid);
  const startedAt = performance.now();
  await transfer();
  const wall = (performance.now() - startedAt) / 1_000;
  const highest = await memory.stop();
  const processor = processorSeconds(daemon.pid) - before;
  figures.push(
    {
      label,
      value: `${wall.toFixed(0)} s, ${processor.toFixed(1)} s of processor time, ${highest.toFixed(0)} MiB`,
    },
    atMost(`${label}: memory above idle`, highest - idle, GROWTH_MAX_MIB, "MiB"),
  );
  console.log(label, wall.toFixed(0), "s", highest.toFixed(0), "MiB");
}

function drive(name: string, ...args: readonly string[]): Promise<number> {
  const url = `${daemon.url}/dav/documents/all/${name}`;
  return curl(["-u", `${EMAIL}:${token}`, ...args, url]);
}

function pathOf(url: string): string {
  return `${daemon.url}${new URL(url).pathname}`;
}

/** Returns the id of a document, whose bytes must be those of the file. */
async function idOf(name: string): Promise<string> {
  const path = `${daemon.url}/api/documents?per_page=100`;
  const { items } = await call<{ items: { id: string; filename: string; sha256: string }[] }>(
    ...([path, "GET", undefined, bearer] as const),
  );
  const found = items.find(({ filename }) => filename === name);
  if (found?.sha256 !== hash) throw new Error(`${name} has other bytes`);
  return found.id;
}

async function forget(name: string): Promise<void> {
  const path = `${daemon.url}/api/documents/${await idOf(name)}?permanent=true`;
  const headers = { Authorization: bearer, "User-Agent": "curl", "Accept-Language": "" };
  const { status } = await fetch(path, { method: "DELETE", headers });
  if (status !== 200) throw new Error(`${path} answered ${status}`);
}

async function hashOf(path: string): Promise<string> {
  const digest = createHash("sha256");
  await pipeline(createReadStream(path), digest);
  return digest.digest("hex");
}
