import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { createMirrorJobs } from "../../../../../daemon/forge/imports/mirrors.service.ts";
import { createRemotes } from "../../../../../daemon/forge/imports/remotes.ts";
import type { EnqueuedJob } from "../../../../../daemon/jobs/queue.ts";
import type { SessionOptions } from "../../../../../daemon/outbound/git-gateway.ts";
import type { GitRunOptions } from "../../../../../storage/git/git.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { insertMirror } from "../../../../../storage/tables/forge/repositories/mirrors.ts";
import { insertRepository } from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

afterEach(() => vi.useRealTimers());

const HOUR_MS = 3_600_000;
const remote = { url: "https://git.example/mira/notes.git", username: "", password: "" };

/** Remotes whose git runs until it is stopped, over a gateway that the test plays. */
function openTransfer() {
  let opened: SessionOptions | undefined;
  const remotes = createRemotes({
    git: {
      run: (_args: readonly string[], { signal }: GitRunOptions) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    } as never,
    gateway: {
      async open(_remote, options) {
        opened = options;
        const access = { url: "", env: {}, config: {}, failure: () => undefined };
        return { ...access, [Symbol.asyncDispose]: async () => undefined };
      },
    },
    workFolder: "/nowhere",
    bytesMax: 1e12,
  });
  const { signal } = new AbortController();
  let ended: unknown;
  const fetching = remotes.fetch(remote, ["a".repeat(40)], { directory: "/nowhere", signal });
  void fetching.catch((error: unknown) => (ended = error));
  return {
    pass: (bytes: number) => opened?.count?.(bytes),
    hasEnded: () => ended !== undefined,
    reason: () => (ended as Error).message,
  };
}

test("a transfer of a mirror goes on as long as bytes flow, and ends an hour after they stop", async () => {
  vi.useFakeTimers();
  const transfer = openTransfer();
  for (let hour = 1; hour <= 20; hour += 1) {
    await vi.advanceTimersByTimeAsync(HOUR_MS / 2);
    // Half an hour at 32 KiB a second.
    transfer.pass(1800 * 32 * 1024);
  }
  expect(transfer.hasEnded()).toBe(false);
  await vi.advanceTimersByTimeAsync(HOUR_MS - 200_000);
  expect(transfer.hasEnded()).toBe(false);
  await vi.advanceTimersByTimeAsync(400_000);
  expect(transfer.reason()).toBe("it takes too much time");
});

test("a transfer that passes a byte now and then ends after an hour", async () => {
  vi.useFakeTimers();
  const transfer = openTransfer();
  for (let minute = 1; minute <= 65; minute += 1) {
    transfer.pass(1);
    await vi.advanceTimersByTimeAsync(60_000);
  }
  expect(transfer.reason()).toBe("it takes too much time");
});

test("the mirrors of one person in several organizations share the places of one account", async () => {
  const db = await openTestDatabase();
  onTestFinished(() => db.close());
  const queued: EnqueuedJob[] = [];
  const jobs = createMirrorJobs({
    db,
    moves: { complete: async () => undefined },
    enqueue: async (_tx: unknown, job: EnqueuedJob) => queued.push(job),
  } as never);
  const [mira, otto] = await db.transaction(async (tx) => [
    await insertUser(tx, newUserRow("mira")),
    await insertUser(tx, newUserRow("otto")),
  ]);
  await db.transaction(async (tx) => {
    for (const [name, actorId] of [
      ["acme", mira?.id],
      ["bolt", mira?.id],
      ["core", otto?.id],
      // Whose account is deleted: the owner counts.
      ["dune", undefined],
    ] as const) {
      const owner = await insertUser(tx, newUserRow(name, { kind: "organization" }));
      const repository = await insertRepository(tx, newRepositoryRow(owner, "notes"));
      const row = {
        ...{ repositoryId: repository.id, actorId, direction: "pull" as const, name },
        ...{ address: remote.url, intervalSeconds: 0, syncOnCommit: false },
      };
      const mirror = await insertMirror(
        tx,
        { ...row, nextAt: undefined, syncedAt: undefined },
        () => "",
      );
      await jobs.syncSoon(tx, mirror);
      if (actorId === undefined) expect(queued.pop()?.account).toBe(String(owner.id));
    }
  });
  expect(queued.map(({ account }) => account)).toEqual(
    [mira, mira, otto].map((user) => String(user?.id)),
  );
});
