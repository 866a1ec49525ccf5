import type { IncomingMessage, ServerResponse } from "node:http";
import type { Database } from "../../../storage/engine/database.ts";
import type { DavLock } from "../../../storage/tables/vault/dav-locks.ts";
import type { ServerRequest } from "../../http/handle.ts";
import type { Log } from "../../utilities/logging.ts";
import type { SendBytes } from "../../http/bytes.ts";
import type { VaultCaller } from "../caller.ts";
import { type IfList, type IfCondition } from "./if-header.ts";
import type { JunkFiles } from "./junk-files.ts";
import type { ChangedPlace, DavLocks } from "./locks.service.ts";
import type { ShownLock } from "./properties.ts";
import { DavRefusal, preconditionFailed } from "./refusals.ts";
import { type DavTree, type Found, toLockPlace } from "./spaces.ts";
import type { DavAddresses } from "./target.ts";
import type { XmlElement } from "./xml.ts";

/** What the methods work with. */
export interface DavServices {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  readonly locks: DavLocks;
  readonly junk: JunkFiles;
  readonly sendBytes: SendBytes;
  readonly log: Pick<Log, "warn">;
}

/** A request of a client that may do what it asks for, as far as its token goes. */
export interface DavContext extends DavServices {
  readonly request: ServerRequest;
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: VaultCaller;
  readonly tree: DavTree;
  readonly found: Found;
  readonly addresses: DavAddresses;
  /** The lists of the header `If`, and the lock tokens in them. */
  readonly ifLists: readonly IfList[];
  readonly tokens: ReadonlySet<string>;
  /** Reads the body; undefined when it is empty. */
  readXml(): Promise<XmlElement | undefined>;
}

/** A response; a number is the status of one that was sent already. */
export type DavAnswer =
  | number
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** XML. */
      readonly body?: string;
    };

export type DavMethod = (context: DavContext) => Promise<DavAnswer>;

/** Returns the header of a request; undefined when it is absent or was sent several times. */
export function headerOf(
  { request }: Pick<DavContext, "request">,
  name: string,
): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? undefined : value;
}

/** Reads the header `Depth`. */
export function depthOf(context: DavContext): "0" | "1" | "infinity" {
  const depth = headerOf(context, "depth")?.trim().toLowerCase() ?? "infinity";
  if (depth !== "0" && depth !== "1" && depth !== "infinity")
    throw new DavRefusal(400, "The header Depth is 0, 1 or infinity.");
  return depth;
}

/** Refuses with 412 a request whose conditions do not hold: `If-Match`, `If-None-Match` and the lists of `If`. */
export async function assertConditions(context: DavContext): Promise<void> {
  const { request, found } = context;
  const etag = etagOf(found);
  const ifMatch = headerOf(context, "if-match");
  if (ifMatch !== undefined && !matches(ifMatch, found, etag)) throw preconditionFailed();
  const isRead = request.method === "GET" || request.method === "HEAD";
  const ifNoneMatch = headerOf(context, "if-none-match");
  // For reads the sender of bytes answers 304.
  if (!isRead && ifNoneMatch !== undefined && matches(ifNoneMatch, found, etag))
    throw preconditionFailed();
  if (context.ifLists.length === 0) return;
  for (const list of context.ifLists) if (await holds(context, list)) return;
  throw preconditionFailed();
}

function matches(header: string, { resource }: Found, etag: string | undefined): boolean {
  if (header.trim() === "*") return resource !== undefined;
  return etag !== undefined && header.split(",").some((tag) => tag.trim() === etag);
}

/** The entity tag as a header has it. */
export function etagOf({ resource }: Pick<Found, "resource">): string | undefined {
  return resource?.kind === "file" && resource.etag !== undefined
    ? `"${resource.etag}"`
    : undefined;
}

async function holds(
  { tree, found, addresses, locks, caller }: DavContext,
  { tag, conditions }: IfList,
): Promise<boolean> {
  const tagged = tag === undefined ? found : await findTagged(tree, addresses, tag);
  if (tagged === undefined) return false;
  const covering = await locks.listCovering(caller.userId, toLockPlace(tagged));
  const isTrue = ({ token, etag }: IfCondition) =>
    token === undefined
      ? etag !== undefined && etag === etagOf(tagged)
      : covering.some((lock) => lock.token === token);
  return conditions.every((condition) => isTrue(condition) !== condition.isNegated);
}

async function findTagged(
  tree: DavTree,
  addresses: DavAddresses,
  tag: string,
): Promise<Found | undefined> {
  try {
    return await tree.find(addresses.parse(tag));
  } catch (error) {
    // Of a resource on another server nothing is known.
    if (error instanceof DavRefusal && error.status === 502) return undefined;
    throw error;
  }
}

/** Refuses with 423 a change of places that others have locked, by the tokens that the client has sent. */
export async function assertUnlocked(
  context: DavContext,
  ...changed: readonly ChangedPlace[]
): Promise<void> {
  const { locks, caller, tokens } = context;
  const blocking = await locks.findBlocking(caller.userId, changed, tokens);
  if (blocking.length > 0) throw await toLocked(context, blocking, "lock-token-submitted");
}

/** Returns the refusal for these locks, with the condition that they break. */
export async function toLocked(
  context: DavContext,
  locks: readonly DavLock[],
  element: "lock-token-submitted" | "no-conflicting-lock",
): Promise<DavRefusal> {
  const shown = await Promise.all(locks.map((lock) => showLock(context, lock)));
  const hrefs = [...new Set(shown.map(({ root }) => root))];
  return new DavRefusal(423, "It is locked by another program.", { condition: { element, hrefs } });
}

/** Returns a lock with the address of its root, as responses show it. */
export async function showLock({ tree, addresses }: DavContext, lock: DavLock): Promise<ShownLock> {
  return { lock, root: addresses.toHref(await tree.toPath(lock.place), false) };
}
