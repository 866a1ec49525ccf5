import { mkdtemp, readdir, rm } from "node:fs/promises";
import { Agent, request as openRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { croftJson, serveCroft, type CroftCommand } from "../support/croft.ts";
import { createGitClient } from "../support/forge/git-client.ts";
import {
  checkPulls,
  type Check,
  type Client,
  prepareMixed,
  signIn,
  writers,
} from "./mixed-crash.ts";

const PASSWORD = "Correct-Horse-7-Battery";
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];

test("a daemon that is stopped under load cuts off clients that hold it, keeps what it acknowledged and starts clean", async () => {
  const home = await mkdtemp(join(tmpdir(), "croft-stop-"));
  const env = {
    CROFT_RATE_LIMITS: "off",
    CROFT_LOG_LEVEL: "warn",
    // The clients that are held longer are cut off.
    CROFT_SHUTDOWN_SECONDS: "2",
  };
  await using git = await createGitClient();
  try {
    const { forge } = await croftJson<{ forge: { token: string } }>(
      command,
      ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
      { home },
      PASSWORD,
    );
    const checks: Check[] = [];
    let machineToken = "";
    {
      await using daemon = await serveCroft(command, { home, env });
      machineToken = await prepareMixed(
        daemon.url,
        forge.token,
        join(home, "files", "mira", "box"),
      );
      const client: Client = {
        url: daemon.url,
        token: forge.token,
        bearer: await signIn(daemon.url),
        machineToken,
      };
      const headers = { Authorization: `token ${forge.token}` };
      const large = `${daemon.url}/api/packages/keeper/generic/large/1/large.bin`;
      const stored = await fetch(large, {
        method: "PUT",
        headers,
        body: new Uint8Array(30_000_000),
      });
      expect(stored.status).toBe(201);
      const address = daemon.url.replace("//", `//keeper:${forge.token}@`);
      await git.run("clone", "-q", `${address}/keeper/hut.git`, "work");

      // A download whose client reads nothing, an upload that never ends, and a stream of events.
      const agent = new Agent({ keepAlive: false });
      const held = [
        openRequest(large, { headers, agent }),
        openRequest(`${large}.2`, { method: "PUT", headers, agent }),
        openRequest(`${daemon.url}/api/v1/notifications/stream`, { headers, agent }),
      ];
      for (const request of held) request.on("error", () => undefined);
      held[0]?.end();
      held[1]?.write(Buffer.alloc(1_000_000));
      held[2]?.end();

      const ends = Object.entries(writers).map(async ([name, write]) => {
        try {
          await write(client, name, checks);
        } catch (error) {
          // A daemon that stops refuses what arrives meanwhile.
          if (!/: 503 /.test(String(error))) throw error;
        }
      });
      let isOver = false;
      const pushing = (async () => {
        for (let index = 0; !isOver; index += 1) {
          await git.in("work", "commit", "-q", "--allow-empty", "-m", `push ${index}`);
          const branch = `pushed-${index}`;
          const pushed = await git.in("work", "push", "-q", "origin", `HEAD:refs/heads/${branch}`);
          if (pushed.exitCode !== 0) return;
          checks.push(async (now) => {
            const path = `${now.url}/api/v1/repos/keeper/hut/branches/${branch}`;
            expect([branch, (await fetch(path, { headers })).status]).toEqual([branch, 200]);
          });
        }
      })();
      while (checks.length < 2 * ends.length) await sleep(5);
      expect(await daemon.end("SIGTERM")).toBe(0);
      isOver = true;
      await Promise.all([...ends, pushing]);
      for (const request of held) request.destroy();
      expect(daemon.stderr()).not.toMatch(/"level":"(?:error|fatal)"/);
    }
    await using again = await serveCroft(command, { home, env });
    const client: Client = {
      url: again.url,
      token: forge.token,
      bearer: await signIn(again.url),
      machineToken,
    };
    for (const check of checks) await check(client);
    await checkPulls(client);
    expect(again.stderr()).not.toMatch(/"level":"(?:error|fatal)"/);
    expect(await again.end("SIGTERM")).toBe(0);
    expect(await croftJson<unknown>(command, ["daemon", "check"], { home })).toEqual([]);
    expect((await readdir(join(home, "tmp"))).filter((name) => name !== "git-hooks")).toEqual([]);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
