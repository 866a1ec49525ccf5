import { isUtf8 } from "node:buffer";
import { setImmediate } from "node:timers/promises";
import { type Git, GitError } from "../../../storage/git/git.ts";
import {
  fetchObjects,
  listRemoteRefs,
  pushAll,
  type RemoteAccess,
  type RemoteRefs,
  type RemoteRun,
} from "../../../storage/git/remotes.ts";
import type { GitGateway, GitRemote, RemoteFailure } from "../../outbound/git-gateway.ts";
import { type LeastRate, watchRate } from "../../outbound/least-rate.ts";
import { createRefs } from "../../../storage/git/share-objects.ts";
import { isRefName } from "../../contract/forge/repositories/rules.ts";

/** A remote could not be read or written. The message is for people: it holds no address and no secret. */
export class RemoteUnusable extends Error {
  /** The remote says that it has no repository at the address, or none that these credentials may read. */
  readonly isMissing: boolean;

  constructor(message: string, cause?: unknown, isMissing = false) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "RemoteUnusable";
    this.isMissing = isMissing;
  }
}

export interface RemotesDeps {
  readonly git: Git;
  readonly gateway: GitGateway;
  /** A folder that is no repository. */
  readonly workFolder: string;
  /** Maximum bytes that a remote may send at once. */
  readonly bytesMax: number;
  /** Ends transfers that are slower, or that go on without a byte; an hour, and a second for every 32 KiB. */
  readonly transferRate?: LeastRate;
}

/** The refs of a remote that a repository takes: valid names of branches, tags and heads of pull requests. */
export interface TakenRefs {
  /** The branch that HEAD names, if it is among them. */
  readonly head: string | undefined;
  readonly objectFormat: "sha1" | "sha256";
  readonly refs: ReadonlyMap<string, string>;
  /** How many refs have names that are not taken. */
  readonly skipped: number;
}

/** Time of one listing. */
const LIST_MS = 120_000;
/** A transfer has an hour, in which git also packs and checks, and a second more for every 32 KiB that it passes. */
const TRANSFER_RATE: LeastRate = { graceMs: 3_600_000, bytesPerSecond: 32 * 1024 };
/** Time of one run of git at most, however much it transfers. */
const TRANSFER_MS = 24 * 3_600_000;
const LISTING_BYTES_MAX = 64 * 1024 * 1024;
/** Maximum number of refs of a repository that is imported. */
const REFS_MAX = 100_000;
/** Refs of a listing that are looked at before other work of the process has its turn: there may be a million. */
const REFS_AT_ONCE = 1_000;

export type Remotes = ReturnType<typeof createRemotes>;

/** Runs of git with repositories on other servers. Every function throws `RemoteUnusable` when the remote fails. */
export function createRemotes({
  git,
  gateway,
  workFolder,
  bytesMax,
  transferRate = TRANSFER_RATE,
}: RemotesDeps) {
  return {
    /** Lists the refs of a remote that a repository takes; `hasPulls` with the heads of pull requests. */
    async list(
      remote: GitRemote,
      { hasPulls }: { readonly hasPulls: boolean },
      signal: AbortSignal,
    ): Promise<TakenRefs> {
      const patterns = ["refs/heads/*", "refs/tags/*", ...(hasPulls ? ["refs/pull/*/head"] : [])];
      const run = { directory: workFolder, timeoutMs: LIST_MS };
      const options = { service: "git-upload-pack", receivedBytesMax: LISTING_BYTES_MAX } as const;
      const listed = await use(remote, options, signal, (access, ends) =>
        listRemoteRefs(git, access, patterns, { ...run, signal: ends }),
      );
      return toTaken(listed, signal);
    },

    fetch,

    /** Creates refs of a remote, with their objects, in a new repository. */
    async copy(
      remote: GitRemote,
      refs: ReadonlyMap<string, string>,
      options: Pick<RemoteRun, "directory" | "signal">,
    ): Promise<void> {
      await fetch(remote, refs.values(), options);
      const list = [...refs].map(([name, id]) => ({
        name: Buffer.from(name, "utf8").toString("latin1"),
        id,
      }));
      try {
        await createRefs(git, options.directory, list);
      } catch (error) {
        if (!(error instanceof GitError) || error.code !== "failed") throw error;
        throw new RemoteUnusable("a branch or tag of it cannot be stored", error);
      }
    },

    /** Makes the branches and tags of a remote those of a folder; a branch `first` is pushed before the others. */
    push(
      remote: GitRemote,
      {
        first,
        ...options
      }: Pick<RemoteRun, "directory" | "signal"> & { readonly first: string | undefined },
    ): Promise<void> {
      const session = { service: "git-receive-pack", receivedBytesMax: LISTING_BYTES_MAX } as const;
      return use(remote, session, options.signal, (access, signal) =>
        pushAll(git, access, first, { ...options, signal, timeoutMs: TRANSFER_MS }),
      );
    },
  };

  /** Fetches objects into a folder, or into a quarantine of it. */
  function fetch(
    remote: GitRemote,
    ids: Iterable<string>,
    options: Pick<RemoteRun, "directory" | "signal"> & {
      readonly quarantine?: Readonly<Record<string, string>>;
    },
  ): Promise<void> {
    const session = { service: "git-upload-pack", receivedBytesMax: bytesMax } as const;
    return use(remote, session, options.signal, (access, signal) =>
      fetchObjects(git, access, ids, { ...options, signal, timeoutMs: TRANSFER_MS }),
    );
  }

  async function use<T>(
    remote: GitRemote,
    options: {
      readonly service: "git-upload-pack" | "git-receive-pack";
      readonly receivedBytesMax: number;
    },
    signal: AbortSignal,
    work: (access: RemoteAccess, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const slow = new AbortController();
    const { count, stop } = watchRate(transferRate, () =>
      slow.abort(new RemoteUnusable("it takes too much time")),
    );
    using _watched = { [Symbol.dispose]: stop };
    const ends = AbortSignal.any([signal, slow.signal]);
    await using session = await gateway.open(remote, { ...options, count, signal: ends });
    try {
      return await work(session, ends);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof GitError)) throw error;
      const failure = session.failure();
      if (failure !== undefined) {
        const words = describe(failure, remote.password !== "");
        throw new RemoteUnusable(words, error, isAbsence(failure));
      }
      throw toUnusable(error) ?? error;
    }
  }
}

/** Servers also answer for a repository that they do not have with a page, or with the question who asks. */
function isAbsence(failure: RemoteFailure): boolean {
  if (failure.kind !== "status") return failure.kind === "not_git";
  return [401, 403, 404, 410].includes(failure.status);
}

function describe(failure: RemoteFailure, hasCredentials: boolean): string {
  if (failure.kind !== "status") return failure.reason;
  const { status } = failure;
  if (status === 401 || status === 403)
    return hasCredentials
      ? `the server refuses the credentials (status ${status})`
      : `the server wants credentials (status ${status})`;
  if (status === 404) return "there is no repository, or it needs credentials (status 404)";
  return `the server answered with status ${status}`;
}

/** Converts failures of git that the remote causes; undefined for those of this server. */
function toUnusable(error: GitError): RemoteUnusable | undefined {
  if (error.code === "too_long") return new RemoteUnusable("it takes too much time", error);
  if (error.code !== "failed") return undefined;
  const fault = /error: object [0-9a-f]+: (\w+)/.exec(error.message)?.[1];
  if (fault !== undefined)
    return new RemoteUnusable(`its history has an object that is refused (${fault})`, error);
  if (/protected branch|pre-receive hook declined|\[remote rejected\]/.test(error.message))
    return new RemoteUnusable("the server refuses the change of a branch or a tag", error);
  return new RemoteUnusable("git could not read what the server sent", error);
}

/** Selects the refs with names that croft accepts in a push. The names become UTF-8. */
async function toTaken({ head, refs }: RemoteRefs, signal: AbortSignal): Promise<TakenRefs> {
  const taken = new Map<string, string>();
  let isSha256 = false;
  let skipped = 0;
  let looked = 0;
  for (const [latin, id] of refs) {
    looked += 1;
    if (looked % REFS_AT_ONCE === 0) await letOthersRun(signal);
    if (latin === "HEAD" || latin.endsWith("^{}")) continue;
    const bytes = Buffer.from(latin, "latin1");
    const name = bytes.toString("utf8");
    if (!isUtf8(bytes) || !isTakenName(name)) {
      skipped += 1;
      continue;
    }
    isSha256 ||= id.length === 64;
    taken.set(name, id);
    if (taken.size > REFS_MAX)
      throw new RemoteUnusable(`it has more than ${REFS_MAX} branches and tags`);
  }
  for (const name of taken.keys()) {
    looked += 1;
    if (looked % REFS_AT_ONCE === 0) await letOthersRun(signal);
    if (!isBelowAnother(name, taken)) continue;
    taken.delete(name);
    skipped += 1;
  }
  const branch = head?.startsWith("refs/heads/") && taken.has(head) ? head.slice(11) : undefined;
  return { head: branch, objectFormat: isSha256 ? "sha256" : "sha1", refs: taken, skipped };
}

async function letOthersRun(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}

/** Git cannot store `a/b` beside `a`, although a remote can list both. */
function isBelowAnother(name: string, names: ReadonlyMap<string, string>): boolean {
  const kind = name.indexOf("/", "refs/".length);
  for (let at = name.indexOf("/", kind + 1); at !== -1; at = name.indexOf("/", at + 1))
    if (names.has(name.slice(0, at))) return true;
  return false;
}

/** Git and file systems limit names of refs to about this length. */
const NAME_BYTES_MAX = 200;

function isTakenName(ref: string): boolean {
  const [, kind, name = ""] = /^refs\/(heads|tags|pull)\/(.+)$/.exec(ref) ?? [];
  if (kind === "pull") return /^[1-9]\d{0,8}\/head$/.test(name);
  return kind !== undefined && isRefName(name) && Buffer.byteLength(ref) <= NAME_BYTES_MAX;
}
