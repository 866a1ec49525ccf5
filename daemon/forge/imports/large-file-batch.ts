import { z } from "zod";
import { isWebUrl } from "../../contract/forge/rules.ts";
import { toAuthorization } from "../../outbound/git-gateway.ts";
import type { GuardedRequest } from "../../outbound/guarded-request.ts";
import { firstOf, parseAnswer } from "./json-answers.ts";
import { type Credentials, toGitRemote } from "./remote-address.ts";
import { RemoteUnusable } from "./remotes.ts";
import { assertAnswered, assertNotLimited, SourceAway } from "./source.ts";

/** What a pointer of Git LFS names: the SHA-256 of a file, and its bytes. */
export interface LargeFilePointer {
  readonly oid: string;
  readonly size: number;
}

/** A repository on another server. */
export interface LargeFileRemote {
  /** As `readRemoteAddress` returns it. */
  readonly address: string;
  readonly credentials: Credentials;
}

/** A request that transfers or verifies a file, with the headers that it needs. */
export interface FileAction {
  readonly url: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What the server says of one file. */
export interface BatchObject {
  readonly actions: Readonly<Record<"download" | "upload" | "verify", FileAction | undefined>>;
  /** The status of a refusal. */
  readonly refusal: number | undefined;
}

/** The answer to a batch. `files` are by name; undefined when the server has no Git LFS for this repository. */
export interface BatchAnswer {
  readonly status: number;
  readonly files: ReadonlyMap<string, BatchObject> | undefined;
}

/** Files of one request, as many as git-lfs asks for. */
export const BATCH = 100;
export const LFS_TYPE = "application/vnd.git-lfs+json";
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
const TIMEOUT_MS = 60_000;
const HEADERS_MAX = 50;
/** These belong to one connection, or follow from the request that is sent. */
const OWN_HEADERS = new Set(
  "connection content-length expect host keep-alive te trailer transfer-encoding upgrade".split(
    " ",
  ),
);

const action = z
  .object({
    href: z.string().max(8192).refine(isWebUrl),
    header: z.record(z.string(), z.string()).nullish(),
  })
  .nullish();
const object = z.object({
  oid: z.string(),
  actions: z.object({ download: action, upload: action, verify: action }).nullish(),
  error: z.object({ code: z.int() }).nullish(),
});
const batchSchema = z.object({
  transfer: z.literal("basic").nullish(),
  objects: firstOf(object, BATCH),
});

export type AskBatch = ReturnType<typeof createLargeFileBatches>;

/**
 * Asks servers by the batch API of Git LFS where files are, or which of them they want. Throws `RemoteUnusable` for an answer that
 * another attempt does not change, `SourceBusy` when the server limits requests, and `SourceAway` when it does not answer. The
 * credentials go to the server of the address only.
 */
export function createLargeFileBatches({
  request,
  clock,
}: {
  readonly request: GuardedRequest;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}) {
  return async (
    { address, credentials }: LargeFileRemote,
    operation: "download" | "upload",
    pointers: readonly LargeFilePointer[],
    signal: AbortSignal,
  ): Promise<BatchAnswer> => {
    const url = `${address.replace(/\.git$/, "")}.git/info/lfs/objects/batch`;
    const authorization = toAuthorization(toGitRemote(address, credentials));
    const signedIn = authorization === undefined ? {} : { authorization };
    const outcome = await request({
      url,
      method: "POST",
      headers: { Accept: LFS_TYPE, "Content-Type": LFS_TYPE, "User-Agent": "croft", ...signedIn },
      body: JSON.stringify({
        operation,
        transfers: ["basic"],
        hash_algo: "sha256",
        objects: pointers.map(({ oid, size }) => ({ oid, size })),
      }),
      privateHeaders: ["authorization"],
      followsRedirects: "same_request",
      timeoutMs: TIMEOUT_MS,
      responseBytesMax: ANSWER_BYTES_MAX,
      signal,
    });
    signal.throwIfAborted();
    assertAnswered(outcome);
    assertNotLimited(outcome, clock());
    const { status, body } = outcome;
    if (status >= 500 && status !== 501)
      throw new SourceAway(`Git LFS answered with status ${status}`);
    if (status === 401 || status === 403)
      throw new RemoteUnusable(`Git LFS refuses the credentials (status ${status})`);
    if (status !== 200) return { status, files: undefined };
    const files = new Map<string, BatchObject>();
    for (const { oid, actions, error } of parseBatch(body).objects)
      files.set(oid, {
        actions: {
          download: toAction(actions?.download, url, signedIn),
          upload: toAction(actions?.upload, url, signedIn),
          verify: toAction(actions?.verify, url, signedIn),
        },
        refusal: error?.code,
      });
    return { status, files };
  };
}

function parseBatch(body: Buffer): z.output<typeof batchSchema> {
  try {
    return batchSchema.parse(parseAnswer(body));
  } catch (error) {
    throw new RemoteUnusable("the answer of Git LFS is not that of its batch API", error);
  }
}

/** An action without credentials of its own gets those of the repository, if the same server carries it out. */
function toAction(
  given: z.output<typeof action>,
  asked: string,
  signedIn: Readonly<Record<string, string>>,
): FileAction | undefined {
  if (given == null) return undefined;
  const isSameServer = new URL(given.href).origin === new URL(asked).origin;
  const entries = Object.entries(given.header ?? {});
  if (entries.length > HEADERS_MAX)
    throw new RemoteUnusable("the answer of Git LFS has too many headers");
  const own = entries
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !OWN_HEADERS.has(name));
  const headers = { ...(isSameServer ? signedIn : {}), ...Object.fromEntries(own) };
  return { url: given.href, headers };
}
