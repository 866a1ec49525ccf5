import { expect, test } from "vitest";
import { createJobQueue } from "../../../../daemon/jobs/queue.ts";
import type { Log } from "../../../../daemon/utilities/logging.ts";
import { createDocumentProcessing } from "../../../../daemon/vault/analysis/document-processing.ts";
import { createItemProcessing } from "../../../../daemon/vault/analysis/item-processing.ts";
import { listJobs } from "../../../../storage/tables/common/jobs.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

const unexpected = () => Promise.reject(new Error("a job with an invalid payload reads nothing"));
const refusing = {
  extractor: { extract: unexpected, close: unexpected },
  topics: { choose: unexpected },
  index: { prepare: unexpected },
};
const ignore = () => undefined;
const log: Log = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  fatal: ignore,
  child: () => log,
  isLevelEnabled: () => true,
};

test.each([
  [
    "documents",
    (db: Awaited<ReturnType<typeof openTestDatabase>>) =>
      createDocumentProcessing({ db, files: {} as never, store: {} as never, ...refusing }),
  ],
  [
    "items",
    (db: Awaited<ReturnType<typeof openTestDatabase>>) =>
      createItemProcessing({ db, bytes: { download: unexpected }, ...refusing }),
  ],
])("a job that analyses %s is dead-lettered when its payload is invalid", async (_what, toKind) => {
  const db = await openTestDatabase();
  const queue = createJobQueue({
    db,
    clock: Date.now,
    random: () => 0,
    log,
    owner: "a",
    alone: true,
  });
  const kind = toKind(db);
  queue.register(kind);
  await db.transaction((tx) => queue.enqueue(tx, { kind: kind.kind, payload: { other: 1 } }));
  expect(await queue.runDue()).toBe(1);
  expect(await listJobs(db, { kind: kind.kind }, { limit: 10, offset: 0 })).toMatchObject([
    { state: "dead", attempts: 1, lastError: expect.stringContaining("does not fit the schema") },
  ]);
  await queue.stop(0);
  await db.close();
});
