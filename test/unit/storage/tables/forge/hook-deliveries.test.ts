import type { DeliveryId, HookId } from "../../../../../storage/tables/forge/ids.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../../../../storage/engine/database.ts";
import {
  deleteDeliveriesBefore,
  type DeliveryState,
  findDelivery,
  insertDelivery,
  insertPayload,
  listDeliveries,
  recordAttempt,
} from "../../../../../storage/tables/forge/hooks/deliveries.ts";
import {
  deleteHook,
  deleteSomeOfDeletedHooks,
  findHook,
  insertHook,
} from "../../../../../storage/tables/forge/hooks/hooks.ts";
import { listJobs } from "../../../../../storage/tables/common/jobs.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const COUNT = 23;
const states = ["waiting", "delivered", "failed"] as const;

describe.each(["sqlite", "postgres"] as const)("deliveries on %s", (engine) => {
  let db: Database;
  let hookId: HookId;
  let now = 0;
  const made: { id: DeliveryId; state: DeliveryState; at: number }[] = [];

  beforeAll(async () => {
    db = await openTestDatabase({ engine, clock: () => now });
    const hook = {
      scope: "system",
      repositoryId: undefined,
      ownerId: undefined,
      kind: "gitea",
      name: "",
      contentType: "json",
      events: [],
      branchFilter: "",
      slack: undefined,
      isActive: true,
    } as const;
    for (let index = 0; index < 2; index += 1)
      hookId = (await db.transaction((tx) => insertHook(tx, hook, () => ""))).id;
    for (let index = 0; index < COUNT; index += 1) {
      now = index;
      const state = states[index % 3] ?? "waiting";
      const id = await db.transaction(async (tx) => {
        const payloadId = await insertPayload(tx, `{"number":${index}}`);
        const delivery = { uuid: `u${index}`, event: "push", payloadId, isRedelivery: false };
        await insertDelivery(tx, { ...delivery, hookId: 1 as HookId, uuid: `other${index}` });
        return insertDelivery(tx, { ...delivery, hookId });
      });
      // A first try that is to be repeated, then how it ended.
      for (const each of ["waiting", state] as const) await end(id, each);
      made.push({ id, state, at: index });
    }
  });
  afterAll(() => db.close());

  const end = (id: DeliveryId, state: DeliveryState) =>
    db.transaction((tx) =>
      recordAttempt(tx, id, {
        state,
        attempts: 1,
        attemptedAt: tx.now,
        nextAttemptAt: undefined,
        durationMs: 1,
        requestHeaders: undefined,
        responseStatus: undefined,
        responseHeaders: undefined,
        responseBody: undefined,
        error: undefined,
      }),
    );

  async function check(): Promise<void> {
    for (const state of [undefined, ...states]) {
      const wanted = made
        .filter((each) => state === undefined || each.state === state)
        .map(({ id }) => id)
        .toReversed();
      for (const offset of [0, 3, 9, 15, 20, 40]) {
        const page = await listDeliveries(db, hookId, state, { limit: 4, offset });
        expect(page.total).toBe(wanted.length);
        expect(page.deliveries.map(({ id }) => id)).toEqual(wanted.slice(offset, offset + 4));
      }
    }
  }

  test("every page has exactly its rows, and totals are exact, after any changes", async () => {
    await check();
    // Delivered once more.
    const [first] = made.filter(({ state }) => state === "failed");
    if (first === undefined) throw new Error("nothing has failed");
    await end(first.id, "delivered");
    first.state = "delivered";
    await check();
    const isOld = ({ state, at }: (typeof made)[number]) => state !== "waiting" && at < 10;
    const deleteSome = () => db.transaction((tx) => deleteDeliveriesBefore(tx, 10, 2));
    expect(await deleteSome()).toBe(2);
    made.splice(made.findIndex(isOld), 1);
    made.splice(made.findIndex(isOld), 1);
    await check();
    while ((await deleteSome()) > 0);
    made.splice(0, made.length, ...made.filter((each) => !isOld(each)));
    await check();
  });

  test("deliveries of an event share its payload, which goes with the last of them", async () => {
    const payloads = async () => (await db.all("SELECT id FROM forge_hook_payloads")).length;
    const before = await payloads();
    // One for each event, though two hooks have deliveries of it.
    expect(before).toBeGreaterThanOrEqual(made.length);
    expect(await findDelivery(db, made.at(-1)?.id ?? (0 as DeliveryId))).toMatchObject({
      payload: `{"number":${made.at(-1)?.at}}`,
    });
    await db.transaction((tx) => deleteHook(tx, 1 as HookId));
    while (await db.transaction((tx) => deleteSomeOfDeletedHooks(tx, 5)));
    expect(await payloads()).toBe(made.length);
  });

  test("a deleted hook is gone at once, and its deliveries in portions", async () => {
    const deliveries = async () => (await db.all("SELECT id FROM forge_hook_deliveries")).length;
    const before = await deliveries();
    await db.transaction((tx) => deleteHook(tx, hookId));
    expect(await findHook(db, hookId)).toBe(undefined);
    expect(await db.all("SELECT sealed_target FROM forge_hooks")).toEqual([{ sealed_target: "" }]);
    const jobs = await listJobs(db, { kind: "forge.hooks.delete" }, { limit: 9, offset: 0 });
    expect(jobs).toHaveLength(1);
    expect(await deliveries()).toBe(before);
    const deleteSome = () => db.transaction((tx) => deleteSomeOfDeletedHooks(tx, 5));
    expect(await deleteSome()).toBe(true);
    expect(await deliveries()).toBe(before - 5);
    while (await deleteSome());
    made.length = 0;
    await check();
    for (const table of ["hooks", "hook_deliveries", "hook_payloads", "hook_totals"])
      expect(await db.all(`SELECT * FROM forge_${table}`)).toEqual([]);
  });
});

test("SQLite reads the places of a page from an index alone", async () => {
  const db = await openTestDatabase({ engine: "sqlite" });
  for (const within of ["hook_id = 1", "hook_id = 1 AND state = 'failed'"]) {
    const plan = await db.all<{ detail: string }>(
      `EXPLAIN QUERY PLAN SELECT id FROM forge_hook_deliveries WHERE ${within} ORDER BY id DESC LIMIT 9 OFFSET 9`,
    );
    expect(plan.map(({ detail }) => detail)).toEqual([
      expect.stringMatching(/^SEARCH forge_hook_deliveries USING COVERING INDEX/),
    ]);
  }
  await db.close();
});
