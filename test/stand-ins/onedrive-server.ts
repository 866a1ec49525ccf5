import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createQuickXorHash } from "../../storage/cloud/onedrive/quick-xor-hash.ts";
import { createThrottle, readBody, sendBytes, sendJson } from "./answers.ts";
import { createOAuthServer, type OAuthServer } from "./oauth-server.ts";
import { portOfArguments, serve, type Served } from "./serve.ts";
import { createTree, foldName, type Tree, type TreeNode } from "./tree.ts";

/** How a stand-in of Microsoft Graph behaves. */
export interface OneDriveServerOptions {
  readonly port?: number;
  readonly tenant?: string;
  readonly driveType?: "personal" | "business";
  /** Most entries of a page, whatever `$top` asks for. */
  readonly pageItems?: number;
  readonly totalBytes?: number;
  /** Requests within ten seconds after which 429 is answered. */
  readonly requestsMax?: number;
  readonly accessTokenSeconds?: number;
  readonly clock?: () => number;
}

/** One person's drive behind Graph 1.0, in memory, with a sign-in of its own. */
export interface OneDriveServer extends Served {
  readonly oauth: OAuthServer;
  readonly tree: Tree;
  readonly driveId: string;
  /** Requests that arrived, those for tokens left out. */
  requests(): number;
  /** Upload sessions that are neither finished nor discarded. */
  sessions(): readonly string[];
  /** Freezes listings until reset; lookups of items stay up to date. */
  freezeListings(isFrozen: boolean): void;
  failSecondPage(isFailing: boolean): void;
  /** Limits the bytes accepted from now on; undefined removes the limit. */
  fill(afterBytes: number | undefined): void;
  /** Appends a few bytes to uploads, as SharePoint does with documents. */
  alterUploads(isAltering: boolean): void;
  /** The precondition of a delete is refused although it is met, as has been seen. */
  breakDeleteGuard(isBroken: boolean): void;
  /** A personal drive's ids are written in small letters in some answers and in capitals in others, as they are. */
  mixCase(isMixing: boolean): void;
  /** Requests that showed the token to a signed address. */
  leaks(): number;
}

export const oneDriveClient = { id: "croft-onedrive", secret: "onedrive-secret" } as const;

const FRAGMENT_UNIT = 320 * 1024;
const FRAGMENT_BYTES_MAX = 60 * 1024 * 1024;

interface Session {
  readonly parent: string;
  readonly name: string;
  readonly behavior: string;
  /** The item that is replaced. */
  readonly over?: TreeNode;
  readonly parts: Buffer[];
  received: number;
}

export async function startOneDriveServer(
  options: OneDriveServerOptions = {},
): Promise<OneDriveServer> {
  const { driveType = "personal", pageItems = 200, clock = Date.now, tenant = "common" } = options;
  const isPersonal = driveType === "personal";
  const driveId = isPersonal ? "8bf6ae90006c4a4c" : `b!${randomBytes(33).toString("base64url")}`;
  const tree = createTree(() =>
    isPersonal
      ? `${driveId.toUpperCase()}!s${randomUUID().replaceAll("-", "")}`
      : `01${randomUUID().replaceAll("-", "").toUpperCase()}`,
  );
  const oauth = createOAuthServer({
    paths: { authorize: `/${tenant}/oauth2/v2.0/authorize`, token: `/${tenant}/oauth2/v2.0/token` },
    clientId: oneDriveClient.id,
    clientSecret: oneDriveClient.secret,
    accounts: ["mira@example.com"],
    scopes: ["Files.ReadWrite", "offline_access", "User.Read"],
    offlineScope: "offline_access",
    rotates: true,
    ...(options.accessTokenSeconds === undefined
      ? {}
      : { accessTokenSeconds: options.accessTokenSeconds }),
    clock,
  });
  const hashes = new WeakMap<Buffer, string>();
  const sessions = new Map<string, Session>();
  const downloads = new Map<string, { readonly id: string; readonly endsAt: number }>();
  const throttle = createThrottle(options.requestsMax ?? Infinity, clock);
  const total = options.totalBytes ?? 5 * 1024 ** 3;
  const state = {
    requests: 0,
    leaks: 0,
    frozen: undefined as Map<string, readonly TreeNode[]> | undefined,
    isSecondPageFailing: false,
    room: undefined as number | undefined,
    isAltering: false,
    isDeleteGuardBroken: false,
    isMixing: false,
    answers: 0,
  };

  const room = () => Math.min(total - tree.size(), state.room ?? Infinity);

  function hashOf(bytes: Buffer): string {
    const known = hashes.get(bytes);
    if (known !== undefined) return known;
    const hash = createQuickXorHash();
    hash.update(bytes);
    hashes.set(bytes, hash.digest());
    return hash.digest();
  }

  const isDrive = (id: string) =>
    isPersonal ? id.toLowerCase() === driveId.toLowerCase() : id === driveId;

  function find(id: string): TreeNode | undefined {
    const known = tree.find(id);
    if (known !== undefined || !isPersonal) return known;
    const wanted = id.toLowerCase();
    return [tree.root, ...tree.below(tree.root.id)].find(
      (node) => node.id.toLowerCase() === wanted,
    );
  }

  /** An id as the next answer spells it. */
  function spell(id: string): string {
    if (!state.isMixing || !isPersonal) return id;
    state.answers += 1;
    const [drive = "", item] = id.split("!");
    const spelled = state.answers % 2 === 0 ? drive.toLowerCase() : drive.toUpperCase();
    return item === undefined ? spelled : `${spelled}!${item}`;
  }

  function pathOf(node: TreeNode): string {
    const above = node.parent === undefined ? undefined : tree.find(node.parent);
    if (above === undefined) return `/drives/${driveId}/root:`;
    return `${pathOf(above)}/${encodeURIComponent(node.name)}`;
  }

  function toItem(node: TreeNode): Record<string, unknown> {
    const time = new Date(node.modifiedAt).toISOString();
    const above = node.parent === undefined ? undefined : tree.find(node.parent);
    return {
      id: spell(node.id),
      name: node.name,
      size: node.bytes.length,
      eTag: `"{${node.id}},${node.revision}"`,
      cTag: `"c:{${node.id}},${node.content}"`,
      createdDateTime: time,
      lastModifiedDateTime: time,
      fileSystemInfo: { createdDateTime: time, lastModifiedDateTime: time },
      ...(above === undefined
        ? { root: {} }
        : {
            parentReference: {
              driveId: spell(driveId),
              driveType,
              id: spell(above.id),
              path: pathOf(above),
            },
          }),
      ...(node.kind === "folder"
        ? { folder: { childCount: tree.children(node.id).length } }
        : {
            file: {
              mimeType: "application/octet-stream",
              hashes: { quickXorHash: hashOf(node.bytes) },
            },
          }),
    };
  }

  function sendItem(response: ServerResponse, status: number, node: TreeNode, url: URL): void {
    sendJson(response, status, select(toItem(node), url));
  }

  function sendChildren(
    request: IncomingMessage,
    response: ServerResponse,
    node: TreeNode,
    url: URL,
  ) {
    if (url.searchParams.has("$skip")) return sendError(response, 400, "invalidRequest");
    const from = Number(url.searchParams.get("$skiptoken") ?? 0);
    if (from > 0 && state.isSecondPageFailing)
      return sendError(response, 503, "serviceNotAvailable");
    const size = Math.min(Number(url.searchParams.get("$top") ?? 200), pageItems);
    const all = state.frozen?.get(node.id) ?? tree.children(node.id);
    const page = all.slice(from, from + size);
    const next = new URL(url);
    next.host = request.headers.host ?? "";
    next.searchParams.set("$skiptoken", String(from + size));
    sendJson(response, 200, {
      "@odata.context": "https://graph.microsoft.com/v1.0/$metadata#children",
      value: page.map((child) => select(toItem(child), url)),
      ...(from + size < all.length ? { "@odata.nextLink": next.href } : {}),
    });
  }

  /** Puts a finished file into the tree, or says why not. */
  function commit(parent: string, name: string, bytes: Buffer, behavior: string) {
    const folder = tree.find(parent);
    if (folder?.kind !== "folder") return refusal(404, "itemNotFound");
    if (isRefusedName(name)) return refusal(400, "invalidRequest", "nameContainsInvalidCharacters");
    const taken = tree.child(parent, name);
    if (taken !== undefined && (behavior === "fail" || taken.kind === "folder"))
      return refusal(409, "nameAlreadyExists");
    if (bytes.length > room()) return refusal(507, "quotaLimitReached");
    if (state.room !== undefined) state.room -= bytes.length;
    const kept = state.isAltering ? Buffer.concat([bytes, Buffer.from("rewritten")]) : bytes;
    if (taken !== undefined) {
      tree.overwrite(taken.id, kept);
      return { status: 200, node: taken };
    }
    return { status: 201, node: tree.add(parent, name, "file", kept) };
  }

  function sendCommitted(
    response: ServerResponse,
    done: ReturnType<typeof commit>,
    url: URL,
  ): void {
    if ("node" in done) return sendItem(response, done.status, done.node, url);
    sendError(response, done.status, done.code, done.inner);
  }

  /** Puts new bytes into an item, which must have the tag of `If-Match`. */
  async function replace(
    request: IncomingMessage,
    response: ServerResponse,
    node: TreeNode,
    url: URL,
  ): Promise<void> {
    const bytes = await readBody(request);
    const guard = request.headers["if-match"];
    if (node.kind === "folder" || node.parent === undefined)
      return sendError(response, 400, "invalidRequest");
    if (guard !== undefined && (guard !== toItem(node)["eTag"] || state.isDeleteGuardBroken))
      return sendError(response, 412, "resourceModified");
    sendCommitted(response, commit(node.parent, node.name, bytes, "replace"), url);
  }

  /** Opens a session for new bytes of an item, which changes its tag. */
  function createReplacement(
    request: IncomingMessage,
    response: ServerResponse,
    node: TreeNode,
  ): void {
    if (node.kind === "folder" || node.parent === undefined)
      return sendError(response, 400, "invalidRequest");
    tree.touch(node);
    const place = { parent: node.parent, name: node.name };
    openSession(request, response, { ...place, behavior: "replace", over: node });
  }

  function createFolder(response: ServerResponse, node: TreeNode, body: Body, url: URL): void {
    const name = String(body["name"] ?? "");
    if (node.kind !== "folder" || body["folder"] === undefined || isRefusedName(name))
      return sendError(response, 400, "invalidRequest");
    if (tree.child(node.id, name) !== undefined)
      return sendError(response, 409, "nameAlreadyExists");
    sendItem(response, 201, tree.add(node.id, name, "folder"), url);
  }

  function patch(
    request: IncomingMessage,
    response: ServerResponse,
    node: TreeNode,
    body: Body,
    url: URL,
  ) {
    const guard = request.headers["if-match"];
    if (guard !== undefined && guard !== toItem(node)["eTag"])
      return sendError(response, 412, "resourceModified");
    const reference = body["parentReference"] as Body | undefined;
    const parent = String(reference?.["id"] ?? node.parent);
    const name = String(body["name"] ?? node.name);
    const target = find(parent);
    if (node.parent === undefined || !isDrive(String(reference?.["driveId"] ?? driveId)))
      return sendError(response, 400, "invalidRequest");
    if (target === undefined) return sendError(response, 404, "itemNotFound");
    const isInside = target === node || tree.below(node.id).includes(target);
    if (target.kind !== "folder" || isInside || isRefusedName(name))
      return sendError(response, 400, "invalidRequest");
    const taken = tree.child(target.id, name);
    const isRespelled =
      taken === node && name.normalize("NFC") === node.name.normalize("NFC") && name !== node.name;
    if ((taken !== undefined && taken !== node) || isRespelled)
      return sendError(response, 409, "nameAlreadyExists");
    if (node.parent !== target.id || node.name !== name) tree.touch(node);
    node.parent = target.id;
    node.name = name;
    sendItem(response, 200, node, url);
  }

  function remove(
    request: IncomingMessage,
    response: ServerResponse,
    node: TreeNode,
    permanently: boolean,
  ) {
    const guard = request.headers["if-match"];
    const isMet = guard === undefined || guard === toItem(node)["eTag"];
    if (!isMet || (guard !== undefined && state.isDeleteGuardBroken))
      return sendError(response, 412, "resourceModified");
    if (permanently && isPersonal) return sendError(response, 400, "invalidRequest");
    if ([node, ...tree.below(node.id)].some((one) => one.isLocked))
      return sendError(response, 423, "resourceLocked");
    tree.remove(node, permanently);
    response.writeHead(204).end();
  }

  function createSession(
    request: IncomingMessage,
    response: ServerResponse,
    place: Place,
    body: Body,
  ): void {
    const item = (body["item"] ?? {}) as Body;
    const behavior = String(item["@microsoft.graph.conflictBehavior"] ?? "replace");
    const folder = tree.find(place.parent);
    if (folder?.kind !== "folder") return sendError(response, 404, "itemNotFound");
    if (behavior === "fail" && tree.child(place.parent, place.name) !== undefined)
      return sendError(response, 409, "nameAlreadyExists");
    // A work drive reserves a name for the session that was started for it.
    const isHeld = [...sessions.values()].some(
      ({ parent, name }) => parent === place.parent && foldName(name) === foldName(place.name),
    );
    if (!isPersonal && isHeld) return sendError(response, 409, "nameAlreadyExists");
    if (!isPersonal && "fileSize" in item) return sendError(response, 400, "invalidRequest");
    if (room() <= 0 && state.room === 0) return sendError(response, 507, "quotaLimitReached");
    openSession(request, response, { ...place, behavior });
  }

  function openSession(
    request: IncomingMessage,
    response: ServerResponse,
    what: Omit<Session, "parts" | "received">,
  ): void {
    const key = randomBytes(24).toString("base64url");
    sessions.set(key, { ...what, parts: [], received: 0 });
    sendJson(response, 200, {
      uploadUrl: `http://${request.headers.host}/signed/upload/${key}`,
      expirationDateTime: new Date(clock() + 7 * 86_400_000).toISOString(),
      nextExpectedRanges: ["0-"],
    });
  }

  async function answerSession(
    request: IncomingMessage,
    response: ServerResponse,
    key: string,
    url: URL,
  ) {
    const session = sessions.get(key);
    if (session === undefined) return sendError(response, 404, "itemNotFound");
    const progress = {
      expirationDateTime: new Date(clock() + 86_400_000).toISOString(),
      nextExpectedRanges: [`${session.received}-`],
    };
    if (request.method === "GET") return sendJson(response, 200, progress);
    if (request.method === "DELETE") {
      sessions.delete(key);
      return void response.writeHead(204).end();
    }
    const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(request.headers["content-range"] ?? "");
    const bytes = await readBody(request);
    if (range === null) return sendError(response, 400, "invalidRequest");
    const [start, end, whole] = range.slice(1).map(Number) as [number, number, number];
    if (end - start + 1 !== bytes.length || bytes.length > FRAGMENT_BYTES_MAX)
      return sendError(response, 400, "invalidRequest");
    const isLast = end + 1 === whole;
    if (start !== session.received || (!isLast && bytes.length % FRAGMENT_UNIT !== 0))
      return sendError(response, 416, "invalidRange");
    if (bytes.length + session.received > room())
      return sendError(response, 507, "quotaLimitReached");
    session.parts.push(bytes);
    session.received += bytes.length;
    if (!isLast)
      return sendJson(response, 202, { ...progress, nextExpectedRanges: [`${session.received}-`] });
    const { over } = session;
    if (over !== undefined && tree.find(over.id) === undefined)
      return sendError(response, 404, "itemNotFound");
    const done = commit(
      over?.parent ?? session.parent,
      over?.name ?? session.name,
      Buffer.concat(session.parts),
      session.behavior,
    );
    if ("node" in done) sessions.delete(key);
    sendCommitted(response, done, url);
  }

  async function answerGraph(request: IncomingMessage, response: ServerResponse, url: URL) {
    const path = url.pathname.slice("/v1.0".length);
    const { method } = request;
    const drive = /^\/drives\/([^/]+)$/.exec(path)?.[1];
    if (path === "/me/drive" || (drive !== undefined && isDrive(decodeURIComponent(drive)))) {
      const quota = { total, used: tree.size(), remaining: total - tree.size(), state: "normal" };
      return sendJson(response, 200, select({ id: spell(driveId), driveType, quota }, url));
    }
    if (path === "/me/drive/root") return sendItem(response, 200, tree.root, url);
    const place = /^\/drives\/([^/]+)\/items\/([^/:]+)(?::\/([^:]+):)?(?:\/(\w+))?$/.exec(path);
    if (place === null || !isDrive(decodeURIComponent(place[1] ?? "")))
      return sendError(response, 404, "itemNotFound");
    const above = find(decodeURIComponent(place[2] ?? ""));
    const name = place[3] === undefined ? undefined : decodeURIComponent(place[3]);
    const node = above && (name === undefined ? above : tree.child(above.id, name));
    const what = `${method} ${place[4] ?? ""}`;

    if (above !== undefined && name !== undefined && what === "POST createUploadSession")
      return createSession(request, response, { parent: above.id, name }, await readJson(request));
    if (above !== undefined && name !== undefined && what === "PUT content") {
      const behavior = url.searchParams.get("@microsoft.graph.conflictBehavior") ?? "replace";
      const bytes = await readBody(request);
      if (request.headers["if-none-match"] === "*" && node !== undefined && behavior !== "fail")
        return sendError(response, 412, "resourceModified");
      return sendCommitted(response, commit(above.id, name, bytes, behavior), url);
    }
    if (node === undefined) return sendError(response, 404, "itemNotFound");
    switch (what) {
      case "GET ":
        return sendItem(response, 200, node, url);
      case "GET children":
        return sendChildren(request, response, node, url);
      case "GET content": {
        if (node.kind === "folder") return sendError(response, 400, "invalidRequest");
        const key = randomBytes(24).toString("base64url");
        downloads.set(key, { id: node.id, endsAt: clock() + 3_600_000 });
        const location = `http://${request.headers.host}/signed/download/${key}`;
        return void response.writeHead(302, { location }).end();
      }
      case "PUT content":
        return replace(request, response, node, url);
      case "POST createUploadSession":
        return createReplacement(request, response, node);
      case "POST children":
        return createFolder(response, node, await readJson(request), url);
      case "PATCH ":
        return patch(request, response, node, await readJson(request), url);
      case "DELETE ":
        return remove(request, response, node, false);
      case "POST permanentDelete":
        return remove(request, response, node, true);
      default:
        return sendError(response, 405, "notAllowed");
    }
  }

  async function answerSigned(request: IncomingMessage, response: ServerResponse, url: URL) {
    if (request.headers.authorization !== undefined) {
      state.leaks += 1;
      return sendError(response, 401, "unauthenticated");
    }
    const [, , kind, key = ""] = url.pathname.split("/");
    if (kind === "upload") return answerSession(request, response, key, url);
    const download = downloads.get(key);
    const node = download && tree.find(download.id);
    if (download === undefined || clock() > download.endsAt)
      return sendError(response, 401, "unauthenticated");
    if (node === undefined) return sendError(response, 404, "itemNotFound");
    sendBytes(request, response, node.bytes);
  }

  const served = await serve(async (request, response, url) => {
    if (await oauth.handle(request, response, url)) return;
    state.requests += 1;
    const waitSeconds = throttle();
    if (waitSeconds !== undefined)
      return sendError(response, 429, "activityLimitReached", undefined, {
        "retry-after": String(waitSeconds),
      });
    if (url.pathname.startsWith("/signed/")) return answerSigned(request, response, url);
    if (!url.pathname.startsWith("/v1.0/")) return sendError(response, 404, "itemNotFound");
    if (oauth.accountOf(request.headers.authorization) === undefined)
      return sendError(response, 401, "InvalidAuthenticationToken");
    await answerGraph(request, response, url);
  }, options.port);

  return {
    origin: served.origin,
    oauth,
    tree,
    driveId,
    requests: () => state.requests,
    leaks: () => state.leaks,
    sessions: () => [...sessions.values()].map(({ name }) => name),
    freezeListings(isFrozen) {
      const folders = [tree.root, ...tree.below(tree.root.id)];
      state.frozen = isFrozen
        ? new Map(folders.map((node) => [node.id, tree.children(node.id)]))
        : undefined;
    },
    failSecondPage(isFailing) {
      state.isSecondPageFailing = isFailing;
    },
    fill(afterBytes) {
      state.room = afterBytes;
    },
    alterUploads(isAltering) {
      state.isAltering = isAltering;
    },
    mixCase(isMixing) {
      state.isMixing = isMixing;
    },
    breakDeleteGuard(isBroken) {
      state.isDeleteGuardBroken = isBroken;
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

type Body = Readonly<Record<string, unknown>>;

interface Place {
  readonly parent: string;
  readonly name: string;
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly inner: string | undefined;
}

function refusal(status: number, code: string, inner?: string): Refusal {
  return { status, code, inner };
}

function sendError(
  response: ServerResponse,
  status: number,
  code: string,
  inner?: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const innererror = {
    ...(inner === undefined ? {} : { code: inner }),
    "request-id": randomUUID(),
  };
  const message = "What went wrong, in words for people.";
  sendJson(response, status, { error: { code, message, innererror } }, headers);
}

async function readJson(request: IncomingMessage): Promise<Body> {
  return JSON.parse((await readBody(request)).toString() || "{}") as Body;
}

/** `$select`: an item has only the selected members, and its annotations. */
function select(item: Record<string, unknown>, url: URL): Record<string, unknown> {
  const wanted = url.searchParams.get("$select")?.split(",");
  if (wanted === undefined) return item;
  return Object.fromEntries(
    Object.entries(item).filter(([name]) => wanted.includes(name) || name.startsWith("@")),
  );
}

function isRefusedName(name: string): boolean {
  return name === "" || /["*:<>?/\\|]/.test(name) || /^\s|\s$|\.$/.test(name) || name.length > 255;
}

if (import.meta.main) {
  const server = await startOneDriveServer({ port: portOfArguments() });
  process.stdout.write(
    `OneDrive's stand-in listens at ${server.origin}\n` +
      `CROFT_ONEDRIVE_CLIENT_ID=${oneDriveClient.id} CROFT_ONEDRIVE_CLIENT_SECRET=${oneDriveClient.secret} ` +
      "CROFT_ONEDRIVE_TENANT_ID=common " +
      `CROFT_ONEDRIVE_BASE_URL=${server.origin}\n`,
  );
}
