import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { readBody, sendBytes } from "./answers.ts";
import { createDavStore, type DavNode, type DavStore } from "./dav-store.ts";
import { portOfArguments, serve, type Served } from "./serve.ts";

/** Ways in which real servers differ from RFC 4918, or from each other. */
export interface DavQuirks {
  /** `If-Match` and `If-None-Match` of changes are ignored (nginx, rclone). */
  readonly ignoresConditions?: boolean;
  /** `weak_first`: weak for a second after a write, and refused as long (Apache). */
  readonly tags?: "strong" | "weak_first" | "none";
  /** Reports a refused move in a multistatus (lighttpd, nephele). */
  readonly refusesIn207?: boolean;
  /** Answers 201 when the folder to create already exists (rclone). */
  readonly makesTwice?: boolean;
  /** Neither case nor normal form tells names apart. */
  readonly mixesSpellings?: boolean;
  /** Names that begin with a dot are refused, as a common line in servers' configurations does. */
  readonly refusesDotNames?: boolean;
  /** Every request about a name with a backslash is answered 400 (Tomcat). */
  readonly refusesBackslashes?: boolean;
  /** Names that begin with a dot are taken, and left out of every listing (nginx). */
  readonly hidesDotNames?: boolean;
  /** Names are kept in composed form (Nextcloud). */
  readonly composes?: boolean;
  /** A change within the second of the one before keeps the tag, whatever its size, as on Nextcloud. */
  readonly keepsTagsForASecond?: boolean;
  /** `href`s are whole addresses, with a host of their own (behind a proxy). */
  readonly hrefHost?: string;
  /** `Destination` is taken without scheme and host only. */
  readonly wantsPathDestination?: boolean;
  /** A `Destination` ends at `?` and `;`, encoded or not (WsgiDAV). */
  readonly cutsDestinations?: boolean;
  /** The bytes of an interrupted upload are kept (rclone). */
  readonly keepsTruncated?: boolean;
  /** Reported as the quota of every folder. */
  readonly quotaBytes?: number;
}

export interface DavServerOptions extends DavQuirks {
  readonly username: string;
  readonly password: string;
  /** Path of the folder that is served; `/dav` when absent. */
  readonly base?: string;
  readonly clock?: () => number;
}

/** The differences of a stand-in that is built on this one; undefined for the behaviour here. */
export interface DavHooks {
  /** Whether a request needs no password. */
  isPublic?(path: readonly string[]): boolean;
  /** Further properties, by the requested name. */
  props?(node: DavNode): Readonly<Record<string, string | undefined>>;
  /** Answers in its place. */
  handle?(
    request: IncomingMessage,
    response: ServerResponse,
    path: readonly string[],
  ): Promise<boolean>;
  /** Moves a deleted node, for example to a trash; without it the node is deleted permanently. */
  remove?(node: DavNode, request: IncomingMessage): void;
  /** The status that refuses a name. */
  refuseName?(name: string): number | undefined;
  /** Body of a refusal. */
  errorBody?(status: number, header: string | undefined): string;
  /** Headers of a created or moved item. */
  headersOf?(node: DavNode): Readonly<Record<string, string>>;
}

/** A DAV server in memory. */
export interface DavStandIn {
  readonly store: DavStore;
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Stores a file like an upload; undefined when its folder is missing. */
  keep(path: readonly string[], bytes: Buffer, modifiedAt?: number): DavNode | undefined;
  /** Answers with a refusal. */
  say(response: ServerResponse, status: number, header?: string): void;
  /** From now on the server appends bytes to uploads. */
  alterUploads(isOn: boolean): void;
}

const LOCAL_NAMES = /<(?:[\w.-]+:)?([\w.-]+)[^>]*\/?>/g;

/** Creates one without a port. */
export function createDavStandIn(options: DavServerOptions, hooks: DavHooks = {}): DavStandIn {
  const clock = options.clock ?? Date.now;
  const store = createDavStore({ ...options, clock });
  store.ensure(toSegments(options.base ?? "/dav"));
  const authorization = `Basic ${Buffer.from(`${options.username}:${options.password}`).toString("base64")}`;
  let alters = false;

  function say(response: ServerResponse, status: number, header?: string): void {
    const body = hooks.errorBody?.(status, header) ?? "";
    const type = body === "" ? {} : { "content-type": "application/xml; charset=utf-8" };
    response.writeHead(status, { ...type, "content-length": Buffer.byteLength(body) }).end(body);
  }

  function tagOf(node: DavNode): string | undefined {
    if (options.tags === "none") return undefined;
    const isWeak = options.tags === "weak_first" && clock() - node.writtenAt < 1_000;
    return `${isWeak ? "W/" : ""}"${store.tagOf(node)}"`;
  }

  /** The precondition that fails. */
  function failing(request: IncomingMessage, node: DavNode | undefined): string | undefined {
    if (options.ignoresConditions === true) return undefined;
    const match = request.headers["if-match"];
    const tag = node === undefined ? undefined : tagOf(node);
    const isWeak = tag?.startsWith("W/") === true;
    if (match !== undefined && (tag === undefined || isWeak || match !== tag)) return "If-Match";
    if (request.headers["if-none-match"] === "*" && node !== undefined) return "If-None-Match";
    return undefined;
  }

  function propstat(node: DavNode, names: readonly string[]): string {
    const isFolder = node.kind === "folder";
    const known: Record<string, string | undefined> = {
      resourcetype: isFolder ? "<D:collection/>" : "",
      getcontentlength: isFolder ? undefined : String(node.bytes.length),
      getlastmodified: new Date(node.modifiedAt).toUTCString(),
      getetag: escape(tagOf(node)),
      getcontenttype: isFolder ? undefined : "application/octet-stream",
      "quota-used-bytes":
        options.quotaBytes === undefined
          ? undefined
          : String(store.all(store.root).reduce((sum, { bytes }) => sum + bytes.length, 0)),
      "quota-available-bytes": options.quotaBytes?.toString(),
      ...hooks.props?.(node),
    };
    const lines = (isKnown: boolean) =>
      names
        .filter((name) => (known[name] !== undefined) === isKnown)
        .map((name) => `<D:${name}>${known[name] ?? ""}</D:${name}>`)
        .map((line) => (/fileid|permissions/.test(line) ? line.replace(/D:/g, "o:") : line))
        .map((line) => (line.startsWith("<D:trashbin") ? line.replace(/D:/g, "n:") : line))
        .join("");
    const [found, missing] = [lines(true), lines(false)];
    const group = (props: string, status: string) =>
      props === ""
        ? ""
        : `<D:propstat><D:prop>${props}</D:prop><D:status>HTTP/1.1 ${status}</D:status></D:propstat>`;
    return group(found, "200 OK") + group(missing, "404 Not Found");
  }

  async function propfind(request: IncomingMessage, response: ServerResponse, node: DavNode) {
    const body = (await readBody(request)).toString();
    const asked = [...body.matchAll(LOCAL_NAMES)].map((found) => found[1] ?? "");
    const names = asked.filter((name) => name !== "propfind" && name !== "prop" && name !== "xml");
    const children = [...(request.headers["depth"] === "1" ? node.children.values() : [])].filter(
      ({ name }) => options.hidesDotNames !== true || !name.startsWith("."),
    );
    response.writeHead(207, {
      "content-type": "application/xml; charset=utf-8",
      date: new Date(clock()).toUTCString(),
    });
    response.write(
      `<?xml version="1.0"?>\n<D:multistatus xmlns:D="DAV:" xmlns:o="http://owncloud.org/ns" xmlns:n="http://nextcloud.org/ns">`,
    );
    for (const each of [node, ...children])
      response.write(
        `<D:response><D:href>${escape(hrefOf(each))}</D:href>${propstat(each, names.length === 0 ? ["resourcetype"] : names)}</D:response>\n`,
      );
    response.end("</D:multistatus>");
  }

  function hrefOf(node: DavNode): string {
    const path = store.pathOf(node).map((segment) => `/${encodeURIComponent(segment)}`);
    return `${options.hrefHost ?? ""}${path.join("")}${node.kind === "folder" ? "/" : ""}`;
  }

  async function put(request: IncomingMessage, response: ServerResponse, path: readonly string[]) {
    const name = path.at(-1) ?? "";
    const refusal = hooks.refuseName?.(name);
    if (refusal !== undefined) return refuseBody(request, response, refusal);
    const condition = failing(request, store.find(path));
    if (condition !== undefined) return refuseBody(request, response, 412, condition);
    const parent = store.find(path.slice(0, -1));
    if (parent?.kind !== "folder") return refuseBody(request, response, 409);
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch {
      if (options.keepsTruncated === true) keep(path, Buffer.concat(chunks));
      return;
    }
    const bytes = Buffer.concat(alters ? [...chunks, Buffer.from("altered")] : chunks);
    // The tree may have changed while the bytes arrived.
    const late = failing(request, store.find(path));
    if (late !== undefined) return say(response, 412, late);
    const existed = store.find(path) !== undefined;
    const mtime = Number(request.headers["x-oc-mtime"]) * 1000;
    const node = keep(path, bytes, Number.isNaN(mtime) ? undefined : mtime);
    if (node === undefined) return say(response, 409);
    response
      .writeHead(existed ? 204 : 201, { "content-length": 0, ...hooks.headersOf?.(node) })
      .end();
  }

  function keep(path: readonly string[], bytes: Buffer, modifiedAt?: number): DavNode | undefined {
    const parent = store.find(path.slice(0, -1));
    if (parent?.kind !== "folder") return undefined;
    const existing = store.find(path);
    if (existing?.kind === "folder") return undefined;
    const node = existing ?? store.add(parent, path.at(-1) ?? "", "file");
    store.write(node, bytes, modifiedAt);
    return node;
  }

  async function refuseBody(
    request: IncomingMessage,
    response: ServerResponse,
    status: number,
    header?: string,
  ) {
    await buffer(request);
    say(response, status, header);
  }

  function mkcol(response: ServerResponse, path: readonly string[]): void {
    const existing = store.find(path);
    if (existing !== undefined)
      return say(response, options.makesTwice === true && existing.kind === "folder" ? 201 : 405);
    const refusal = hooks.refuseName?.(path.at(-1) ?? "");
    if (refusal !== undefined) return say(response, refusal);
    const parent = store.find(path.slice(0, -1));
    if (parent?.kind !== "folder") return say(response, 409);
    store.add(parent, path.at(-1) ?? "", "folder");
    say(response, 201);
  }

  function move(request: IncomingMessage, response: ServerResponse, node: DavNode): void {
    const whole = destinationOf(request, options.wantsPathDestination === true);
    const to = options.cutsDestinations ? whole?.join("/").split(/[?;]/)[0]?.split("/") : whole;
    if (to === undefined) return say(response, 400);
    const condition = failing(request, node);
    if (condition !== undefined) return say(response, 412, condition);
    const refusal = hooks.refuseName?.(to.at(-1) ?? "");
    if (refusal !== undefined) return say(response, refusal);
    const from = store.pathOf(node);
    if (from.every((segment, at) => segment === to[at])) return say(response, 403);
    const parent = store.find(to.slice(0, -1));
    if (parent?.kind !== "folder") return say(response, 409);
    const taken = store.find(to);
    if (taken === node && options.mixesSpellings === true) {
      // The same item in another spelling: nothing happens, as on most of these servers.
      return say(response, 204);
    }
    if (taken !== undefined && request.headers["overwrite"] === "F") {
      if (options.refusesIn207 !== true) return say(response, 412, "Overwrite");
      const body = `<?xml version="1.0"?><D:multistatus xmlns:D="DAV:"><D:response><D:href>${escape(hrefOf(taken))}</D:href><D:status>HTTP/1.1 412 Precondition Failed</D:status></D:response></D:multistatus>`;
      response.writeHead(207, { "content-type": "application/xml" }).end(body);
      return;
    }
    if (taken !== undefined) store.detach(taken);
    store.detach(node);
    store.attach(node, parent, to.at(-1) ?? "");
    response
      .writeHead(taken === undefined ? 201 : 204, {
        "content-length": 0,
        ...hooks.headersOf?.(node),
      })
      .end();
  }

  function remove(request: IncomingMessage, response: ServerResponse, node: DavNode): void {
    const condition = failing(request, node);
    if (condition !== undefined) return say(response, 412, condition);
    const locked = store.all(node).filter((each) => each.isLocked);
    if (locked.length === 0) {
      if (hooks.remove === undefined) store.detach(node);
      else hooks.remove(node, request);
      return say(response, 204);
    }
    const spared = new Set(locked.flatMap((each) => lineOf(each)));
    for (const each of store.all(node)) if (!spared.has(each)) store.detach(each);
    const parts = locked.map(
      (each) =>
        `<D:response><D:href>${escape(hrefOf(each))}</D:href><D:status>HTTP/1.1 423 Locked</D:status></D:response>`,
    );
    response
      .writeHead(207, { "content-type": "application/xml" })
      .end(`<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">${parts.join("")}</D:multistatus>`);
  }

  function lineOf(node: DavNode): DavNode[] {
    return node.parent === undefined ? [node] : [node, ...lineOf(node.parent)];
  }

  return {
    store,
    say,
    keep: (path, bytes, modifiedAt) =>
      keep(path, alters ? Buffer.concat([bytes, Buffer.from("altered")]) : bytes, modifiedAt),
    alterUploads(isOn) {
      alters = isOn;
    },

    async handle(request, response) {
      const path = toSegments((request.url ?? "/").split("?")[0] ?? "/");
      if (path === undefined) return say(response, 400);
      const isOpen = hooks.isPublic?.(path) === true;
      if (!isOpen && request.headers.authorization !== authorization) {
        request.resume();
        response.writeHead(401, { "www-authenticate": 'Basic realm="dav"' }).end();
        return;
      }
      if (options.refusesDotNames === true && path.some((segment) => segment.startsWith(".")))
        return refuseBody(request, response, 403);
      const places = [path, destinationOf(request, options.wantsPathDestination) ?? []];
      if (options.refusesBackslashes === true && places.flat().some((name) => name.includes("\\")))
        return refuseBody(request, response, 400);
      if ((await hooks.handle?.(request, response, path)) === true) return;
      const { method } = request;
      if (method === "PUT") return put(request, response, path);
      if (method === "MKCOL") return mkcol(response, path);
      if (method === "OPTIONS") {
        response.writeHead(200, { dav: "1, 3", allow: "GET, PUT, PROPFIND" }).end();
        return;
      }
      const node = store.find(path);
      if (node === undefined) return refuseBody(request, response, 404);
      switch (method) {
        case "PROPFIND":
          return propfind(request, response, node);
        case "GET": {
          if (node.kind === "folder") return say(response, 405);
          const etag = tagOf(node);
          return sendBytes(request, response, node.bytes, {
            ...(etag === undefined ? {} : { etag }),
            "last-modified": new Date(node.modifiedAt).toUTCString(),
          });
        }
        case "MOVE":
          return move(request, response, node);
        case "DELETE":
          return remove(request, response, node);
        default:
          return say(response, 405);
      }
    },
  };
}

/** The decoded segments of a path; undefined when it cannot be decoded or leads elsewhere. */
function toSegments(path: string): readonly string[] {
  return path
    .split("/")
    .filter((segment) => segment !== "")
    .map((segment) => decodeURIComponent(segment));
}

/** Where a `Destination` points; undefined when the server does not take it like that. */
export function destinationOf(
  request: IncomingMessage,
  wantsPath = false,
): readonly string[] | undefined {
  const text = String(request.headers["destination"] ?? "");
  const path = /^https?:\/\/[^/]+(\/.*)$/.exec(text)?.[1];
  if (wantsPath ? path !== undefined : path === undefined) return undefined;
  return toSegments(path ?? text);
}

function escape(text: string | undefined): string | undefined;
function escape(text: string): string;
function escape(text: string | undefined): string | undefined {
  return text
    ?.replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Starts one on a loopback port. */
export async function startDavStandIn(
  options: DavServerOptions,
  port = 0,
): Promise<Served & { readonly dav: DavStandIn }> {
  const dav = createDavStandIn(options);
  const served = await serve((request, response) => dav.handle(request, response), port);
  return Object.assign(served, { dav });
}

if (import.meta.main) {
  const { origin } = await startDavStandIn(
    { username: "anna", password: "secret" },
    portOfArguments(),
  );
  process.stdout.write(`${origin}/dav (anna, secret)\n`);
}
