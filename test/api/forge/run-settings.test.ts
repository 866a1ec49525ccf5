import { expect, test, vi } from "vitest";
import { setUpWorkflows } from "../../support/forge/workflow-pushes.ts";

const { people, workflows } = setUpWorkflows();

interface ShownRun {
  readonly display_title: string;
  readonly status: string;
  readonly error?: string;
}

/** Pushes a workflow under two file names. Returns both runs, the older one first. */
async function pushTwice(name: string, settings: string): Promise<readonly ShownRun[]> {
  const file = `on: push\n${settings}\njobs: { a: { runs-on: none, steps: [{ run: 'true' }] } }\n`;
  await workflows.push(name, { ".gitea/workflows/a.yml": file, ".gitea/workflows/b.yml": file });
  return vi.waitUntil(
    async () => {
      const { json } = await people.api("GET", `/repos/mira/${name}/actions/runs`);
      return json.workflow_runs.length === 2 && json.workflow_runs.toReversed();
    },
    { timeout: 60_000 },
  );
}

test("the name of a run may contain its number, and is one line", async () => {
  const runs = await pushTwice(
    "named",
    'run-name: "Run ${{ github.run_number }}\\n of ${{ github.actor }} "',
  );
  expect(runs.map((run) => run.display_title)).toEqual(["Run 1 of mira", "Run 2 of mira"]);
});

test("a concurrency group with the id of the run contains only that run", async () => {
  const runs = await pushTwice(
    "apart",
    "concurrency: { group: 'g-${{ github.head_ref || github.run_id }}', cancel-in-progress: true }",
  );
  expect(runs.map((run) => run.status)).toEqual(["queued", "queued"]);
});

test("a setting that cannot be evaluated creates a failed run with the reason and without jobs", async () => {
  const [run] = await pushTwice("broken", "concurrency: { group: \"${{ fromJSON('x') }}\" }");
  expect(run).toMatchObject({ status: "completed", conclusion: "failure" });
  const { json } = await people.api("GET", "/repos/mira/broken/actions/runs?status=failure");
  expect(json.total_count).toBe(2);
  expect(await workflows.jobsOf("broken", json.workflow_runs[0].id)).toEqual([]);
  expect(run?.error).toBe("a.yml: fromJSON: the text is not JSON");
});
