import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../daemon.ts";
import { createForgePeople, type ForgePeople } from "./forge-people.ts";
import { createGitClient, type GitClient } from "./git-client.ts";

/** A job as the API shows it. */
export interface ShownJob {
  readonly id: number;
  readonly name: string;
  readonly status: string;
  readonly conclusion?: string;
}

/** Starts a daemon with the user mira and a git client for the tests of a file. Call it at the top of the file. */
export function setUpWorkflows() {
  let daemon: TestDaemon;
  let git: GitClient;
  const people = createForgePeople(() => daemon);
  beforeAll(async () => {
    daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
    git = await createGitClient();
    await people.newUser("mira");
  });
  afterAll(async () => {
    await git[Symbol.asyncDispose]();
    await daemon[Symbol.asyncDispose]();
  });
  return {
    people,
    workflows: createWorkflowPushes(
      () => daemon,
      people,
      () => git,
    ),
    get daemon() {
      return daemon;
    },
    get git() {
      return git;
    },
  };
}

/** Pushes workflows to repositories of one user and reads the resulting runs. */
function createWorkflowPushes(
  daemon: () => Pick<TestDaemon, "url">,
  people: ForgePeople,
  git: () => GitClient,
  owner = "mira",
) {
  const get = async (path: string) => (await people.api("GET", path)).json;
  const jobsOf = async (name: string, run: number): Promise<readonly ShownJob[]> =>
    (await get(`/repos/${owner}/${name}/actions/runs/${run}/jobs?limit=50`)).jobs;

  return {
    jobsOf,
    /** Creates the repository, pushes the files and waits for the run. Returns its id. */
    async push(name: string, files: Readonly<Record<string, string>>): Promise<number> {
      await people.api("POST", `/admin/users/${owner}/repos`, { name, private: false });
      await git().run("init", "-q", "-b", "main", name);
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(git().folder, name, path)), { recursive: true });
        await writeFile(join(git().folder, name, path), text);
      }
      await git().in(name, "add", ".");
      await git().in(name, "commit", "-q", "-m", "first");
      const origin = daemon().url.replace("://", `://${owner}:${people.tokenOf(owner)}@`);
      const pushed = await git().in(name, "push", "-q", `${origin}/${owner}/${name}.git`, "main");
      expect(pushed).toMatchObject({ exitCode: 0 });
      return vi.waitUntil(
        async () => (await get(`/repos/${owner}/${name}/actions/runs`)).workflow_runs[0]?.id,
        { timeout: 60_000 },
      );
    },
    /** Waits for the end of a run. Returns the conclusions of its jobs by name. */
    async ended(name: string, run: number): Promise<Record<string, string | undefined>> {
      await vi.waitUntil(
        async () =>
          (await get(`/repos/${owner}/${name}/actions/runs/${run}`)).status === "completed",
        { timeout: 60_000, interval: 100 },
      );
      const jobs = await jobsOf(name, run);
      return Object.fromEntries(jobs.map((job) => [job.name, job.conclusion]));
    },
    /** Returns the rows of a job's log, without their times. */
    async logOf(name: string, run: number, job: string): Promise<readonly string[]> {
      const found = (await jobsOf(name, run)).find((each) => each.name === job);
      const { text } = await people.api(
        "GET",
        `/repos/${owner}/${name}/actions/jobs/${found?.id}/logs`,
      );
      return text.split("\n").map((line) => line.slice(line.indexOf(" ") + 1));
    },
    cancel: (name: string, run: number) =>
      people.api("POST", `/repos/${owner}/${name}/actions/runs/${run}/cancel`),
  };
}
