import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ForgeCaller } from "../../../../../daemon/forge/caller.ts";
import {
  createSmartHttp,
  type GitRequest,
  type SmartHttp,
  transferLimits,
} from "../../../../../daemon/forge/git/smart-http.service.ts";
import { createTransferAccess } from "../../../../../daemon/forge/git/transfer-access.ts";
import { createStreamLimiter } from "../../../../../daemon/forge/repositories/transfer-limiter.ts";
import { createPushHook } from "../../../../../daemon/forge/git/push-hook.ts";
import type { Log } from "../../../../../daemon/utilities/logging.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { createGit } from "../../../../../storage/git/git.ts";
import type { PushId } from "../../../../../storage/tables/forge/ids.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import {
  insertRepository,
  updateRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const notUsed = () => Promise.reject(new Error("no push for review here"));

const ZERO = "0".repeat(40);
const quiet = () => undefined;
const log: Log = {
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: quiet,
  fatal: quiet,
  child: () => log,
  isLevelEnabled: () => false,
};

let db: Database;
let root: string;
let transfers: SmartHttp;
let caller: ForgeCaller;
let head: string;
let moves: number;
let pushed: string[];

const gitIn = (directory: string, ...args: readonly string[]) =>
  execFileSync("git", args, { cwd: directory, encoding: "utf8" }).trim();
const branches = () =>
  gitIn(join(root, `mira/moved${moves}.git`), "for-each-ref", "--format=%(refname:short)");

/** A repository whose folder is renamed after each of the first `renames` calls has found it, before git starts. */
async function open(renames: number): Promise<void> {
  const mira = await db.transaction((tx) => insertUser(tx, newUserRow("mira")));
  const row = { ...newRepositoryRow(mira, "cabin"), path: "mira/moved0.git" };
  const repository = await db.transaction((tx) => insertRepository(tx, row));
  const folder = join(root, repository.path);
  await mkdir(folder, { recursive: true });
  gitIn(folder, "init", "--quiet", "--bare", "--initial-branch=main");
  const tree = gitIn(folder, "hash-object", "-t", "tree", "-w", "/dev/null");
  const identity = ["-c", "user.name=Mira", "-c", "user.email=mira@example.org"];
  head = gitIn(folder, ...identity, "commit-tree", tree, "-m", "first");
  for (const name of ["main", "old"]) gitIn(folder, "update-ref", `refs/heads/${name}`, head);
  moves = 0;
  pushed = [];
  caller = { user: mira, actor: mira, method: "basic_password", scope: undefined };
  transfers = createSmartHttp({
    db,
    git: createGit({ searchPath: process.env["PATH"] ?? "" }),
    describePush: () => undefined,
    reviewPushes: { findRefusal: notUsed, receive: notUsed },
    async locate({ path }) {
      const found = join(root, path);
      if (moves === renames) return found;
      moves += 1;
      const target = `mira/moved${moves}.git`;
      await rename(found, join(root, target));
      await updateRepository(db, repository.id, { path: target });
      return found;
    },
    access: createTransferAccess(db),
    ending: ".git",
    limiter: createStreamLimiter(transferLimits),
    journal: { begin: async () => ({ id: 1 as PushId, end: () => undefined }) },
    observeRefs: async () => undefined,
    recordPush: async ({ changes }) => void pushed.push(...changes.map(({ ref }) => ref)),
    checkPush: async () => ({ refused: undefined, forwardOnly: [] }),
    checkRefs: async () => undefined,
    prepareHook: createPushHook(join(root, "hooks")),
    log,
    pushBytesMax: 1_000_000,
  });
}

beforeEach(async () => {
  db = await openTestDatabase();
  root = await mkdtemp(join(tmpdir(), "croft-moved-"));
});
afterEach(async () => {
  await db.close();
  await rm(root, { recursive: true });
});

const request = (): GitRequest => ({
  ownerName: "mira",
  name: "cabin.git",
  caller,
  address: "127.0.0.1",
  protocol: undefined,
  signal: new AbortController().signal,
});
const pktLine = (line: string) => `${(line.length + 4).toString(16).padStart(4, "0")}${line}`;
const transfer = (service: string, body: string) => ({
  ...request(),
  contentType: `application/x-${service}-request`,
  contentEncoding: undefined,
  body: Readable.from([Buffer.from(body)]),
});

test("lists refs of a repository whose folder moves before git starts", async () => {
  await open(1);
  const { body } = await transfers.advertise(request(), "git-upload-pack");
  expect(body.toString()).toContain(`${head} refs/heads/main`);
});

test("serves a fetch over HTTP while the folder moves", async () => {
  await open(1);
  const body = `${pktLine("command=ls-refs\n")}0000`;
  const { stream } = await transfers.fetch({
    ...transfer("git-upload-pack", body),
    protocol: "version=2",
  });
  expect(await text(stream)).toContain(`${head} refs/heads/main`);
});

test("serves a fetch over SSH while the folder moves", async () => {
  await open(1);
  const body = new PassThrough();
  const answer = await transfers.serveFetch({
    ...request(),
    contentEncoding: undefined,
    isConversation: true,
    body,
  });
  body.end("0000");
  expect(await text(answer.stream)).toContain(`${head} refs/heads/main`);
  expect(await answer.exitCode()).toBe(0);
});

test("accepts a push while the folder moves, and records it", async () => {
  await open(1);
  const command = pktLine(`${head} ${ZERO} refs/heads/old\0report-status`);
  const { stream } = await transfers.push(transfer("git-receive-pack", `${command}0000`));
  expect(await text(stream)).toContain("ok refs/heads/old");
  expect(branches()).toBe("main");
  expect(pushed).toEqual(["refs/heads/old"]);
});

test("follows a folder that moves twice, and refuses with `unavailable` when it keeps moving", async () => {
  await open(2);
  await transfers.advertise(request(), "git-upload-pack");
  expect(moves).toBe(2);
  await rm(join(root, "mira"), { recursive: true });
  const body = new PassThrough();
  await expect(
    transfers.serveFetch({ ...request(), contentEncoding: undefined, body }),
  ).rejects.toMatchObject({ code: "unavailable", data: { retryAfterSeconds: 1 } });
});
