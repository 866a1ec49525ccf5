import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  createThreadStreams,
  STREAMS_MAX,
  STREAMS_PER_PERSON_MAX,
  type StreamUpdate,
  type ThreadStreams,
} from "../../../../../daemon/forge/notifications/thread-streams.ts";
import type { ForgeCaller } from "../../../../../daemon/forge/caller.ts";
import { StorageError } from "../../../../../storage/engine/database.ts";
import { findMailbox } from "../../../../../storage/tables/forge/accounts/mailboxes.ts";
import { markThreads, upsertThread } from "../../../../../storage/tables/forge/notifications.ts";
import { insertRepository } from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { deleteToken } from "../../../../../storage/tables/forge/accounts/tokens.ts";
import { type RepositoryId, toUserId, toTokenId } from "../../../../../storage/tables/forge/ids.ts";
import { startForgeApp, type ForgeApp } from "../../../../support/forge/forge-app.ts";
import { newRepositoryRow } from "../../../../support/forge/forge-rows.ts";

const NEVER_MS = 3_600_000;

let app: ForgeApp;
let caller: ForgeCaller;
let repositoryId: RepositoryId;
let streams: ThreadStreams;
let warnings: string[];

beforeEach(async () => {
  app = await startForgeApp();
  await app.addUser();
  const found = await app.accounts.tokens.find(await app.tokenOf("mira"));
  if (found === undefined) throw new Error("mira has no token");
  caller = { ...found, actor: found.user, method: "token" };
  repositoryId = await app.db.transaction(async (tx) => {
    const repository = await insertRepository(
      tx,
      newRepositoryRow(found.user, "notes", { isPrivate: true }),
    );
    return repository.id;
  });
  warnings = [];
  streams = open();
});
afterEach(async () => {
  streams.close();
  await app[Symbol.asyncDispose]();
});

function open(options: { readonly keepAliveMs?: number; readonly db?: ForgeApp["db"] } = {}) {
  return createThreadStreams({
    db: options.db ?? app.db,
    warn: (message) => warnings.push(message),
    pollMs: 1,
    keepAliveMs: options.keepAliveMs ?? NEVER_MS,
  });
}

/** Tells mira of a commit, later each time. */
function tell(...commits: readonly string[]): Promise<void> {
  app.advance(1);
  return app.db.transaction(async (tx) => {
    for (const commitId of commits)
      await upsertThread(tx, {
        userId: caller.user.id,
        repositoryId,
        kind: "commit",
        commitId,
        notifiedAt: tx.now,
      });
  });
}

/** A stream that is read one by one: commits by their ids, and counts. */
function follow(known?: number, from = streams) {
  const controller = new AbortController();
  const stream = from.open(caller, known);
  const news = stream.read(controller.signal);
  return {
    async next(): Promise<unknown> {
      const { value, done } = await news.next();
      return done === true ? "end" : toWord(value);
    },
    async take(count: number): Promise<unknown[]> {
      const words: unknown[] = [];
      while (words.length < count) words.push(await this.next());
      return words;
    },
    abort: () => controller.abort(),
    release: () => stream.release(),
  };
}

function toWord(news: StreamUpdate | undefined): unknown {
  if (news?.kind === "thread") return news.thread.thread.commitId;
  return news?.kind === "count" ? news.unread : news?.kind;
}

const revision = async () => (await findMailbox(app.db, caller.user.id)).revision;

describe("a stream", () => {
  test("a stream sends the count, then changes in order", async () => {
    await tell("before");
    const stream = follow();
    expect(await stream.next()).toBe(1);
    await tell("a", "b");
    expect(await stream.take(3)).toEqual(["a", "b", 3]);
    await app.db.transaction((tx) =>
      markThreads(tx, { userId: caller.user.id, statuses: [], kinds: [] }, "read"),
    );
    expect(await stream.next()).toBe(0);
    await tell("a");
    expect(await stream.take(2)).toEqual(["a", 1]);
  });

  test("a stream resumes after any last event id", async () => {
    await tell("a");
    const known = await revision();
    await tell("b", "c");
    expect(await follow(known).take(3)).toEqual(["b", "c", 3]);
    expect(await follow(0).take(4)).toEqual(["a", "b", "c", 3]);
    expect(await follow((await revision()) + 1000).next()).toBe(3);
  });

  test("a stream sends more than a page, each thread once", async () => {
    const commits = Array.from({ length: 120 }, (_, at) => `c${at}`);
    await tell(...commits);
    expect(await follow(0).take(121)).toEqual([...commits, 120]);
  });

  test("a stream sends a keep-alive while there are no events", async () => {
    const stream = follow(undefined, open({ keepAliveMs: 3 }));
    expect(await stream.take(3)).toEqual([0, "keep-alive", "keep-alive"]);
    stream.release();
  });

  test("a stream ends when the client disconnects, when it is cancelled, and when the daemon stops", async () => {
    for (const end of [
      (stream: ReturnType<typeof follow>) => stream.abort(),
      (stream: ReturnType<typeof follow>) => stream.release(),
      () => streams.close(),
    ]) {
      const stream = follow();
      expect(await stream.next()).toBe(0);
      const next = stream.next();
      end(stream);
      expect(await next).toBe("end");
    }
    expect(() => streams.open(caller, undefined)).toThrow("no further streams");
  });
});

describe("a client whose sign-in has ended gets no events", () => {
  test.each<[string, () => Promise<unknown>]>([
    [
      "the token is deleted",
      () => deleteToken(app.db, caller.user.id, caller.tokenId ?? toTokenId(0)),
    ],
    [
      "the account may not sign in",
      () => app.db.run("UPDATE forge_users SET prohibit_login = 1 WHERE id = ?", caller.user.id),
    ],
    [
      "the account is not active",
      () => app.db.run("UPDATE forge_users SET is_active = 0 WHERE id = ?", caller.user.id),
    ],
    [
      "the password must be changed",
      () =>
        app.db.run("UPDATE forge_users SET must_change_password = 1 WHERE id = ?", caller.user.id),
    ],
  ])("a stream ends after its caller lost access: %s", async (_why, revoke) => {
    const stream = follow();
    expect(await stream.next()).toBe(0);
    await revoke();
    await tell("secret");
    expect(await stream.next()).toBe("end");
  });

  test("a stream ends when the password of its caller changes", async () => {
    const { tokenId: _, ...rest } = caller;
    caller = { ...rest, method: "basic_password", scope: undefined };
    const stream = follow();
    expect(await stream.next()).toBe(0);
    await tell("a");
    expect(await stream.take(2)).toEqual(["a", 1]);
    await app.db.run("UPDATE forge_users SET password_hash = 'x' WHERE id = ?", caller.user.id);
    await tell("secret");
    expect(await stream.next()).toBe("end");
  });

  test("a stream ends when the administrator who acts as another user loses the right", async () => {
    const found = await app.accounts.tokens.find(app.token);
    if (found === undefined) throw new Error("there is no administrator");
    const { user: actor, ...token } = found;
    caller = { ...token, actor, user: caller.user, method: "token" };
    const stream = follow();
    expect(await stream.next()).toBe(0);
    await app.db.run("UPDATE forge_users SET is_admin = 0 WHERE id = ?", actor.id);
    await tell("secret");
    expect(await stream.next()).toBe("end");
  });
});

describe("streams are bounded", () => {
  test("event streams of one user are bounded", () => {
    const opened = Array.from({ length: STREAMS_PER_PERSON_MAX }, () => follow());
    expect(() => follow()).toThrow(`You have ${STREAMS_PER_PERSON_MAX} streams open`);
    opened[0]?.release();
    follow().release();
  });

  test("event streams of the daemon are bounded", () => {
    const people = Math.ceil(STREAMS_MAX / STREAMS_PER_PERSON_MAX);
    for (let id = 1; id <= people; id += 1)
      for (let own = 0; own < STREAMS_PER_PERSON_MAX; own += 1)
        streams.open({ ...caller, user: { ...caller.user, id: toUserId(-id) } }, undefined);
    expect(() => follow()).toThrow("accepts no further streams");
  });
});

test("a failing database ends streams with a warning, and reconnecting clients are served", async () => {
  let fails = false;
  const db: ForgeApp["db"] = {
    ...app.db,
    get: (...query) => app.db.get(...query),
    all: (...query) =>
      fails ? Promise.reject(new StorageError("busy", "held")) : app.db.all(...query),
  };
  const weak = open({ db });
  const stream = follow(undefined, weak);
  expect(await stream.next()).toBe(0);
  fails = true;
  expect(await stream.next()).toBe("end");
  stream.release();
  expect(warnings).toEqual(["failed to poll mailboxes"]);
  fails = false;
  const again = follow(undefined, weak);
  expect(await again.next()).toBe(0);
  await tell("a");
  expect(await again.take(2)).toEqual(["a", 1]);
  weak.close();
});
