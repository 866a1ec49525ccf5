import { expect, test } from "vitest";
import { createPushJob } from "../../../../../daemon/forge/git/push-jobs.ts";
import { PermanentJobError } from "../../../../../daemon/jobs/job-kind.ts";

const context = { id: 1, attempt: 1, signal: new AbortController().signal };

function createRecordedJob() {
  const published: unknown[] = [];
  const { job } = createPushJob({
    kind: "test.push",
    enqueue: async () => 1,
    select: () => true,
    refsMax: 10,
    publish: async (push, change) => void published.push({ ...push, ...change }),
  });
  return { published, run: (payload: unknown) => job.run(payload, context) };
}

test("a payload of version 0.1.0, which has no time, is still published", async () => {
  const { published, run } = createRecordedJob();
  await run({ repositoryId: 1, pusherId: 2, changes: [{ ref: "refs/heads/main", after: "aa" }] });
  expect(published).toEqual([
    { repositoryId: 1, pusherId: 2, pushedAt: 0, ref: "refs/heads/main", after: "aa" },
  ]);
});

test.each([null, {}, { repositoryId: "1", pusherId: 2, at: 3, changes: [] }])(
  "the payload %j is dead-lettered without a retry",
  async (payload) => {
    const { published, run } = createRecordedJob();
    await expect(run(payload)).rejects.toThrow(PermanentJobError);
    expect(published).toEqual([]);
  },
);
