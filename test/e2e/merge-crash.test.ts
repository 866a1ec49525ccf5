import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { croftJson, serveCroft, type CroftCommand } from "../support/croft.ts";
import { countKills, limitOfKills } from "../support/kills.ts";

const ROUNDS = countKills(4);
const KILL_WITHIN_MS = 150;
const limits = { timeout: limitOfKills(ROUNDS) };
const PASSWORD = "Correct-Horse-7-Battery";
const STYLES = ["merge", "squash", "rebase", "rebase-merge"] as const;
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];

test(
  "a kill during a merge leaves the pull request open or merged, as git and the rows say",
  limits,
  async () => {
    const home = await mkdtemp(join(tmpdir(), "croft-merge-crash-"));
    try {
      const { forge } = await croftJson<{ forge: { token: string } }>(
        command,
        ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
        { home },
        PASSWORD,
      );
      const merged = new Set<number>();
      for (let round = 0; round < ROUNDS; round += 1) {
        await using daemon = await serve(home);
        const api = createApi(daemon.url, forge.token);
        if (round === 0) await prepare(api);
        await expectAgreement(api, merged);
        const branch = `b${round}`;
        await addFile(api, branch);
        const made = { head: branch, base: "main", title: `Merge ${branch}` };
        const { number } = (await api("POST", "/repos/keeper/notes/pulls", made)).json;
        await expect
          .poll(
            async () => (await api("GET", `/repos/keeper/notes/pulls/${number}`)).json.mergeable,
          )
          .toBe(true);
        const base = readBase(home);
        const body = { do: STYLES[round % STYLES.length] };
        const merging = api("POST", `/repos/keeper/notes/pulls/${number}/merge`, body).then(
          ({ status }) => status === 200 && merged.add(number),
          // The connection was cut: the merge may or may not have taken effect.
          () => undefined,
        );
        if (round % 2 === 0) await sleep(Math.random() * KILL_WITHIN_MS);
        // The narrowest moment: git has moved the base, and the row is not marked yet.
        else await Promise.race([merging, untilMoved(home, base)]);
        await daemon.end("SIGKILL");
        await merging;
      }
      await using daemon = await serve(home);
      const api = createApi(daemon.url, forge.token);
      await expectAgreement(api, merged);
      // What stayed open is merged once, and nothing else.
      for (const { number } of (await api("GET", "/repos/keeper/notes/pulls?state=open")).json) {
        await expect
          .poll(
            async () => (await api("GET", `/repos/keeper/notes/pulls/${number}`)).json.mergeable,
          )
          .toBe(true);
        const again = await api("POST", `/repos/keeper/notes/pulls/${number}/merge`, {
          do: "merge",
        });
        expect(again.status).toBe(200);
        merged.add(number);
      }
      await expectAgreement(api, merged);
      expect(await daemon.end("SIGTERM")).toBe(0);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  },
);

const serve = (home: string) =>
  serveCroft(command, { home, env: { CROFT_RATE_LIMITS: "off", CROFT_LOG_LEVEL: "warn" } });

const readBase = (home: string) =>
  readFileSync(join(home, "repositories/keeper/notes.git/refs/heads/main"), "utf8");

async function untilMoved(home: string, base: string): Promise<void> {
  while (readBase(home) === base) await setImmediate();
}

type Api = ReturnType<typeof createApi>;

function createApi(url: string, token: string) {
  return async (method: string, path: string, json?: unknown) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { Authorization: `token ${token}`, "Content-Type": "application/json" },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    return { status: response.status, json: text === "" ? undefined : JSON.parse(text) };
  };
}

async function prepare(api: Api): Promise<void> {
  await api("POST", "/user/repos", { name: "notes", auto_init: true });
}

async function addFile(api: Api, branch: string): Promise<void> {
  const body = { content: Buffer.from(branch).toString("base64"), new_branch: branch };
  expect((await api("POST", `/repos/keeper/notes/contents/${branch}.txt`, body)).status).toBe(201);
}

/** Waits until the recovery is over: the base has the file of a pull request if and only if that is merged. */
async function expectAgreement(api: Api, merged: ReadonlySet<number>): Promise<void> {
  await expect
    .poll(() => findDisagreements(api, merged), { timeout: 60_000, interval: 50 })
    .toEqual([]);
}

async function findDisagreements(api: Api, confirmed: ReadonlySet<number>): Promise<string[]> {
  const files = (await api("GET", "/repos/keeper/notes/contents?ref=main")).json as {
    name: string;
  }[];
  const names = new Set(files.map(({ name }) => name));
  const wrong: string[] = [];
  for (let page = 1; ; page += 1) {
    const path = `/repos/keeper/notes/pulls?state=all&limit=50&page=${page}`;
    const list = (await api("GET", path)).json as {
      number: number;
      merged: boolean;
      state: string;
      merge_commit_sha: string | null;
      head: { label: string };
    }[];
    for (const { number, merged, state, head, merge_commit_sha: commit } of list) {
      const isThere = names.has(`${head.label}.txt`);
      const isClosed = state === "closed";
      const hasCommit = commit !== null;
      if (isThere !== merged || isClosed !== merged || hasCommit !== merged)
        wrong.push(`#${number}: git ${isThere}, merged ${merged}, ${state}`);
      if (confirmed.has(number) && !merged) wrong.push(`#${number}: confirmed, and not merged`);
      const { status } = await api("GET", `/repos/keeper/notes/pulls/${number}/merge`);
      if ((status === 204) !== merged) wrong.push(`#${number}: ${status}`);
    }
    if (list.length < 50) return wrong;
  }
}
