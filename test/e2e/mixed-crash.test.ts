import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { croftJson, runCroft, serveCroft, type CroftCommand } from "../support/croft.ts";
import { countKills, limitOfKills } from "../support/kills.ts";
import {
  type Check,
  checkPulls,
  type Client,
  prepareMixed,
  signIn,
  writers,
} from "./mixed-crash.ts";
import { synchronizing, type SyncedFolders } from "./mixed-sync.ts";

const ROUNDS = countKills(10);
const KILL_WITHIN_MS = 150;
const PASSWORD = "Correct-Horse-7-Battery";
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];

test(
  "wikis, releases, pull requests, large files, images, versions, links, WebDAV and synchronizations survive kills together",
  { timeout: limitOfKills(ROUNDS) },
  async () => {
    const home = await mkdtemp(join(tmpdir(), "croft-crash-"));
    const env = { CROFT_RATE_LIMITS: "off", CROFT_LOG_LEVEL: "warn" };
    let port = 0;
    let readLog = () => "";
    const serve = () => serveCroft(command, { home, env, port });
    try {
      const { forge } = await croftJson<{ forge: { token: string } }>(
        command,
        ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
        { home },
        PASSWORD,
      );
      let machineToken: string | undefined;
      const box = join(home, "files", "mira", "box");
      const all = { ...writers, sync: synchronizing(foldersToSync(home, box)) };
      let checks: Check[] = [];
      let checked = 0;
      for (let round = 0; round <= ROUNDS; round += 1) {
        await using daemon = await serve();
        readLog = daemon.stderr;
        // A synchronized pair of folders belongs to one address.
        port = Number(new URL(daemon.url).port);
        machineToken ??= await prepareMixed(daemon.url, forge.token, box);
        const bearer = await signIn(daemon.url);
        const client: Client = { url: daemon.url, token: forge.token, bearer, machineToken };
        for (const check of checks) await check(client);
        checked += checks.length;
        if (round === ROUNDS) {
          await checkPulls(client);
          expect(await daemon.end("SIGTERM")).toBe(0);
          break;
        }
        const acknowledged = Object.entries(all).map(([name, write]) => ({
          name,
          write,
          checks: [] as Check[],
        }));
        const ends = acknowledged.map(({ name, write, checks: own }) =>
          write(client, `${name}-${round}`, own),
        );
        const writing = Promise.all(ends);
        // At a random moment after every kind of write has begun; at once when a writer fails.
        let isWriting = true;
        const begun = async () => {
          while (isWriting && acknowledged.some(({ checks: own }) => own.length === 0))
            await sleep(1);
        };
        await Promise.race([writing, begun()]).finally(() => (isWriting = false));
        await sleep(Math.random() * KILL_WITHIN_MS);
        await daemon.end("SIGKILL");
        await writing;
        checks = acknowledged.flatMap(({ checks: own }) => own);
      }
      expect(checked).toBeGreaterThanOrEqual(ROUNDS * Object.keys(all).length);
      expect(await croftJson<unknown>(command, ["daemon", "check"], { home })).toEqual([]);
      expect(await readdir(join(home, "tmp"))).toEqual([]);
    } catch (error) {
      // The answer of a failed request does not say why.
      throw new Error(`${String(error)}\nThe daemon logged:\n${readLog()}`, { cause: error });
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  },
);

/** A folder beside the daemon's home, and one of the connection, kept equal by the command line. */
function foldersToSync(home: string, box: string): SyncedFolders {
  const here = join(home, "work", "here");
  return {
    here,
    there: join(box, "there"),
    sync: ({ url, machineToken }) =>
      runCroft(command, ["vault", "item", "sync", here, "Box:/there", "--both", "--json"], {
        home,
        env: { CROFT_URL: url, CROFT_VAULT_TOKEN: machineToken },
      }),
  };
}
