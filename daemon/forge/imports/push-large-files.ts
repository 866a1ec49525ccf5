import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { readBranchAndTagIds } from "../../../storage/git/refs.ts";
import { readSmallBlobs } from "../../../storage/git/small-blobs.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import { DamagedObject } from "../../../storage/objects/verified-reads.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import {
  listLargeFiles,
  ownsLargeFiles,
} from "../../../storage/tables/forge/repositories/large-files.ts";
import type { GuardedRequest } from "../../outbound/guarded-request.ts";
import type { GuardedUpload } from "../../outbound/guarded-upload.ts";
import { type LeastRate, watchRate } from "../../outbound/least-rate.ts";
import { parsePointer, POINTER_BYTES_MAX } from "../large-files/pointer.ts";
import { SliceOver } from "./import-share.ts";
import {
  type AskBatch,
  BATCH,
  type BatchObject,
  type FileAction,
  type LargeFilePointer,
  type LargeFileRemote,
  LFS_TYPE,
} from "./large-file-batch.ts";
import { RemoteUnusable } from "./remotes.ts";
import { assertAnswered, SourceAway, SourceBusy } from "./source.ts";

export interface PushLargeFilesDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly git: Git;
  readonly store: ObjectStore;
  readonly askBatch: AskBatch;
  readonly request: GuardedRequest;
  readonly upload: GuardedUpload;
  /** Ends the upload of a file that is slower; 64 KiB in a second, after a minute. */
  readonly leastRate?: LeastRate;
}

/** Where the files come from and go to. */
interface LargeFilesPush {
  readonly directory: string;
  readonly repositoryId: RepositoryId;
  readonly remote: LargeFileRemote;
  /** Commits that the server has with the files that they and their ancestors name. */
  readonly without: readonly string[];
  /** Called before each file; throws when the push is not wanted any more. */
  readonly assertWanted: () => Promise<void>;
}

export interface PushedLargeFiles {
  /** The branches and tags whose files were looked at, with what they name. */
  readonly tips: ReadonlyMap<string, string>;
  /** The server has all files that they name. */
  readonly isComplete: boolean;
  /** Which files the server does not have; empty when there is nothing to tell. */
  readonly note: string;
}

type Planned = ReadonlyMap<string, BatchObject>;

/** Thrown when the server has no Git LFS. The message is for people. */
class NoLargeFiles extends Error {
  constructor(status: number) {
    super(`the files of Git LFS were not pushed: the server has no Git LFS (status ${status})`);
  }
}

/** Files that one push looks at, the newest first; as many as an import does. */
const FILES_MAX = 500_000;
/** Time after which a push leaves its place to other mirrors, between two files. */
const SLICE_MS = 120_000;
const LEAST_RATE: LeastRate = { graceMs: 60_000, bytesPerSecond: 64 * 1024 };
const VERIFY_MS = 60_000;
/** What a server answers to an upload is not read, but its end frees the connection. */
const ANSWER_BYTES_MAX = 64 * 1024;
/** Answers of servers without Git LFS to its batch API. */
const ABSENT = new Set([404, 405, 410, 501]);

/**
 * Uploads the files of Git LFS that the branches and tags of a repository name, as far as another server lacks them. Returns
 * undefined for a repository without such files. A server without Git LFS is told in the note. Throws `RemoteUnusable` when the server
 * refuses a file or fails, and `SliceOver` when others should have their turn: files that have arrived are not sent again.
 */
export function createLargeFilePush(deps: PushLargeFilesDeps) {
  const { db, clock, git, store, askBatch, request, upload, leastRate = LEAST_RATE } = deps;

  return async (
    push: LargeFilesPush,
    signal: AbortSignal,
  ): Promise<PushedLargeFiles | undefined> => {
    const { directory, repositoryId } = push;
    if (!(await ownsLargeFiles(db, repositoryId))) return undefined;
    const tips = await readBranchAndTagIds(git, directory);
    const names = await readNamed(push, signal);
    const counts = { done: 0, absent: 0, damaged: 0, all: names.length };
    const until = clock() + SLICE_MS;
    const sent: LargeFilePointer[] = [];
    try {
      for (let at = 0; at < names.length; at += BATCH) {
        const batch = names.slice(at, at + BATCH);
        const found = await listLargeFiles(db, repositoryId, batch);
        const files = [...found.values()].map(({ sha256, size }) => ({ oid: sha256, size }));
        counts.absent += batch.length - files.length;
        if (files.length === 0) continue;
        await pushBatch(files);
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NoLargeFiles) return { tips, isComplete: false, note: error.message };
      throw toUnusable(error, `${counts.done} of ${counts.all}`);
    }
    const { absent, damaged, all } = counts;
    const note =
      damaged === 0 ? "" : `files of Git LFS that are damaged here were not pushed: ${damaged}`;
    return { tips, isComplete: absent + damaged === 0 && all < FILES_MAX, note };

    async function pushBatch(files: readonly LargeFilePointer[]): Promise<void> {
      let planned = await ask(files);
      for (const [index, file] of files.entries()) {
        await push.assertWanted();
        let refused = await pushFile(file, planned.get(file.oid));
        if (refused !== undefined) {
          // What the batch allowed may have ended while other files were sent.
          planned = await ask(files.slice(index));
          refused = await pushFile(file, planned.get(file.oid));
        }
        if (refused !== undefined) throw new RemoteUnusable(refuses(refused));
      }
    }

    async function ask(files: readonly LargeFilePointer[]): Promise<Planned> {
      const answer = await askBatch(push.remote, "upload", files, signal);
      if (answer.files !== undefined) return answer.files;
      if (ABSENT.has(answer.status)) throw new NoLargeFiles(answer.status);
      throw new RemoteUnusable(`Git LFS answered with status ${answer.status}`);
    }

    /** Returns the status when the server wants other credentials for a file that it lacks. */
    async function pushFile(
      file: LargeFilePointer,
      planned: BatchObject | undefined,
    ): Promise<number | undefined> {
      if (planned === undefined)
        throw new RemoteUnusable("Git LFS does not answer for a file that it was asked for");
      if (planned.refusal !== undefined) throw new RemoteUnusable(refuses(planned.refusal));
      const { upload: to, verify } = planned.actions;
      if (to !== undefined) {
        if (sent.length > 0 && clock() >= until) await endSlice();
        const outcome = await send(file, to, verify);
        if (outcome === "damaged") counts.damaged += 1;
        if (outcome === "damaged") return undefined;
        if (outcome !== "sent") return outcome;
        sent.push(file);
      }
      counts.done += 1;
      return undefined;
    }

    /** The next attempt begins with the first file again: a server that keeps none would get them for ever. */
    async function endSlice(): Promise<never> {
      const planned = await ask(sent.slice(-BATCH));
      if ([...planned.values()].some(({ actions }) => actions.upload !== undefined))
        throw new RemoteUnusable("the server does not keep the files that it takes");
      throw new SliceOver(`the files of Git LFS are being pushed: ${counts.done} of ${counts.all}`);
    }

    /** Sends one file. Returns the status when the server wants other credentials, and `damaged` when it has no whole bytes here. */
    async function send(
      file: LargeFilePointer,
      to: FileAction,
      verify: FileAction | undefined,
    ): Promise<"sent" | "damaged" | number> {
      const { url } = assertSecure(to, push.remote);
      const body = await store.open(file.oid, file.size);
      if (body === undefined) return "damaged";
      const slow = new AbortController();
      const rate = watchRate(leastRate, () => slow.abort());
      using _watched = { [Symbol.dispose]: rate.stop };
      const ends = AbortSignal.any([signal, slow.signal]);
      const headers = {
        "content-type": "application/octet-stream",
        "user-agent": "croft",
        ...to.headers,
      };
      const sending = { url, headers, body, size: file.size, responseBytesMax: ANSWER_BYTES_MAX };
      try {
        const outcome = await upload({ ...sending, count: rate.count, signal: ends });
        if (slow.signal.aborted) throw new RemoteUnusable("a file is taken too slowly");
        const refused = toRefusal(outcome);
        if (refused !== undefined) return refused;
      } catch (error) {
        if (!(error instanceof DamagedObject)) throw error;
        return "damaged";
      }
      if (verify === undefined) return "sent";
      return (await confirm(file, assertSecure(verify, push.remote))) ?? "sent";
    }

    async function confirm(
      { oid, size }: LargeFilePointer,
      { url, headers }: FileAction,
    ): Promise<number | undefined> {
      const outcome = await request({
        url,
        method: "POST",
        headers: { accept: LFS_TYPE, "content-type": LFS_TYPE, "user-agent": "croft", ...headers },
        body: JSON.stringify({ oid, size }),
        privateHeaders: Object.keys(headers),
        followsRedirects: false,
        timeoutMs: VERIFY_MS,
        responseBytesMax: ANSWER_BYTES_MAX,
        signal,
      });
      return toRefusal(outcome);
    }
  };

  /** Returns the names of the files that branches and tags point to. */
  async function readNamed(
    { directory, without }: LargeFilesPush,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const named = new Set<string>();
    const options = { bytesMax: POINTER_BYTES_MAX, commits: ["--branches", "--tags"], without };
    for await (const blob of readSmallBlobs(git, { directory, signal, ...options })) {
      const pointer = parsePointer(blob);
      if (pointer !== undefined && named.size < FILES_MAX) named.add(pointer.oid);
    }
    return [...named];
  }
}

/** Returns the status of an answer that wants other credentials; undefined when the server has done its work. */
function toRefusal(outcome: Awaited<ReturnType<GuardedRequest>>): number | undefined {
  assertAnswered(outcome);
  const { status } = outcome;
  if (status >= 200 && status < 300) return undefined;
  if (status === 401 || status === 403) return status;
  throw new RemoteUnusable(refuses(status));
}

const refuses = (status: number) => `the server refuses a file (status ${status})`;

/** Refuses an action that would send a file in clear text although the repository has an address of https. */
function assertSecure(to: FileAction, { address }: LargeFileRemote): FileAction {
  if (address.startsWith("https:") && to.url.startsWith("http:"))
    throw new RemoteUnusable("the address of a file leads from https to http");
  return to;
}

/** Tells which step has failed, and how far it came. Errors of this server stay what they are. */
function toUnusable(error: unknown, done: string): unknown {
  const isRemote =
    error instanceof RemoteUnusable || error instanceof SourceAway || error instanceof SourceBusy;
  if (!isRemote) return error;
  const why = error instanceof SourceBusy ? "the server limits requests" : error.message;
  return new RemoteUnusable(
    `the files of Git LFS could not be pushed (${done} are there): ${why}`,
    error,
  );
}
