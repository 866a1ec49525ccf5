import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  type DavProperty,
  listDavProperties,
} from "../../../storage/tables/vault/dav-properties.ts";
import { cutUnreadResponse } from "../../http/bytes.ts";
import { type DavContext, type DavMethod, depthOf, showLock } from "./context.ts";
import { covers, type Located } from "./locks.service.ts";
import {
  asksForQuota,
  type PropertyRequest,
  readPropertyRequest,
  type ShownLock,
  writeResponse,
} from "./properties.ts";
import { DavRefusal, notFound } from "./refusals.ts";
import { toLockPlace } from "./spaces.ts";
import type { DavPath } from "./target.ts";
import type { DavResource } from "./tree.ts";
import { DAV, XML_DECLARATION, XML_TYPE } from "./xml.ts";

/** GET and HEAD, with ranges and conditions. */
export const read: DavMethod = async ({ found, request, response, sendBytes }) => {
  const { resource } = found;
  if (resource === undefined) throw notFound();
  if (resource.kind === "folder")
    throw new DavRefusal(
      405,
      "This is a folder. A WebDAV client lists it; a browser shows /vault.",
    );
  return sendBytes(request, response, await resource.open());
};

/** PROPFIND: the properties of a resource, and of everything in a folder. A response is sent as it is made. */
export const propfind: DavMethod = async (context) => {
  const { found, response } = context;
  const depth = depthOf(context);
  const { resource } = found;
  if (resource === undefined) throw notFound();
  // A file has nothing below it, so each depth means the file alone.
  if (depth === "infinity" && resource.kind === "folder")
    throw new DavRefusal(403, "Folders are listed one by one (Depth: 1).", {
      condition: { element: "propfind-finite-depth" },
    });
  const request = readPropertyRequest(await context.readXml());
  const texts = writeAll(context, resource, request, depth === "1");
  // The first part is made before the head is sent: what fails there has a status of its own.
  const first = await texts.next();
  cutUnreadResponse(response);
  response.writeHead(207, {
    "Content-Type": XML_TYPE,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
  });
  const rest = async function* () {
    if (first.done !== true) yield first.value;
    yield* texts;
  };
  try {
    await pipeline(Readable.from(rest()), response);
  } catch (error) {
    // A response that ended here would say that there is nothing else: the connection breaks instead.
    response.destroy();
    throw error;
  }
  return 207;
};

async function* writeAll(
  context: DavContext,
  resource: DavResource,
  request: PropertyRequest,
  isDeep: boolean,
): AsyncGenerator<string> {
  const { found } = context;
  const write = await createWriter(context, request);
  const pages = isDeep && resource.kind === "folder" ? resource.list() : NO_PAGES;
  const listing = pages[Symbol.asyncIterator]();
  // Listed before the head is sent: most storages that fail do so here.
  let page = await listing.next();
  let head = `${XML_DECLARATION}<D:multistatus xmlns:D="DAV:">\n`;
  for await (const text of write([{ resource, path: found.path, place: found.place }])) {
    yield head + text;
    head = "";
  }
  for (; page.done !== true; page = await listing.next()) {
    const shown = page.value.map((each) => ({
      resource: each,
      path: [...found.path, each.name],
      place: `${found.place}/${each.name.normalize("NFC")}`,
    }));
    // Small parts, so that no page holds the event loop.
    for (let at = 0; at < shown.length; at += PART) yield* write(shown.slice(at, at + PART));
  }
  yield "</D:multistatus>\n";
}

const NO_PAGES: AsyncIterable<readonly DavResource[]> = (async function* () {})();
const PART = 100;
/** A text of this length is sent before more is made: each resource may have many locks and properties. */
const TEXT_CHARACTERS = 64 * 1024;

interface Placed {
  readonly resource: DavResource;
  readonly path: DavPath;
  readonly place: string;
}

async function createWriter(context: DavContext, request: PropertyRequest) {
  const { db, clock, locks, caller, addresses } = context;
  const live = asksFor(request, "lockdiscovery") ? await locks.list(caller.userId) : [];
  const shownLocks = await Promise.all(live.map((lock) => showLock(context, lock)));
  const asksForOthers = request.kind !== "some" || request.names.some(({ uri }) => uri !== DAV);

  return async function* (placed: readonly Placed[]): AsyncGenerator<string> {
    const properties = asksForOthers
      ? await listProperties(placed)
      : new Map<string, DavProperty[]>();
    const located: readonly Located[] =
      live.length === 0 ? [] : await locks.locate(caller.userId, placed.map(toLockPlace));
    let text = "";
    for (const [index, { resource, path }] of placed.entries()) {
      const { holder } = resource;
      text += writeResponse(
        {
          resource,
          href: addresses.toHref(path, resource.kind === "folder"),
          locks: toCovering(located[index]),
          properties: properties.get(holder?.itemId ?? holder?.documentId ?? "") ?? [],
          quota:
            resource.kind === "folder" && asksForQuota(request)
              ? await resource.quota?.()
              : undefined,
          now: clock(),
        },
        request,
      );
      if (text.length < TEXT_CHARACTERS) continue;
      yield text;
      text = "";
    }
    if (text !== "") yield text;
  };

  function toCovering(at: Located | undefined): readonly ShownLock[] {
    return at === undefined ? [] : shownLocks.filter(({ lock }) => covers(lock, at));
  }

  async function listProperties(placed: readonly Placed[]) {
    const holders = placed.flatMap(({ resource }) => resource.holder ?? []);
    return Map.groupBy(
      await listDavProperties(db, holders),
      ({ itemId, documentId }) => itemId ?? documentId ?? "",
    );
  }
}

function asksFor(request: PropertyRequest, name: string): boolean {
  return (
    request.kind !== "some" || request.names.some(({ uri, local }) => uri === DAV && local === name)
  );
}
