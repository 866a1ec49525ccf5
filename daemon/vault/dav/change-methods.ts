import { Readable } from "node:stream";
import {
  deleteDavProperties,
  deleteDavProperty,
  listDavProperties,
  putDavProperty,
} from "../../../storage/tables/vault/dav-properties.ts";
import { toMediaType, UNKNOWN_MEDIA_TYPE } from "../../contract/media-type.ts";
import {
  assertUnlocked,
  type DavContext,
  type DavMethod,
  depthOf,
  etagOf,
  headerOf,
} from "./context.ts";
import { isJunk } from "./junk-files.ts";
import { isProtected, writePropstat } from "./properties.ts";
import { DavRefusal, exists, noParent, notFound } from "./refusals.ts";
import { toLockPlace, toWholeChange } from "./spaces.ts";
import { toNewName } from "./target.ts";
import type { DavFile, DavUpload } from "./tree.ts";
import {
  childrenOf,
  escapeText,
  findDav,
  isDav,
  writeName,
  writeXml,
  XML_DECLARATION,
  type XmlElement,
  type XmlName,
} from "./xml.ts";

/** PUT: creates or replaces a file in one step. */
export const put: DavMethod = async (context) => {
  const { found, message, request } = context;
  if (request.headers["content-range"] !== undefined)
    throw new DavRefusal(400, "A file is sent whole, without Content-Range.");
  if (found.resource?.kind === "folder") throw new DavRefusal(405, "This is a folder.");
  if (isFolderAddress(context))
    throw new DavRefusal(409, "An address with a slash at its end is a folder's.");
  const length = headerOf(context, "content-length");
  const type = toMediaType(headerOf(context, "content-type"));
  const file = await storeFile(context, {
    content: message,
    size: length === undefined ? undefined : Number(length),
    contentType: type === UNKNOWN_MEDIA_TYPE ? undefined : type,
  });
  const etag = etagOf({ resource: file });
  return {
    status: found.resource === undefined ? 201 : 204,
    headers: etag === undefined ? {} : { ETag: etag },
  };
};

/** Writes the file at the address of the request: that of a PUT, or the empty one of a lock. */
export async function storeFile(context: DavContext, upload: DavUpload): Promise<DavFile> {
  const { found, junk, caller, db } = context;
  const { resource, folder, place, path } = found;
  await assertUnlocked(context, {
    ...toLockPlace(found),
    isDeep: false,
    changesFolder: resource === undefined,
  });
  if (resource?.kind === "file") return resource.replace(upload, hasOwnCondition(context));
  if (folder === undefined) throw noParent();
  const name = toNewName(path);
  if (isJunk(name)) return junk.store(caller.userId, place, upload);
  const created = await folder.createFile(name, upload);
  // A deleted file of this name may have left some.
  if (created.holder !== undefined) await deleteDavProperties(db, created.holder);
  return created;
}

/** Returns whether the client named the version that it replaces or deletes. */
function hasOwnCondition(context: DavContext): boolean {
  const ifMatch = headerOf(context, "if-match");
  return (
    (ifMatch !== undefined && ifMatch.trim() !== "*") ||
    context.ifLists.some(({ conditions }) => conditions.some(({ etag }) => etag !== undefined))
  );
}

function isFolderAddress({ request }: DavContext): boolean {
  return request.target.endsWith("/");
}

/** MKCOL: creates a folder. */
export const mkcol: DavMethod = async (context) => {
  const { found, message } = context;
  const { headers } = message;
  if (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0)
    throw new DavRefusal(415, "A folder is created without a body.");
  if (found.resource !== undefined) throw exists();
  if (found.folder === undefined) throw noParent();
  const name = toNewName(found.path);
  await assertUnlocked(context, { ...toLockPlace(found), isDeep: false, changesFolder: true });
  await found.folder.createFolder(name);
  const created = await found.folder.find(name);
  if (created?.holder !== undefined) await deleteDavProperties(context.db, created.holder);
  return { status: 201 };
};

/** DELETE: to the trash where there is one. */
export const remove: DavMethod = async (context) => {
  const { found, locks, caller } = context;
  if (found.resource === undefined) throw notFound();
  if (found.resource.kind === "folder" && depthOf(context) !== "infinity")
    throw new DavRefusal(400, "A folder is deleted with everything in it.");
  await assertUnlocked(context, toWholeChange(found));
  await found.resource.remove(hasOwnCondition(context));
  await locks.removeBelow(caller.userId, found.place);
  return { status: 204 };
};

/** Most properties of a resource, and the most bytes of all and of one. Longer names do not fit into an index. */
const PROPERTIES_MAX = 64;
const VALUES_BYTES_MAX = 128 * 1024;
const VALUE_BYTES_MAX = 16 * 1024;
const NAMESPACE_BYTES_MAX = 1024;
const NAME_BYTES_MAX = 255;

interface PropertyChange extends XmlName {
  /** The whole element; undefined to delete the property. */
  readonly value: string | undefined;
}

/** PROPPATCH: sets and deletes the client's own properties, all of them or none. */
export const proppatch: DavMethod = async (context) => {
  const { found, db, newId, addresses } = context;
  const changes = toPropertyChanges(await context.readXml());
  const { resource } = found;
  if (resource === undefined) throw notFound();
  await assertUnlocked(context, { ...toLockPlace(found), isDeep: false, changesFolder: false });
  const { holder } = resource;
  const refused = new Map<XmlName, number>();
  for (const change of changes) {
    if (isProtected(change) || holder === undefined) refused.set(change, 403);
    else if (!fits(change)) refused.set(change, 507);
  }
  if (refused.size === 0 && holder !== undefined) {
    const isStored = await db
      .transaction(async (tx) => {
        for (const { uri: namespace, local: name, value } of changes) {
          if (value === undefined) await deleteDavProperty(tx, holder, { namespace, name });
          else await putDavProperty(tx, holder, { id: newId(), namespace, name, value });
        }
        const values = (await listDavProperties(tx, [holder])).map(({ value }) => value);
        const bytes = values.reduce((sum, value) => sum + Buffer.byteLength(value), 0);
        if (values.length > PROPERTIES_MAX || bytes > VALUES_BYTES_MAX) throw new TooMany();
        return true;
      })
      .catch((error: unknown) => {
        if (error instanceof TooMany) return false;
        throw error;
      });
    if (!isStored) for (const change of changes) refused.set(change, 507);
  }
  const href = escapeText(addresses.toHref(found.path, resource.kind === "folder"));
  const results = changes.map((change) => writeResult(change, refused)).join("");
  return {
    status: 207,
    body: `${XML_DECLARATION}<D:multistatus xmlns:D="DAV:"><D:response><D:href>${href}</D:href>${results}</D:response></D:multistatus>`,
  };
};

/** Rolls back the transaction of a change with too many properties. */
class TooMany extends Error {}

function writeResult(change: PropertyChange, refused: ReadonlyMap<XmlName, number>): string {
  const status = refused.get(change) ?? (refused.size === 0 ? 200 : 424);
  const inside =
    status === 403 && isProtected(change)
      ? "<D:error><D:cannot-modify-protected-property/></D:error>"
      : "";
  return writePropstat(writeName(change), status, inside);
}

function fits({ uri, local, value = "" }: PropertyChange): boolean {
  return (
    Buffer.byteLength(value) <= VALUE_BYTES_MAX &&
    Buffer.byteLength(uri) <= NAMESPACE_BYTES_MAX &&
    Buffer.byteLength(local) <= NAME_BYTES_MAX
  );
}

function toPropertyChanges(root: XmlElement | undefined): PropertyChange[] {
  if (root === undefined || !isDav(root, "propertyupdate"))
    throw new DavRefusal(400, "The body is no propertyupdate.");
  const changes = childrenOf(root).flatMap((part) => {
    const isSet = isDav(part, "set");
    const prop = isSet || isDav(part, "remove") ? findDav(part, "prop") : undefined;
    return (prop === undefined ? [] : childrenOf(prop)).map((element) => ({
      uri: element.uri,
      local: element.local,
      value: isSet ? writeXml(element) : undefined,
    }));
  });
  if (changes.length === 0) throw new DavRefusal(400, "The body changes no property.");
  return changes;
}

/** The bytes of an empty file. */
export function emptyUpload(): DavUpload {
  return { content: Readable.from([]), size: 0, contentType: undefined };
}
