import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished } from "vitest";
import { skipUnless } from "../support/skip.ts";

const isolate = process.getuid?.() === 0 ? ["-m"] : ["-Urm"];

/** Linux lets a process mount a small file system for itself alone, unless it is forbidden to. */
function canMount(): boolean {
  try {
    execFileSync("unshare", [...isolate, "mount", "-t", "tmpfs", "croft", tmpdir()], {
      stdio: "ignore",
    });
    return true;
  } catch {
    return false;
  }
}

skipUnless(canMount(), "no private file system can be mounted here")(
  "a full disk refuses writes with a typed error, keeps acknowledged rows, and works again once space is free",
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "croft-full-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const script = join(import.meta.dirname, "../support/storage/fill-disk.ts");
    const { stdout } = await promisify(execFile)("unshare", [
      ...isolate,
      "sh",
      "-c",
      'mount -t tmpfs -o size=3m croft "$1" && exec "$2" "$3" "$1"',
      "sh",
      directory,
      process.execPath,
      script,
    ]);
    expect(JSON.parse(stdout)).toEqual({
      codes: ["full"],
      allAcknowledgedStored: true,
      acknowledged: expect.any(Number),
      worksAgain: 3,
      problems: [],
    });
    expect(JSON.parse(stdout).acknowledged).toBeGreaterThan(10);
  },
);
