import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { createTestCompute } from "../../../../support/forge/compute.ts";
import { createForgeHooks } from "../../../../../daemon/forge/hooks/hooks.feature.ts";
import { createJobQueue, type JobQueue } from "../../../../../daemon/jobs/queue.ts";
import type { Log } from "../../../../../daemon/utilities/logging.ts";
import type {
  GuardedRequest,
  OutboundOutcome,
  OutboundRequest,
} from "../../../../../daemon/outbound/guarded-request.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import type { HookId } from "../../../../../storage/tables/forge/ids.ts";
import { createKeyring } from "../../../../../storage/keys/keyring.ts";
import { listJobs } from "../../../../../storage/tables/common/jobs.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

let db: Database;
let now: number;
let sent: OutboundRequest[];
let answers: OutboundOutcome[];
let queue: JobQueue;
let forge: ReturnType<typeof createForgeHooks>;
const compute = createTestCompute();
afterAll(() => compute.close());

const answered = (status: number, headers: Record<string, string> = {}): OutboundOutcome => ({
  kind: "answered",
  status,
  headers,
  body: Buffer.from(`status ${status}`),
  isCut: false,
});
const quiet = () => undefined;
const log: Log = {
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: quiet,
  fatal: quiet,
  child: () => log,
  isLevelEnabled: () => true,
};

/** Creates the hooks of another daemon on the same database, as a restart does. */
function start(request?: GuardedRequest): void {
  const clock = () => now;
  queue = createJobQueue({ db, clock, random: () => 0, log, owner: randomUUID(), alone: true });
  forge = createForgeHooks({
    db,
    clock,
    random: () => 0,
    newUuid: randomUUID,
    sealer: createKeyring([{ version: 1, bytes: new Uint8Array(32) }], (size) =>
      crypto.getRandomValues(new Uint8Array(size)),
    ),
    enqueue: queue.enqueue,
    urls: { publicUrl: () => "http://croft.example" },
    request:
      request ??
      (async (request) => {
        sent.push(request);
        return answers.shift() ?? answered(204);
      }),
    readPush: async () => undefined,
    compute,
  });
  for (const job of forge.jobs) queue.register(job);
}

beforeEach(async () => {
  now = Date.parse("2026-03-01T12:00:00Z");
  sent = [];
  answers = [];
  db = await openTestDatabase({ clock: () => now });
  start();
});
afterEach(async () => {
  await queue.stop(1_000);
  await db.close();
});

async function addHook(changes: Record<string, unknown> = {}): Promise<HookId> {
  const { hook } = await forge.services.hooks.create(() => "instance", {
    type: "gitea",
    config: { url: "http://receiver.example/", content_type: "json", is_system_webhook: "true" },
    events: ["package"],
    branchFilter: "",
    authorizationHeader: "",
    isActive: true,
    name: "",
    ...changes,
  });
  return hook.id;
}

const happen = (ref?: string) =>
  db.transaction((tx) =>
    forge.services.publisher.publish(tx, {
      event: "package",
      repositoryId: undefined,
      ...(ref === undefined ? {} : { ref }),
      payload: { action: "created", package: { name: "p", version: "1" } },
    }),
  );

const password = { scope: undefined };

async function entryOf(hookId: HookId) {
  const { deliveries } = await forge.services.log.list("instance", hookId, {
    state: "",
    page: 1,
    limit: 10,
  });
  const [first] = deliveries;
  if (first === undefined) throw new Error("no delivery");
  return forge.services.log.get({ home: "instance", hookId, id: first.id }, password);
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

describe("retries", () => {
  test("a failed delivery is retried with backoff, six times in all, under one UUID", async () => {
    const id = await addHook();
    answers = [
      answered(500),
      { kind: "failed", reason: "no answer within 5 s" },
      answered(503),
      answered(429),
      answered(502),
      answered(500),
      answered(204),
    ];
    await happen();
    for (const wait of [10 * SECOND, MINUTE, 10 * MINUTE, HOUR, 3 * HOUR]) {
      await queue.runDue();
      expect(await entryOf(id)).toMatchObject({ state: "waiting", nextAttemptAt: now + wait });
      now += wait - 1;
      expect(await queue.runDue()).toBe(0);
      now += 1;
    }
    await queue.runDue();
    expect(await entryOf(id)).toMatchObject({
      state: "failed",
      attempts: 6,
      nextAttemptAt: undefined,
      error: "the receiver answered 500",
    });
    now += 100 * HOUR;
    expect(await queue.runDue()).toBe(0);
    expect(sent).toHaveLength(6);
    expect(new Set(sent.map(({ headers }) => headers["X-Gitea-Delivery"])).size).toBe(1);
  });

  test("retries of a delivery survive a restart", async () => {
    const id = await addHook();
    answers = [answered(500)];
    await happen();
    await queue.runDue();
    await queue.stop(1_000);
    now += MINUTE;
    start();
    await queue.runDue();
    expect(await entryOf(id)).toMatchObject({ state: "delivered", attempts: 2 });
  });

  test("a delivery honours Retry-After of the receiver", async () => {
    const id = await addHook();
    answers = [answered(429, { "retry-after": "120" }), answered(503, { "retry-after": "999999" })];
    await happen();
    await queue.runDue();
    expect(await entryOf(id)).toMatchObject({ nextAttemptAt: now + 2 * MINUTE });
    now += 2 * MINUTE;
    await queue.runDue();
    expect(await entryOf(id)).toMatchObject({ nextAttemptAt: now + HOUR });
  });

  test.each([400, 401, 404, 410, 302])("the response status %i is not retried", async (status) => {
    const id = await addHook();
    answers = [answered(status)];
    await happen();
    await queue.runDue();
    expect(await entryOf(id)).toMatchObject({
      state: "failed",
      attempts: 1,
      responseStatus: status,
    });
    expect((await listJobs(db, {}, { limit: 10, offset: 0 })).length).toBe(0);
  });

  test.each([301, 302, 303])(
    "a redirect with %i that drops the payload is a failure, not a delivery",
    async (status) => {
      const hookId = await addHook();
      answers = [answered(status, { location: "https://receiver.example/" })];
      await happen();
      await queue.runDue();
      expect(sent[0]?.followsRedirects).toBe("with_body");
      expect(await entryOf(hookId)).toMatchObject({
        state: "failed",
        responseStatus: status,
        error: expect.stringContaining("change the address of the hook"),
      });
    },
  );

  test("a cancelled job leaves no delivery that waits", async () => {
    const hookId = await addHook();
    answers = [answered(500)];
    await happen();
    await queue.runDue();
    const [job] = await listJobs(db, { kind: "forge.hooks.deliver" }, { limit: 1, offset: 0 });
    expect(await queue.cancel(job?.id ?? 0, async () => undefined)).toBe("changed");
    expect(await entryOf(hookId)).toMatchObject({
      state: "failed",
      attempts: 1,
      error: "the delivery was cancelled, or could not be attempted",
    });
  });

  test("an address that is not permitted is not retried", async () => {
    const id = await addHook();
    answers = [{ kind: "refused", reason: "the address is not permitted: why" }];
    await happen();
    await queue.runDue();
    expect(await entryOf(id)).toMatchObject({
      state: "failed",
      error: "the address is not permitted: why",
    });
  });

  test("an attempt interrupted by the stop of the daemon is repeated, and not counted", async () => {
    let reached = (): void => undefined;
    const underWay = new Promise<void>((resolve) => {
      reached = resolve;
    });
    start((request) => {
      reached();
      return new Promise((resolve) => {
        request.signal?.addEventListener("abort", () =>
          resolve({ kind: "failed", reason: "aborted" }),
        );
      });
    });
    const id = await addHook();
    await queue.start();
    await happen();
    await underWay;
    await queue.stop(1_000);
    expect(await entryOf(id)).toMatchObject({ state: "waiting", attempts: 0 });
    start();
    await queue.runDue();
    expect(await entryOf(id)).toMatchObject({ state: "delivered", attempts: 1 });
  });
});

describe("recipients of events", () => {
  test("the recipients of an event are the active hooks that selected it, each once", async () => {
    await addHook();
    await addHook({ isActive: false });
    await addHook({ events: ["push"] });
    await addHook({ config: { url: "http://default.example/", content_type: "json" } });
    await happen();
    await queue.runDue();
    expect(sent.map(({ url }) => url)).toEqual(["http://receiver.example/"]);
  });

  test.each<[string, string, boolean]>([
    ["", "refs/heads/main", true],
    ["*", "refs/tags/v1", true],
    ["main", "refs/heads/main", true],
    ["main", "refs/heads/mainly", false],
    ["release/*", "refs/heads/release/1/2", true],
    ["{main,dev}", "refs/heads/dev", true],
    ["refs/tags/*", "refs/tags/v1", true],
    ["v1", "refs/tags/v1", false],
  ])("a branch filter %j and %s", async (branchFilter, ref, isTold) => {
    await addHook({ branchFilter });
    await happen(ref);
    await queue.runDue();
    expect(sent).toHaveLength(isTold ? 1 : 0);
  });

  test("a transaction that is rolled back publishes no event", async () => {
    await addHook();
    await expect(
      db.transaction(async (tx) => {
        await forge.services.publisher.publish(tx, {
          event: "package",
          repositoryId: undefined,
          payload: {},
        });
        throw new Error("undone");
      }),
    ).rejects.toThrow("undone");
    expect(await queue.runDue()).toBe(0);
  });

  test("a hook that was deactivated in the meantime gets only requested deliveries", async () => {
    const id = await addHook();
    await happen();
    await forge.services.hooks.edit(() => "instance", id, {
      config: {},
      events: ["package"],
      branchFilter: "",
      authorizationHeader: undefined,
      isActive: false,
      name: undefined,
    });
    await queue.runDue();
    const entry = await entryOf(id);
    expect(entry).toMatchObject({ state: "failed", attempts: 0, error: "the hook is not active" });
    await forge.services.log.redeliver(() => "instance", { hookId: id, id: entry.id }, password);
    await queue.runDue();
    expect(sent).toHaveLength(1);
  });

  test("deleting a hook deletes its deliveries", async () => {
    const id = await addHook();
    await happen();
    await forge.services.hooks.remove(() => "instance", id);
    await queue.runDue();
    expect(sent).toEqual([]);
  });

  test("pruning deletes finished deliveries, never waiting ones", async () => {
    const id = await addHook();
    answers = [answered(204), answered(500)];
    await happen();
    await happen();
    await queue.runDue();
    now += HOUR;
    expect(await forge.services.log.prune(now)).toBe(1);
    expect(await entryOf(id)).toMatchObject({ state: "waiting" });
  });

  test("pruning deletes any number of deliveries", async () => {
    const id = await addHook();
    await happen();
    await queue.runDue();
    await db.run(
      `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 500)
       INSERT INTO forge_hook_deliveries (hook_id, uuid, event, payload, is_redelivery, state, attempts, created_at)
       SELECT ${id}, CAST(n AS TEXT), 'push', '{}', 0, 'failed', 1, 0 FROM n`,
    );
    now += HOUR;
    expect(await forge.services.log.prune(now)).toBe(501);
  });

  test("the scheduled task keeps deliveries for a week", async () => {
    const [task] = forge.tasks;
    const prune = () => task?.run();
    const count = async () => (await db.all("SELECT id FROM forge_hook_deliveries")).length;
    await addHook();
    await happen();
    await queue.runDue();
    now += 7 * 24 * HOUR;
    await prune();
    expect(await count()).toBe(1);
    now += 1;
    await prune();
    expect(await count()).toBe(0);
  });
});

describe("an event with many subscribers", () => {
  test("stores its payload once, which each of them receives", async () => {
    const ids: HookId[] = [];
    for (let index = 0; index < 20; index += 1) ids.push(await addHook());
    await happen();
    await happen();
    const rows = await db.all<{ payload: string }>("SELECT payload FROM forge_hook_payloads");
    expect(rows).toHaveLength(2);
    await queue.runDue();
    expect(sent).toHaveLength(40);
    expect(new Set(sent.map(({ body }) => String(body)))).toEqual(new Set([rows[0]?.payload]));
    expect((await entryOf(ids[0] as HookId)).payload).toBe(rows[0]?.payload);
  });

  test("a delivery of an earlier version has its payload in the row, and is delivered again", async () => {
    const id = await addHook();
    await db.run(
      `INSERT INTO forge_hook_deliveries (hook_id, uuid, event, payload, is_redelivery, state, attempts, created_at)
       VALUES (?, 'old', 'package', '{"old":true}', 0, 'failed', 1, 0)`,
      id,
    );
    await db.run(`INSERT INTO forge_hook_totals VALUES (?, 'failed', 1)`, id);
    const old = await entryOf(id);
    expect(old.payload).toBe('{"old":true}');
    await forge.services.log.redeliver(() => "instance", { hookId: id, id: old.id }, password);
    await queue.runDue();
    expect(sent.map(({ body }) => String(body))).toEqual(['{"old":true}']);
  });
});

describe("a deleted hook", () => {
  test("receives nothing more, and its deliveries are deleted by a job", async () => {
    const [id, other] = [await addHook(), await addHook()];
    await db.run(
      `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 500)
       INSERT INTO forge_hook_deliveries (hook_id, uuid, event, payload, is_redelivery, state, attempts, created_at)
       SELECT ${id}, CAST(n AS TEXT), 'push', '{}', 0, 'failed', 1, 0 FROM n`,
    );
    await happen();
    await forge.services.hooks.remove(() => "instance", id);
    await expect(forge.services.hooks.get("instance", id)).rejects.toThrow();
    await happen();
    await queue.runDue();
    // Two of the other hook; what waited for the deleted one is not sent.
    expect(sent).toHaveLength(2);
    expect(await db.all("SELECT DISTINCT hook_id FROM forge_hook_deliveries")).toEqual([
      { hook_id: other },
    ]);
    expect(await db.all("SELECT id FROM forge_hooks")).toEqual([{ id: other }]);
    expect(await db.all("SELECT id FROM forge_hook_payloads")).toHaveLength(2);
  });
});

describe("stored data", () => {
  test("a job whose payload does not fit its schema is dead-lettered at once", async () => {
    await db.transaction((tx) =>
      queue.enqueue(tx, { kind: "forge.hooks.deliver", payload: { deliveryId: "1" } }),
    );
    await queue.runDue();
    const window = { limit: 10, offset: 0 };
    expect(await listJobs(db, { state: "dead" }, window)).toMatchObject([{ attempts: 1 }]);
    expect(sent).toEqual([]);
  });

  test.each([
    ["events", '{"push":true}'],
    ["events", "push"],
    ["slack", '{"channel":1}'],
  ])("a hook whose column %s contains %s is not read as a hook", async (column, text) => {
    const id = await addHook();
    await db.run(`UPDATE forge_hooks SET ${column} = ? WHERE id = ?`, text, id);
    await expect(forge.services.hooks.get("instance", id)).rejects.toThrow();
  });

  test("a delivery whose headers are not a record of texts is not read as a delivery", async () => {
    const id = await addHook();
    await happen();
    await queue.runDue();
    const entry = await entryOf(id);
    await db.run(
      `UPDATE forge_hook_deliveries SET request_headers = '{"A":1}' WHERE id = ?`,
      entry.id,
    );
    await expect(entryOf(id)).rejects.toThrow();
  });
});

describe("the signature of a delivery", () => {
  test("the signature headers are empty without a secret", async () => {
    await addHook();
    await happen();
    await queue.runDue();
    expect(sent[0]?.headers).toMatchObject({
      "X-Gitea-Signature": "",
      "X-Hub-Signature": "sha1=",
      "X-Hub-Signature-256": "sha256=",
    });
  });
});
