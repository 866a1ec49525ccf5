import type { DavLock } from "../../../storage/tables/vault/dav-locks.ts";
import { emptyUpload, storeFile } from "./change-methods.ts";
import {
  assertUnlocked,
  type DavAnswer,
  type DavContext,
  type DavMethod,
  depthOf,
  headerOf,
  showLock,
  toLocked,
} from "./context.ts";
import { isJunk } from "./junk-files.ts";
import { LOCK_SECONDS_MAX } from "./locks.service.ts";
import { writeActiveLock } from "./properties.ts";
import { DavRefusal, noParent, preconditionFailed } from "./refusals.ts";
import { toLockPlace } from "./spaces.ts";
import { toNewName } from "./target.ts";
import { findDav, isDav, writeXml, XML_DECLARATION, type XmlElement } from "./xml.ts";

const LOCK_SECONDS = 3600;
const OWNER_BYTES_MAX = 4096;

/** LOCK: locks a file or folder, creates an empty file where there is nothing, or refreshes a lock. */
export const lock: DavMethod = async (context) => {
  const body = await context.readXml();
  const seconds = secondsOf(headerOf(context, "timeout"));
  return body === undefined ? refresh(context, seconds) : create(context, body, seconds);
};

async function create(context: DavContext, body: XmlElement, seconds: number): Promise<DavAnswer> {
  const { found, locks, caller } = context;
  const wanted = readLockInfo(body);
  const depth = depthOf(context);
  if (depth === "1") throw new DavRefusal(400, "A lock has the depth 0 or infinity.");
  if (found.path.length === 0) throw new DavRefusal(403, "The root is not locked.");
  const isNew = found.resource === undefined;
  if (isNew) {
    if (found.folder === undefined) throw noParent();
    const name = toNewName(found.path);
    if (!isJunk(name))
      await assertUnlocked(context, {
        ...toLockPlace(found),
        ...{ isDeep: false, changesFolder: true },
      });
  }
  const isDeep = depth === "infinity" && found.resource?.kind === "folder";
  const result = await locks.create(caller.userId, {
    ...wanted,
    ...toLockPlace(found),
    isDeep,
    seconds,
    isPending: isNew,
  });
  if (result.kind === "conflict") throw await toLocked(context, result.with, "no-conflicting-lock");
  const held = isNew ? await createLockedFile(context, result.lock) : result.lock;
  return toAnswer(context, held, isNew ? 201 : 200, { "Lock-Token": `<${held.token}>` });
}

/** Creates the empty file of a pending lock, and returns the lock as it lives on. Without the file, the lock ends. */
async function createLockedFile(context: DavContext, pending: DavLock): Promise<DavLock> {
  const { locks, caller } = context;
  try {
    const tokens = new Set([...context.tokens, pending.token]);
    const file = await storeFile({ ...context, tokens }, emptyUpload());
    const held = await locks.confirm(pending, file.id);
    if (held === undefined)
      throw new DavRefusal(503, "The storage took too long to create the file. Lock it again.");
    return held;
  } catch (error) {
    await locks.remove(caller.userId, [pending.token]);
    throw error;
  }
}

async function refresh(context: DavContext, seconds: number): Promise<DavAnswer> {
  const { locks, caller, found, tokens } = context;
  if (tokens.size !== 1)
    throw new DavRefusal(
      400,
      "A lock is refreshed with its token in the header If, or made with a body.",
    );
  const covering = await locks.listCovering(caller.userId, toLockPlace(found));
  const held = covering.find((each) => tokens.has(each.token));
  const refreshed = held && (await locks.refresh(held, seconds));
  if (refreshed === undefined) throw preconditionFailed();
  return toAnswer(context, refreshed, 200, {});
}

async function toAnswer(
  context: DavContext,
  held: DavLock,
  status: number,
  headers: Readonly<Record<string, string>>,
): Promise<DavAnswer> {
  const active = writeActiveLock(await showLock(context, held), context.clock());
  const body = `${XML_DECLARATION}<D:prop xmlns:D="DAV:"><D:lockdiscovery>${active}</D:lockdiscovery></D:prop>`;
  return { status, headers, body };
}

/** UNLOCK: ends a lock. */
export const unlock: DavMethod = async (context) => {
  const { found, locks, caller } = context;
  const token = /^\s*<([^<>]+)>\s*$/.exec(headerOf(context, "lock-token") ?? "")?.[1];
  if (token === undefined) throw new DavRefusal(400, "The header Lock-Token is missing.");
  const covering = await locks.listCovering(caller.userId, toLockPlace(found));
  if (!covering.some((each) => each.token === token))
    throw new DavRefusal(409, "No lock of this address has this token.", {
      condition: { element: "lock-token-matches-request-uri" },
    });
  await locks.remove(caller.userId, [token]);
  return { status: 204 };
};

function readLockInfo(root: XmlElement): Pick<DavLock, "scope" | "owner"> {
  const scope = isDav(root, "lockinfo") ? findDav(root, "lockscope") : undefined;
  const type = findDav(root, "locktype");
  if (scope === undefined || type === undefined || findDav(type, "write") === undefined)
    throw new DavRefusal(400, "The body asks for no write lock.");
  const owner = findDav(root, "owner");
  const text = owner === undefined ? "" : writeXml(owner);
  if (Buffer.byteLength(text) > OWNER_BYTES_MAX)
    throw new DavRefusal(413, `The owner of a lock has at most ${OWNER_BYTES_MAX} bytes.`);
  if (findDav(scope, "exclusive") !== undefined) return { scope: "exclusive", owner: text };
  if (findDav(scope, "shared") !== undefined) return { scope: "shared", owner: text };
  throw new DavRefusal(400, "A lock is exclusive or shared.");
}

/** Reads the header `Timeout`: the first time in it, or an hour. A lock lives a day at most. */
function secondsOf(header: string | undefined): number {
  for (const part of (header ?? "").split(",")) {
    const seconds = /^\s*second-(\d{1,10})\s*$/i.exec(part)?.[1];
    if (seconds !== undefined) return Math.min(Math.max(1, Number(seconds)), LOCK_SECONDS_MAX);
    if (/^\s*infinite\s*$/i.test(part)) return LOCK_SECONDS;
  }
  return LOCK_SECONDS;
}
