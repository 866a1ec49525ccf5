import { afterAll, beforeAll, expect, vi } from "vitest";
import type { Endpoint } from "../../daemon/contract/endpoint.ts";
import { type Database, StorageError } from "../../storage/engine/database.ts";
import type * as Open from "../../storage/engine/open.ts";
import { callersOf, endpoints, open, type Probe, send } from "../support/fuzz/declared-requests.ts";
import { createFuzzHome, type FuzzHome } from "../support/fuzz/fuzz-home.ts";
import { hasDatabaseFile, withDatabaseFile } from "../support/skip.ts";
import { failingAt, withBusyStatements } from "../support/storage/busy-database.ts";

// Each operation meets each fault of its surroundings: a database that is busy or full, a limit that is reached, a body over the
// limit. It answers with the status and the body that it declares, and never with a 500.

let database: Database | undefined;

vi.mock("../../storage/engine/open.ts", async (importOriginal) => {
  const original = await importOriginal<typeof Open>();
  return {
    ...original,
    openDatabase: async (...args: Parameters<typeof original.openDatabase>) =>
      (database = withBusyStatements(await original.openDatabase(...args))),
  };
});

let home: FuzzHome;
beforeAll(async () => {
  if (hasDatabaseFile) home = await createFuzzHome();
}, 120_000);
afterAll(() => home?.[Symbol.asyncDispose]());

/**
 * How many operations do not come as far with a request about the objects of the home: they need a job that runs, an address that was
 * signed or a form of their own. Other tests see those; a new operation must not add to them.
 */
const elsewhere = { 413: 28, 429: 2, 503: 7, 507: 3 } as const;

/** Expects that operations which declare a status answer with it, as `provoke` says, to one of their callers. */
async function expectDeclared(
  status: keyof typeof elsewhere,
  provoke: (declared: Endpoint, caller: string) => Promise<boolean>,
): Promise<void> {
  const never: string[] = [];
  for (const declared of endpoints.filter(({ replies }) => status in replies)) {
    let isSeen = false;
    for (const caller of callersOf(declared)) {
      isSeen = await provoke(declared, caller);
      if (isSeen) break;
    }
    if (!isSeen) never.push(declared.name);
  }
  expect(never.length, `${status}: ${never.join(", ")}`).toBeLessThanOrEqual(elsewhere[status]);
}

/** Statements of a request until one that its answer depends on. */
const STATEMENTS_MAX = 40;

for (const [status, failure] of [
  [503, new StorageError("busy", "injected: another process holds the database")],
  [507, new StorageError("full", "injected: no space left")],
] as const)
  withDatabaseFile(
    `operations that declare a ${status} answer so when the database is ${failure.code}`,
    async () => {
      await using sending = await open(home);
      // Each statement fails in turn, until the answer depends on it.
      await expectDeclared(status, async (declared, caller) => {
        for (let failsAt = 1; failsAt <= STATEMENTS_MAX; failsAt++) {
          const call = () => send(sending, declared, { caller });
          const { result, hasFailed } = await failingAt(failsAt, call, failure);
          expect(result.status, `${declared.name} of ${caller}: ${result.text}`).not.toBe(500);
          if (result.status === status) return true;
          if (!hasFailed) return false;
        }
        return false;
      });
    },
    300_000,
  );

withDatabaseFile(
  "operations with a limit refuse a caller that has reached it",
  async () => {
    await using sending = await open(home, { CROFT_RATE_LIMITS: "on" });
    await expectDeclared(429, async (declared, caller) => {
      await send(sending, declared, { caller });
      await database?.run("UPDATE rate_limits SET points = 1000000");
      const { status } = await send(sending, declared, { caller });
      await database?.run("DELETE FROM rate_limits");
      return status === 429;
    });
  },
  300_000,
);

const LIMIT_BYTES = 2_048;

withDatabaseFile(
  "operations that read a body refuse one over the limit",
  async () => {
    await using sending = await open(home, {
      CROFT_MAX_BODY_BYTES: String(LIMIT_BYTES),
      CROFT_MAX_UPLOAD_BYTES: String(LIMIT_BYTES),
    });
    await expectDeclared(413, async (declared, caller) => {
      const bytes = Math.max(declared.maxBodyBytes ?? 0, LIMIT_BYTES) + 1;
      const request = toLargeBody(declared, bytes);
      return (await send(sending, declared, { caller, request })).status === 413;
    });
  },
  300_000,
);

function toLargeBody({ body }: Endpoint, bytes: number): Probe["request"] & object {
  const text = "x".repeat(bytes);
  if (body === undefined || !("kind" in body)) return { json: { text } };
  if (body.kind !== "multipart") return { body: text };
  const form = new FormData();
  form.append("file", new File([text], "large.txt"));
  return { body: form };
}
