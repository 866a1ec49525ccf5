import type { DavLock } from "../../../storage/tables/vault/dav-locks.ts";
import type { DavProperty } from "../../../storage/tables/vault/dav-properties.ts";
import { toMediaType, UNKNOWN_MEDIA_TYPE } from "../../contract/media-type.ts";
import type { DavResource } from "./tree.ts";
import {
  childrenOf,
  DAV,
  escapeText,
  isDav,
  writeName,
  type XmlElement,
  type XmlName,
} from "./xml.ts";
import { DavRefusal } from "./refusals.ts";

/** The properties that a PROPFIND asks for. */
export type PropertyRequest =
  | { readonly kind: "all"; readonly and: readonly XmlName[] }
  | { readonly kind: "names" }
  | { readonly kind: "some"; readonly names: readonly XmlName[] };

/** The facts that a response shows besides those of the resource. */
export interface ShownResource {
  readonly resource: DavResource;
  readonly href: string;
  /** The locks that cover it, with the addresses of their roots. */
  readonly locks: readonly ShownLock[];
  readonly properties: readonly DavProperty[];
  readonly quota: { readonly used: number; readonly free: number } | undefined;
  /** Epoch milliseconds. */
  readonly now: number;
}

export interface ShownLock {
  readonly lock: DavLock;
  readonly root: string;
}

const NAMES_MAX = 256;

/** Reads the body of a PROPFIND; without one it asks for all properties. */
export function readPropertyRequest(root: XmlElement | undefined): PropertyRequest {
  if (root === undefined) return { kind: "all", and: [] };
  if (!isDav(root, "propfind")) throw new DavRefusal(400, "The body is no propfind.");
  const parts = childrenOf(root);
  const named = (name: string) => parts.find((part) => isDav(part, name));
  const prop = named("prop");
  const include = named("include");
  if (prop !== undefined) return { kind: "some", names: toNames(prop) };
  if (named("allprop") !== undefined)
    return { kind: "all", and: include === undefined ? [] : toNames(include) };
  if (named("propname") !== undefined) return { kind: "names" };
  throw new DavRefusal(400, "The body asks for no properties.");
}

function toNames(element: XmlElement): XmlName[] {
  const names = childrenOf(element).map(({ uri, local }) => ({ uri, local }));
  if (names.length > NAMES_MAX)
    throw new DavRefusal(413, `A request asks for at most ${NAMES_MAX} properties.`);
  return names;
}

type Write = (shown: ShownResource) => string | undefined;

/** The properties that the server computes; undefined where a resource lacks one. */
const live: Readonly<Record<string, Write>> = {
  creationdate: ({ resource }) => {
    const at = resource.createdAt ?? resource.modifiedAt;
    return at === undefined ? undefined : new Date(at).toISOString();
  },
  displayname: ({ resource }) => escapeText(resource.name),
  getcontentlength: ({ resource }) =>
    resource.kind === "folder" || resource.size === undefined ? undefined : String(resource.size),
  getcontenttype: ({ resource }) =>
    resource.kind === "folder"
      ? undefined
      : escapeText(toMediaType(resource.contentType) ?? UNKNOWN_MEDIA_TYPE),
  getetag: ({ resource }) =>
    resource.kind === "folder" || resource.etag === undefined
      ? undefined
      : `"${escapeText(resource.etag)}"`,
  getlastmodified: ({ resource: { modifiedAt } }) =>
    modifiedAt === undefined ? undefined : new Date(modifiedAt).toUTCString(),
  resourcetype: ({ resource }) => (resource.kind === "folder" ? "<D:collection/>" : ""),
  supportedlock: () => SUPPORTED_LOCK,
  lockdiscovery: ({ locks, now }) => locks.map((each) => writeActiveLock(each, now)).join(""),
};

/** Properties that are in a response only if they are asked for by name (RFC 4331, 2). */
const onRequest: Readonly<Record<string, Write>> = {
  "quota-available-bytes": ({ quota }) => quota && String(quota.free),
  "quota-used-bytes": ({ quota }) => quota && String(quota.used),
};

const SUPPORTED_LOCK = ["exclusive", "shared"]
  .map(
    (scope) =>
      `<D:lockentry><D:lockscope><D:${scope}/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>`,
  )
  .join("");

/** Returns whether a property is computed by the server, so that no client sets it. */
export function isProtected({ uri, local }: XmlName): boolean {
  return uri === DAV && (Object.hasOwn(live, local) || Object.hasOwn(onRequest, local));
}

/** Returns whether a request asks for the quota. */
export function asksForQuota(request: PropertyRequest): boolean {
  const names = request.kind === "some" ? request.names : request.kind === "all" ? request.and : [];
  return names.some(({ uri, local }) => uri === DAV && Object.hasOwn(onRequest, local));
}

/** Writes the response element of a resource. */
export function writeResponse(shown: ShownResource, request: PropertyRequest): string {
  const found: string[] = [];
  const missing: string[] = [];
  if (request.kind === "names") {
    for (const [name, write] of Object.entries(live))
      if (write(shown) !== undefined) found.push(`<D:${name}/>`);
    for (const { namespace: uri, name: local } of shown.properties)
      found.push(writeName({ uri, local }));
  } else {
    const wanted = request.kind === "all" ? [...LIVE_NAMES, ...request.and] : request.names;
    for (const name of wanted) {
      const written = writeProperty(shown, name);
      if (written !== undefined) found.push(written);
      else if (request.kind === "some" || request.and.includes(name)) missing.push(writeName(name));
    }
    if (request.kind === "all") for (const { value } of shown.properties) found.push(value);
  }
  return (
    `<D:response><D:href>${escapeText(shown.href)}</D:href>` +
    (found.length > 0 || missing.length === 0 ? writePropstat(found.join(""), 200) : "") +
    (missing.length > 0 ? writePropstat(missing.join(""), 404) : "") +
    "</D:response>\n"
  );
}

const LIVE_NAMES: readonly XmlName[] = Object.keys(live).map((local) => ({ uri: DAV, local }));

function writeProperty(shown: ShownResource, { uri, local }: XmlName): string | undefined {
  if (uri === DAV && (Object.hasOwn(live, local) || Object.hasOwn(onRequest, local))) {
    const content = (live[local] ?? onRequest[local])?.(shown);
    if (content === undefined) return undefined;
    return content === "" ? `<D:${local}/>` : `<D:${local}>${content}</D:${local}>`;
  }
  return shown.properties.find((each) => each.namespace === uri && each.name === local)?.value;
}

/** Writes a group of properties with their status. */
export function writePropstat(properties: string, status: number, inside = ""): string {
  return `<D:propstat><D:prop>${properties}</D:prop><D:status>${statusLine(status)}</D:status>${inside}</D:propstat>`;
}

const PHRASES: Readonly<Record<number, string>> = {
  200: "OK",
  403: "Forbidden",
  404: "Not Found",
  409: "Conflict",
  424: "Failed Dependency",
  507: "Insufficient Storage",
};

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${PHRASES[status] ?? "Error"}`;
}

/** Writes a lock as responses show it. */
export function writeActiveLock({ lock, root }: ShownLock, now: number): string {
  const seconds = Math.max(1, Math.ceil((lock.expiresAt - now) / 1000));
  return (
    `<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:${lock.scope}/></D:lockscope>` +
    `<D:depth>${lock.isDeep ? "infinity" : "0"}</D:depth>${lock.owner}` +
    `<D:timeout>Second-${seconds}</D:timeout>` +
    `<D:locktoken><D:href>${escapeText(lock.token)}</D:href></D:locktoken>` +
    `<D:lockroot><D:href>${escapeText(root)}</D:href></D:lockroot></D:activelock>`
  );
}
