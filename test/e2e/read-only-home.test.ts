import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { skipUnless } from "../support/skip.ts";

const launcher = join(import.meta.dirname, "../../bin/croft.js");
const NOBODY = 65_534;

/** Runs croft as an unprivileged user: root could write everywhere. */
function croftAsNobody(home: string, ...args: string[]) {
  return spawnSync(process.execPath, [launcher, ...args], {
    uid: NOBODY,
    gid: NOBODY,
    cwd: "/",
    input: "Correct-Horse-7-Battery",
    env: { CROFT_HOME: home, HOME: home, CROFT_KEY_SOURCE: "file", CROFT_CREDENTIAL_STORE: "file" },
    encoding: "utf8",
  });
}

const canSwitch = process.getuid?.() === 0 && croftAsNobody("/nowhere", "--version").status === 0;

skipUnless(canSwitch, "running croft as another user takes root and a readable checkout")(
  "a read-only home is reported in one line with exit code 17 and stays unchanged",
  () => {
    const home = mkdtempSync(join(tmpdir(), "croft-read-only-"));
    chownSync(home, NOBODY, NOBODY);
    chmodSync(home, 0o500);
    try {
      const init = [
        "init",
        "--username",
        "keeper",
        "--email",
        "keeper@example.org",
        "--password-stdin",
      ];
      for (const args of [init, ["serve", "--port", "0"]]) {
        const { status, stdout, stderr } = croftAsNobody(home, ...args, "--json");
        expect([status, stdout]).toEqual([17, ""]);
        const { error } = JSON.parse(stderr.trim().split("\n").at(-1) ?? "");
        expect(error).toMatchObject({ exit_code: 17, message: expect.stringContaining(home) });
        expect(stderr).not.toMatch(/\bat .*:\d+:\d+/);
      }
      expect(readdirSync(home)).toEqual([]);
    } finally {
      rmSync(home, { recursive: true });
    }
  },
);
