import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { skipUnless } from "../../../support/skip.ts";

const script = join(import.meta.dirname, "../../../support/storage/git-without-files.ts");

skipUnless(process.platform !== "win32", "ulimit does not exist")(
  "a git that cannot be started for want of descriptors is an error of its own, and the process lives on",
  async () => {
    const command = ["-c", 'ulimit -n 64 && exec "$0" "$1"', process.execPath, script];
    const { stdout } = await promisify(execFile)("sh", command);
    expect(JSON.parse(stdout)).toEqual(["busy", "done"]);
  },
);
