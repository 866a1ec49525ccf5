import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, vi } from "vitest";
import type { TestDaemon } from "../daemon.ts";
import type { ForgePeople } from "./forge-people.ts";
import type { GitClient } from "./git-client.ts";
import { callRunner, fetchTask, registerRunner } from "./runner-client.ts";

/** A run as its route shows it. */
export interface TestRun {
  readonly id: number;
  readonly status: string;
  readonly conclusion?: string;
  readonly [key: string]: unknown;
}

/** A job as its route shows it. */
export interface TestJob {
  readonly id: number;
  readonly name: string;
  readonly status: string;
  readonly conclusion?: string;
  readonly run_attempt: number;
}

/** A repository of a person of the forge, whose workflows a test pushes and whose jobs it runs by hand. */
export type WorkflowRepository = ReturnType<typeof createWorkflowRepository>;

/**
 * @param name also the label of the jobs that `work` takes
 * @param runnerName the name of the runner that takes them
 */
export function createWorkflowRepository(
  { daemon, people, git }: { daemon: TestDaemon; people: ForgePeople; git: GitClient },
  owner: string,
  name: string,
  runnerName = name,
) {
  const api = `/repos/${owner}/${name}/actions`;
  const get = async (path: string) => (await people.api("GET", `${api}${path}`)).json;
  const runs = async (): Promise<TestRun[]> => (await get("/runs")).workflow_runs;
  const jobs = async (run: number, attempt?: number): Promise<TestJob[]> =>
    (await get(`/runs/${run}${attempt === undefined ? "" : `/attempts/${attempt}`}/jobs`)).jobs;
  let runner: Awaited<ReturnType<typeof registerRunner>> | undefined;

  /** Takes the next job and reports its end, with a line of log. Returns the name of the job. */
  const work = async (result: string, outputs: Record<string, string> = {}) => {
    runner ??= await register();
    const { task } = await fetchTask(daemon, runner);
    if (task === undefined) return undefined;
    const rows = [{ time: "2026-01-01T00:00:00Z", content: `log of task ${task.id}` }];
    const log = { taskId: String(task.id), index: 0, rows, noMore: true };
    await callRunner(daemon, "UpdateLog", log, runner);
    const state = { id: String(task.id), result: `RESULT_${result}` };
    await callRunner(daemon, "UpdateTask", { state, outputs }, runner);
    return (task.context as { job: string }).job;
  };

  async function register() {
    const { json } = await people.api("POST", "/admin/actions/runners/registration-token");
    return registerRunner(daemon, json.token, { name: runnerName, labels: [name] });
  }

  return {
    api,
    get,
    runs,
    jobs,
    work,
    /** Takes the next job without an end. */
    async take() {
      runner ??= await register();
      return { runner, task: (await fetchTask(daemon, runner)).task };
    },
    statesOf: async (run: number, attempt?: number) =>
      Object.fromEntries(
        (await jobs(run, attempt)).map((job) => [job.name, job.conclusion ?? job.status]),
      ),
    async create(): Promise<void> {
      await people.api("POST", `/admin/users/${owner}/repos`, { name });
      await git.run("init", "-q", "-b", "main", name);
      const origin = daemon.url.replace("://", `://${owner}:${people.tokenOf(owner)}@`);
      await git.in(name, "remote", "add", "origin", `${origin}/${owner}/${name}.git`);
    },
    /** Commits workflow files and pushes them to `main`. */
    async push(files: Readonly<Record<string, string>>, message = "change"): Promise<void> {
      for (const [file, text] of Object.entries(files)) {
        const path = join(git.folder, name, ".gitea/workflows", file);
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, text);
      }
      await git.in(name, "add", ".");
      await git.in(name, "commit", "-q", "--allow-empty", "-m", message);
      expect(await git.in(name, "push", "-q", "origin", "main")).toMatchObject({ exitCode: 0 });
    },
    /** Waits until `count` runs exist. Returns the newest. */
    async waitForRuns(count: number): Promise<TestRun> {
      const seen = await vi.waitUntil(
        async () => {
          const all = await runs();
          return all.length >= count && all;
        },
        { timeout: 60_000 },
      );
      if (seen[0] === undefined) throw new Error("no run");
      return seen[0];
    },
  };
}
