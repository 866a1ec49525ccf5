import { insertJob, listJobs } from "../storage/tables/forge/actions/jobs.ts";
import { insertRun, listRuns } from "../storage/tables/forge/actions/runs.ts";
import { insertRepository } from "../storage/tables/forge/repositories/repositories.ts";
import { startForgeApp } from "../test/support/forge/forge-app.ts";
import { newRepositoryRow } from "../test/support/forge/forge-rows.ts";
import { atMost, median, report } from "./measure.ts";
import { toRunId } from "../storage/tables/forge/ids.ts";

// Lists of 10,000 jobs against those of 1,000, in memory: costs that grow with their number show at once.

const SMALL = 1_000;
const LARGE = 10_000;
const JOBS_OF_RUN = 10;
const ROUNDS = 41;

const small = await open(SMALL);
const large = await open(LARGE);

const figures = [];
for (const [label, list] of [
  ["the first page of a repository", first],
  ["a page from the middle", middle],
  ["the queued ones", queued],
  ["the failed ones of all repositories", failed],
  ["the runs of one branch", runs],
] as const) {
  const [before, after] = [await time(small, list), await time(large, list)];
  figures.push(atMost(`${label}, times the small number`, after / before, 3, ""));
  figures.push({ label: `${label}, of ${LARGE}`, value: `${after.toFixed(2)} ms` });
}
report(
  `Jobs, ${LARGE} against ${SMALL}, median of ${ROUNDS} rounds`,
  "Ten times the jobs may cost three times, for deeper indexes.",
  figures,
);
await small.app[Symbol.asyncDispose]();
await large.app[Symbol.asyncDispose]();

type Opened = Awaited<ReturnType<typeof open>>;

function first({ app: { db }, repositoryId }: Opened) {
  return listJobs(db, { repositoryId }, { limit: 50, offset: 0, isDescending: false });
}
function middle({ app: { db }, repositoryId, jobs }: Opened) {
  return listJobs(db, { repositoryId }, { limit: 50, offset: jobs / 2, isDescending: false });
}
function queued({ app: { db }, repositoryId }: Opened) {
  const filter = { repositoryId, statuses: ["waiting" as const] };
  return listJobs(db, filter, { limit: 50, offset: 0, isDescending: false });
}
function failed({ app: { db } }: Opened) {
  return listJobs(db, { statuses: ["failure"] }, { limit: 50, offset: 0, isDescending: true });
}
function runs({ app: { db }, repositoryId }: Opened) {
  return listRuns(db, { repositoryId, ref: "refs/heads/b1" }, { limit: 50, offset: 0 });
}

/** Opens a repository with this number of jobs; the number of waiting and failed ones is constant. */
async function open(jobs: number) {
  const app = await startForgeApp();
  const { id } = await app.addUser({ username: "mira" });
  const repositoryId = await app.db.transaction(async (tx) => {
    const repository = await insertRepository(tx, newRepositoryRow({ id, name: "mira" }, "cabin"));
    for (let made = 0; made < jobs; made += JOBS_OF_RUN) {
      const run = await insertRun(tx, {
        repositoryId: repository.id,
        actorId: id,
        event: "push",
        workflowFile: "ci.yml",
        workflowFolder: ".gitea/workflows",
        title: "change",
        ref: `refs/heads/b${(made / JOBS_OF_RUN) % 100}`,
        headSha: "a".repeat(40),
        eventPayload: "{}",
        definition: undefined,
        status: "success",
        error: "",
        concurrencyGroup: "",
        isHeld: false,
        triggerKey: String(made),
      });
      for (let index = made; index < made + JOBS_OF_RUN; index += 1)
        await insertJob(tx, {
          runId: run?.id ?? toRunId(0),
          repositoryId: repository.id,
          attempt: 1,
          parentJobId: undefined,
          key: "a",
          name: "a",
          status: index < 50 ? "waiting" : index < 100 ? "failure" : "success",
          isExpanded: true,
          labels: ["host"],
          payload: "on: push\njobs: { a: { runs-on: host, steps: [{ run: make }] } }\n",
          failFast: true,
          maxParallel: 0,
          timeoutMinutes: 0,
          continueOnError: false,
        });
    }
    return repository.id;
  });
  return { app, repositoryId, jobs };
}

async function time(opened: Opened, list: (opened: Opened) => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    await list(opened);
    times.push(performance.now() - start);
  }
  return median(times);
}
