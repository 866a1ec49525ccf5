import type { ChildProcess } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { expect, test } from "vitest";
import {
  croftJson,
  type CroftCommand,
  type ServedCroft,
  serveCroft,
  startCroft,
} from "../support/croft.ts";
import { createGitClient, type GitClient } from "../support/forge/git-client.ts";
import { countKills, limitOfKills } from "../support/kills.ts";

/** Kills of the daemon or the runner. */
const KILLS = countKills(4);
const JOBS = 20;
const ROWS = 30;
const KILL_WITHIN_MS = 2_500;
const PASSWORD = "Correct-Horse-7-Battery";
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];

const workflow = `on: push
jobs:
  t:
    runs-on: host
    strategy: { fail-fast: false, matrix: { n: [${Array.from({ length: JOBS }, (_, n) => n).join(", ")}] } }
    steps:
      - run: i=0; while [ $i -lt ${ROWS} ]; do echo "row $i"; i=$((i+1)); sleep 0.1; done
        shell: sh
`;

test(
  "jobs end once and keep every row of their logs when daemon and runner are killed",
  { timeout: limitOfKills(KILLS) },
  async () => {
    const home = await mkdtemp(join(tmpdir(), "croft-runner-crash-"));
    await using git = await createGitClient();
    const around = { home, env: { CROFT_RATE_LIMITS: "off", CROFT_LOG_LEVEL: "warn" } };
    let daemon: ServedCroft | undefined;
    let runner: ChildProcess | undefined;
    let said = "";
    const serve = async () => {
      daemon = await serveCroft(command, around);
    };
    const run = () => {
      runner = startCroft(command, ["runner", "run", "--capacity", String(JOBS)], around);
      runner.stdout?.resume();
      said = "";
      runner.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
      runner.stdin?.end();
    };
    try {
      const { forge } = await croftJson<{ forge: { token: string } }>(
        command,
        ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
        { home },
        PASSWORD,
      );
      await serve();
      await croftJson(command, ["runner", "register", "--labels", "host:host"], around);
      run();
      const api = async (path: string, body?: object) => {
        const answer = await fetch(`${daemon?.url}/api/v1${path}`, {
          headers: {
            Authorization: `token ${forge.token}`,
            "Content-Type": "application/json",
            // The daemon closes idle connections. A busy machine sends the next request on one that is closed already.
            Connection: "close",
          },
          ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
        });
        return answer.text();
      };
      await api("/user/repos", { name: "crash" });
      await makeRepository(git);
      const seen = new Map<number, string>();
      let pushes = 0;
      for (let kill = 0; kill < KILLS; kill += 1) {
        if (await areCompleted(api, pushes)) {
          await push(git, daemon?.url ?? "", forge.token, kill);
          pushes += 1;
        }
        await sleep(Math.random() * KILL_WITHIN_MS);
        await readLogs(api, seen);
        if (kill % 2 === 0) {
          await daemon?.end("SIGKILL");
          await serve();
        } else {
          // A killed daemon must not end its runner.
          expect(runner?.exitCode, said).toBeNull();
          const ended = new Promise((resolve) => runner?.once("exit", resolve));
          runner?.kill("SIGKILL");
          await ended;
          run();
        }
      }
      expect(runner?.exitCode, said).toBeNull();
      await expect
        .poll(() => areCompleted(api, pushes), { timeout: 120_000, interval: 500 })
        .toBe(true);

      const before = new Map(seen);
      await readLogs(api, seen, true);
      for (const [job, text] of seen) {
        expect(text.startsWith(before.get(job) ?? "")).toBe(true);
        const rows = [...text.matchAll(/ row (\d+)$/gm)].map(([, row]) => Number(row));
        // The rows of a job whose runner was killed end early, without gaps or duplicates.
        expect(rows).toEqual(Array.from({ length: rows.length }, (_, row) => row));
      }
      const { jobs, tasks, ends } = readTables(join(home, "croft.db"));
      expect(jobs.length).toBeGreaterThanOrEqual(JOBS);
      expect(jobs.filter(({ status }) => status !== "success" && status !== "failure")).toEqual([]);
      expect(tasks).toEqual(jobs.map(({ id }) => ({ job_id: id, count: 1 })));
      expect(ends.filter(({ count }) => count !== 1)).toEqual([]);
      for (const { id, status } of jobs)
        if (status === "success") expect(seen.get(id)).toContain(` row ${ROWS - 1}\n`);
      const stopped = new Promise((resolve) => runner?.once("exit", resolve));
      runner?.kill("SIGTERM");
      expect(await stopped).toBe(0);
    } finally {
      runner?.kill("SIGKILL");
      await daemon?.[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    }
  },
);

type Api = (path: string, body?: object) => Promise<string>;

async function makeRepository(git: GitClient): Promise<void> {
  await git.run("init", "-q", "-b", "main", "work");
  await mkdir(join(git.folder, "work/.gitea/workflows"), { recursive: true });
  await writeFile(join(git.folder, "work/.gitea/workflows/ci.yml"), workflow);
  await git.in("work", "add", ".");
}

async function push(git: GitClient, url: string, token: string, kill: number): Promise<void> {
  await git.in("work", "commit", "-q", "--allow-empty", "-m", `push ${kill}`);
  const origin = `${url.replace("://", `://keeper:${token}@`)}/keeper/crash.git`;
  expect(await git.in("work", "push", "-q", origin, "main")).toMatchObject({ exitCode: 0 });
}

interface ListedJob {
  readonly id: number;
  readonly status: string;
}

async function listJobs(api: Api, query: string): Promise<readonly ListedJob[]> {
  const jobs: ListedJob[] = [];
  for (let page = 1; ; page += 1) {
    const text = await api(`/repos/keeper/crash/actions/jobs?limit=50&page=${page}${query}`);
    const found = (JSON.parse(text) as { jobs: ListedJob[] }).jobs;
    jobs.push(...found);
    if (found.length < 50) return jobs;
  }
}

/** Whether each of the pushes has its run, and all of them are completed. A push is answered before its run exists. */
async function areCompleted(api: Api, pushes: number): Promise<boolean> {
  const count = async (query: string) => {
    const text = await api(`/repos/keeper/crash/actions/runs?limit=1${query}`);
    return (JSON.parse(text) as { total_count: number }).total_count;
  };
  return (await count("")) === pushes && (await count("&status=completed")) === pushes;
}

/** Reads the rows that the daemon has acknowledged until now. */
async function readLogs(api: Api, seen: Map<number, string>, all = false): Promise<void> {
  for (const { id } of await listJobs(api, all ? "" : "&status=in_progress"))
    seen.set(id, await api(`/repos/keeper/crash/actions/jobs/${id}/logs`));
}

/** How the jobs have ended, how many runners had each, and how often the end of each was reported on its commit. */
function readTables(path: string) {
  const db = new Sqlite(path, { readonly: true });
  try {
    const all = <T>(sql: string) => db.prepare(sql).all() as T[];
    return {
      jobs: all<{ id: number; status: string }>(
        "SELECT id, status FROM forge_action_jobs ORDER BY id",
      ),
      tasks: all<{ job_id: number; count: number }>(
        "SELECT job_id, count(*) AS count FROM forge_action_tasks GROUP BY job_id ORDER BY job_id",
      ),
      ends: all<{ count: number }>(
        `SELECT repository_id, commit_id, context, count(*) AS count FROM forge_commit_statuses
         WHERE state IN (1, 2, 3) GROUP BY repository_id, commit_id, context`,
      ),
    };
  } finally {
    db.close();
  }
}
