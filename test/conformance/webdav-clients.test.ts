import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect } from "vitest";
import { skipUnless } from "../support/skip.ts";
import { type DavAccount, startDavAccount } from "../support/vault/dav-account.ts";

// Clients of others against the WebDAV server: the test suite litmus, and rclone.
const run = promisify(execFile);
const isInstalled = (program: string) =>
  (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));

const hasLitmus = isInstalled("litmus");
const hasRclone = isInstalled("rclone");
let account: DavAccount;
let home: string;
beforeAll(async () => {
  if (!hasLitmus && !hasRclone) return;
  account = await startDavAccount();
  home = await mkdtemp(join(tmpdir(), "croft-dav-clients-"));
});
afterAll(async () => {
  await account?.stop();
  if (home !== undefined) await rm(home, { recursive: true, force: true });
});

async function litmus(folder: string, suite: string): Promise<string> {
  const { daemon, person, token } = account;
  const url = `${daemon.url}/dav/${folder}/`;
  const { stdout } = await run("litmus", ["-k", url, person.email, token], {
    cwd: home,
    env: { ...process.env, TESTS: suite },
    encoding: "latin1",
  }).catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? String(error) }));
  return stdout;
}

const withLitmus = skipUnless(hasLitmus, "litmus is not installed");

for (const suite of ["basic", "copymove", "props", "locks", "http"])
  withLitmus(`litmus ${suite} passes in a connected folder`, async () => {
    const output = await litmus("Files", suite);
    expect(output).toMatch(/ 0 failed\. 100\.0%/);
    expect(output).not.toContain("WARNING");
  });

for (const suite of ["props", "http"])
  withLitmus(`litmus ${suite} passes with documents`, async () => {
    expect(await litmus("documents/topics", suite)).toMatch(/ 0 failed\. 100\.0%/);
  });

/** Folders in folders, which documents do not have. */
const nested =
  /^(?:delete_fragment|mkcol|prep_collection|lock_collection|owner_modify|indirect_refresh)$/;

for (const suite of ["basic", "locks"])
  withLitmus(`litmus ${suite} passes with documents, except for folders in folders`, async () => {
    const output = await litmus("documents/topics", suite);
    const failed = [...output.matchAll(/ (\w+)\.+ FAIL/g)].map(([, name = ""]) => name);
    expect(failed.filter((name) => !nested.test(name))).toEqual([]);
  });

skipUnless(hasRclone, "rclone is not installed")(
  "rclone copies, checks and moves files",
  async () => {
    const { daemon, person, token, folder } = account;
    const source = join(home, "source");
    await mkdir(join(source, "f\u00fcr 100%; #1"), { recursive: true });
    for (let at = 0; at < 200; at += 1) {
      const name = at % 10 === 0 ? `f\u00fcr 100%; #1/\u4e66 ${at} 'a'&b+c.txt` : `file-${at}.bin`;
      await writeFile(join(source, name), Buffer.alloc(at * 97, at));
    }
    const obscured = (await run("rclone", ["obscure", token])).stdout.trim();
    const config = join(home, "rclone.conf");
    await writeFile(
      config,
      `[c]\ntype = webdav\nurl = ${daemon.url}/dav\nvendor = other\nuser = ${person.email}\npass = ${obscured}\n`,
    );
    const rclone = (...args: readonly string[]) =>
      run("rclone", ["--config", config, "--transfers", "8", "--retries", "1", ...args]);

    await rclone("copy", source, "c:Files/rclone");
    await rclone("check", "--download", source, "c:Files/rclone");
    await rclone("move", "c:Files/rclone", "c:Files/moved");
    expect(await readdir(folder)).not.toContain("rclone");
    const copied = await readFile(join(folder, "moved", "file-199.bin"));
    expect(copied).toEqual(Buffer.alloc(199 * 97, 199));
    await rclone("copy", "c:Files/moved", join(home, "back"));
    await rclone("check", source, join(home, "back"));
    // Files of one folder become documents.
    await rclone("copy", "--max-depth", "1", source, "c:documents/topics/Papers");
    await rclone("check", "--download", "--max-depth", "1", source, "c:documents/topics/Papers");
  },
  120_000,
);
