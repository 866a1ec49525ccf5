import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { croftJson, serveCroft, type CroftCommand } from "../support/croft.ts";
import { countKills, limitOfKills } from "../support/kills.ts";
import {
  type Check,
  checkPulls,
  type Client,
  prepareMixed,
  signIn,
  writers,
} from "./mixed-crash.ts";

const ROUNDS = countKills(10);
const KILL_WITHIN_MS = 150;
const PASSWORD = "Correct-Horse-7-Battery";
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];

test(
  "wikis, releases, pull requests, large files, images, versions, links and WebDAV survive kills together",
  { timeout: limitOfKills(ROUNDS) },
  async () => {
    const home = await mkdtemp(join(tmpdir(), "croft-crash-"));
    const env = { CROFT_RATE_LIMITS: "off", CROFT_LOG_LEVEL: "warn" };
    const serve = () => serveCroft(command, { home, env });
    try {
      const { forge } = await croftJson<{ forge: { token: string } }>(
        command,
        ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
        { home },
        PASSWORD,
      );
      let machineToken: string | undefined;
      let checks: Check[] = [];
      let checked = 0;
      for (let round = 0; round <= ROUNDS; round += 1) {
        await using daemon = await serve();
        machineToken ??= await prepareMixed(
          daemon.url,
          forge.token,
          join(home, "files", "mira", "box"),
        );
        const bearer = await signIn(daemon.url);
        const client: Client = { url: daemon.url, token: forge.token, bearer, machineToken };
        for (const check of checks) await check(client);
        checked += checks.length;
        if (round === ROUNDS) {
          await checkPulls(client);
          expect(await daemon.end("SIGTERM")).toBe(0);
          break;
        }
        checks = [];
        const ends = Object.entries(writers).map(([name, write]) =>
          write(client, `${name}-${round}`, checks),
        );
        const writing = Promise.all(ends);
        // At a random moment after every kind of write has begun; at once when a writer fails.
        let isWriting = true;
        const begun = async () => {
          while (isWriting && checks.length < ends.length) await sleep(1);
        };
        await Promise.race([writing, begun()]).finally(() => (isWriting = false));
        await sleep(Math.random() * KILL_WITHIN_MS);
        await daemon.end("SIGKILL");
        await writing;
      }
      expect(checked).toBeGreaterThanOrEqual(ROUNDS * Object.keys(writers).length);
      expect(await croftJson<unknown>(command, ["daemon", "check"], { home })).toEqual([]);
      expect(await readdir(join(home, "tmp"))).toEqual([]);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  },
);
