import type { IncomingMessage, ServerResponse } from "node:http";
import { createThrottle, readBody, sendBytes, sendJson } from "./answers.ts";
import {
  createDriveStore,
  FOLDER,
  type DriveStore,
  type StoredFile,
} from "./google-drive-store.ts";
import {
  parseFields,
  parseQuery,
  Refusal,
  select,
  toErrorBody,
  type Condition,
} from "./google-drive-language.ts";
import { createUploadSessions } from "./google-drive-uploads.ts";
import { createOAuthServer, type OAuthServer } from "./oauth-server.ts";
import { portOfArguments, serve, type Served } from "./serve.ts";

/** How a stand-in of Google Drive behaves. */
export interface GoogleDriveServerOptions {
  readonly port?: number;
  readonly accounts?: readonly string[];
  /** Most entries of a page, whatever `pageSize` asks for: Drive may give fewer, too. */
  readonly pageItems?: number;
  /** Undefined is no limit. */
  readonly limitBytes?: number;
  /** Requests within ten seconds after which 403 `userRateLimitExceeded` is answered. */
  readonly requestsMax?: number;
  readonly accessTokenSeconds?: number;
  readonly clock?: () => number;
}

/**
 * Drives of several people behind the Drive API (v3, and the preconditions of v2), in memory, with a sign-in of their
 * own.
 */
export interface GoogleDriveServer extends Served {
  readonly oauth: OAuthServer;
  readonly store: DriveStore;
  readonly accounts: readonly string[];
  /** Requests that arrived, those for tokens left out. */
  requests(): number;
  /** Upload sessions that are neither finished nor discarded. */
  sessions(): readonly string[];
  /** Freezes listings until reset; lookups of items stay up to date. */
  freezeListings(isFrozen: boolean): void;
  failSecondPage(isFailing: boolean): void;
  /** Searches are answered as incomplete. */
  searchIncompletely(isIncomplete: boolean): void;
  /** Limits the bytes accepted from now on; undefined removes the limit. */
  fill(afterBytes: number | undefined): void;
  /** Makes revisions unreadable, as for users with read access only. */
  hideRevisions(isHidden: boolean): void;
}

export const googleClient = {
  id: "croft.apps.googleusercontent.com",
  secret: "google-secret",
} as const;

const DRIVE_SCOPE = "https://www.googleapis.com/auth/drive";

export async function startGoogleDriveServer(
  options: GoogleDriveServerOptions = {},
): Promise<GoogleDriveServer> {
  const { accounts = ["ann@example.org", "ben@example.org"], clock = Date.now } = options;
  const store = createDriveStore(accounts);
  const sessions = createUploadSessions();
  const issuedIds = new Set<string>();
  const pages = new Map<string, { readonly q: string; readonly rest: readonly StoredFile[] }>();
  const throttle = createThrottle(options.requestsMax ?? Infinity, clock);
  const state = {
    requests: 0,
    frozen: undefined as ReadonlyMap<string, readonly StoredFile[]> | undefined,
    isSecondPageFailing: false,
    isIncomplete: false,
    room: undefined as number | undefined,
    areRevisionsHidden: false,
  };
  const oauth = createOAuthServer({
    paths: { authorize: "/o/oauth2/v2/auth", token: "/token", revoke: "/revoke" },
    clientId: googleClient.id,
    clientSecret: googleClient.secret,
    accounts,
    scopes: [DRIVE_SCOPE],
    offlineParameters: { access_type: "offline", prompt: "consent" },
    ...(options.accessTokenSeconds === undefined
      ? {}
      : { accessTokenSeconds: options.accessTokenSeconds }),
    clock,
  });

  const room = (account: string) =>
    Math.min((options.limitBytes ?? Infinity) - store.usage(account), state.room ?? Infinity);

  /** All fields of a file of v3; undefined for those that this file lacks. */
  function toFile(file: StoredFile): Record<string, unknown> {
    const head = file.revisions.at(-1);
    return {
      kind: "drive#file",
      id: file.id,
      name: file.name,
      mimeType: file.mimeType,
      size: head === undefined ? undefined : String(head.bytes.length),
      md5Checksum: head?.md5,
      headRevisionId: head?.id,
      version: String(file.version),
      createdTime: new Date(file.createdAt).toISOString(),
      modifiedTime: new Date(file.modifiedAt).toISOString(),
      parents: file.parent === undefined ? undefined : [file.parent],
      trashed: store.isTrashed(file),
      explicitlyTrashed: file.isTrashed,
      // Drive states it for files of shared drives only.
      trashedTime: undefined,
      capabilities: { canReadRevisions: head !== undefined && !state.areRevisionsHidden },
      shortcutDetails:
        file.shortcutTarget === undefined ? undefined : { targetId: file.shortcutTarget },
      driveId: undefined,
      resourceKey: undefined,
    };
  }

  function toGuarded(file: StoredFile): Record<string, unknown> {
    const head = file.revisions.at(-1);
    return {
      kind: "drive#file",
      id: file.id,
      etag: tagOf(file),
      title: file.name,
      mimeType: file.mimeType,
      fileSize: head === undefined ? undefined : String(head.bytes.length),
      md5Checksum: head?.md5,
      headRevisionId: head?.id,
      version: String(file.version),
      createdDate: new Date(file.createdAt).toISOString(),
      modifiedDate: new Date(file.modifiedAt).toISOString(),
      parents:
        file.parent === undefined
          ? []
          : [
              {
                kind: "drive#parentReference",
                id: file.parent,
                isRoot: file.parent === store.rootOf(file.owner).id,
              },
            ],
      labels: { trashed: store.isTrashed(file), starred: false, viewed: true },
    };
  }

  function get(account: string, id: string): StoredFile {
    const file = id === "root" ? store.rootOf(account) : store.find(id);
    if (file === undefined || file.owner !== account)
      throw new Refusal(404, "notFound", `File not found: ${id}.`);
    return file;
  }

  function assertTag(request: IncomingMessage, file: StoredFile): void {
    const wanted = request.headers["if-match"];
    if (wanted !== undefined && wanted !== "*" && wanted !== tagOf(file))
      throw new Refusal(412, "conditionNotMet", "Precondition Failed");
  }

  function list(account: string, query: URLSearchParams): unknown {
    const q = query.get("q") ?? "";
    const size = Number(query.get("pageSize") ?? 100);
    if (!Number.isInteger(size) || size < 1 || size > 1000)
      throw new Refusal(400, "invalidParameter", "Invalid value for pageSize");
    const token = query.get("pageToken");
    const page = token === null ? { q, rest: find(account, parseQuery(q)) } : pages.get(token);
    if (page === undefined || page.q !== q)
      throw new Refusal(400, "invalid", "Invalid Value for pageToken");
    if (token !== null && state.isSecondPageFailing)
      throw new Refusal(500, "internalError", "Internal Error");
    const count = Math.min(size, options.pageItems ?? 1000);
    const rest = page.rest.slice(count);
    const next = rest.length === 0 ? undefined : `~!!~${store.newId()}`;
    if (next !== undefined) pages.set(next, { q, rest });
    return {
      kind: "drive#fileList",
      nextPageToken: next,
      incompleteSearch: state.isIncomplete,
      files: page.rest.slice(0, count).map(toFile),
    };
  }

  function find(account: string, wanted: readonly Condition[]): readonly StoredFile[] {
    const parent = wanted.find((condition) => condition.kind === "parent");
    const isTrash = wanted.some((condition) => condition.kind === "trashed" && condition.value);
    // The stand-in does not support other searches.
    if (parent === undefined && !isTrash) throw new Refusal(400, "invalid", "Invalid Value");
    const childrenOf = (id: string) =>
      state.frozen === undefined ? store.children(id) : (state.frozen.get(id) ?? []);
    const children =
      parent === undefined ? store.allOf(account) : childrenOf(get(account, parent.id).id);
    return children.filter((file) =>
      wanted.every((condition) => {
        switch (condition.kind) {
          case "parent":
            return true;
          case "mine":
            return true;
          case "trashed":
            return store.isTrashed(file) === condition.value;
          case "name":
            return file.name.toLowerCase() === condition.value.toLowerCase();
          case "mimeType":
            return file.mimeType === condition.value;
        }
      }),
    );
  }

  function create(
    account: string,
    metadata: Readonly<Record<string, unknown>>,
    bytes: Buffer | undefined,
    contentType?: string,
  ): StoredFile {
    const { id, name = "Untitled", mimeType, parents = ["root"] } = metadata;
    if (id !== undefined) {
      if (store.find(String(id)) !== undefined)
        throw new Refusal(409, "fileIdInUse", "A file already exists with the provided ID.");
      if (!issuedIds.has(String(id)))
        throw new Refusal(400, "invalid", "The provided file ID is not usable.");
    }
    if (!Array.isArray(parents) || parents.length !== 1)
      throw new Refusal(400, "invalid", "A file has one parent");
    const parent = get(account, String(parents[0]));
    if (parent.mimeType !== FOLDER)
      throw new Refusal(403, "parentNotAFolder", "The specified parent is not a folder.");
    const type =
      typeof mimeType === "string" ? mimeType : (contentType ?? "application/octet-stream");
    if (bytes !== undefined && bytes.length > room(account)) throw overQuota();
    return store.add(
      {
        ...(id === undefined ? {} : { id: String(id) }),
        owner: account,
        name: String(name),
        mimeType: type,
        parent: parent.id,
      },
      bytes ?? (type.startsWith("application/vnd.google-apps.") ? undefined : Buffer.alloc(0)),
    );
  }

  /** Changes that v3 and v2 have in common, under their own names. */
  function change(
    file: StoredFile,
    query: URLSearchParams,
    changes: Readonly<Record<string, unknown>>,
  ): void {
    const { name, trashed } = changes;
    const added = query.get("addParents");
    const removed = query.get("removeParents");
    if (added !== null) {
      const folder = get(file.owner, added);
      if (folder.mimeType !== FOLDER)
        throw new Refusal(403, "parentNotAFolder", "The specified parent is not a folder.");
      if (store.isBelow(folder, file.id))
        throw new Refusal(400, "invalid", "A folder cannot hold itself");
      if (removed !== file.parent && folder.id !== file.parent)
        throw new Refusal(
          403,
          "cannotAddParent",
          "Increasing the number of parents is not allowed",
        );
      store.touch(file);
      file.parent = folder.id;
    } else if (removed !== null) throw new Refusal(400, "invalid", "A file has one parent");
    if (typeof name === "string") file.name = name;
    if (typeof trashed === "boolean") store.setTrashed(file, trashed);
    file.modifiedAt = Date.now();
    store.touch(file);
  }

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
  ): Promise<void> {
    const account = oauth.accountOf(request.headers.authorization);
    if (account === undefined) throw new Refusal(401, "authError", "Invalid Credentials");
    const query = url.searchParams;
    const fields = query.get("fields");
    const method = request.method ?? "";
    const send = (status: number, value: unknown, usual: string) =>
      sendJson(response, status, select(value, parseFields(fields ?? usual)));
    const usualFile = "kind,id,name,mimeType";
    const path = url.pathname;
    const parts = path.split("/").slice(3).map(decodeURIComponent);
    const [resource = "", id = "", sub = "", revision = ""] = parts;

    if (path.startsWith("/upload/drive/v3/files"))
      return upload(account, request, response, url, send);
    const replaced = /^\/upload\/drive\/v2\/files\/([^/]+)$/.exec(path)?.[1];
    if (replaced !== undefined && method === "PUT") {
      allow(query, [...common, "uploadType"]);
      const bytes = await readBody(request);
      const file = get(account, decodeURIComponent(replaced));
      assertTag(request, file);
      overwrite(account, file, bytes);
      return send(200, toGuarded(file), "*");
    }
    if (path === "/drive/v3/about" && method === "GET") {
      allow(query, ["fields"]);
      if (fields === null)
        throw new Refusal(400, "required", "The 'fields' parameter is required for this method.");
      return send(200, toAbout(account), fields);
    }
    if (path === "/drive/v3/files" && method === "GET") {
      allow(query, [...common, "q", "pageSize", "pageToken", "includeItemsFromAllDrives"]);
      return send(
        200,
        list(account, query),
        `kind,incompleteSearch,nextPageToken,files(${usualFile})`,
      );
    }
    if (path === "/drive/v3/files" && method === "POST") {
      allow(query, common);
      return send(200, toFile(create(account, await readMetadata(request), undefined)), usualFile);
    }
    if (path === "/drive/v3/files/generateIds" && method === "GET") {
      allow(query, ["fields", "count"]);
      const ids = Array.from({ length: Number(query.get("count") ?? 10) }, () => store.newId());
      for (const one of ids) issuedIds.add(one);
      return send(200, { kind: "drive#generatedIds", space: "drive", ids }, "*");
    }
    if (path === "/drive/v3/files/trash" && method === "DELETE") {
      allow(query, ["fields", "driveId"]);
      for (const one of store.allOf(account)) if (store.isTrashed(one)) store.remove(one);
      return void response.writeHead(204).end();
    }
    if (resource !== "files" || id === "") throw new Refusal(404, "notFound", "Not Found");
    const file = get(account, id);
    const isV3 = path.startsWith("/drive/v3/");
    if (!isV3 && !path.startsWith("/drive/v2/")) throw new Refusal(404, "notFound", "Not Found");

    if (isV3 && sub === "revisions" && method === "GET") {
      allow(query, ["fields", "alt"]);
      if (state.areRevisionsHidden)
        throw new Refusal(
          403,
          "insufficientFilePermissions",
          "The user does not have sufficient permissions.",
        );
      const wanted = file.revisions.find((one) => one.id === revision);
      if (wanted === undefined)
        throw new Refusal(404, "notFound", `Revision not found: ${revision}.`);
      return sendBytes(request, response, wanted.bytes);
    }
    if (isV3 && sub === "" && method === "GET" && query.get("alt") === "media") {
      allow(query, [...common, "alt"]);
      const head = file.revisions.at(-1);
      if (head === undefined)
        throw new Refusal(
          403,
          "fileNotDownloadable",
          "Only files with binary content can be downloaded.",
        );
      return sendBytes(request, response, head.bytes, { "content-type": file.mimeType });
    }
    if (isV3 && sub === "") {
      allow(query, [...common, "addParents", "removeParents"]);
      if (method === "GET") return send(200, toFile(file), usualFile);
      if (method === "PATCH") {
        change(file, query, await readMetadata(request));
        return send(200, toFile(file), usualFile);
      }
      if (method === "DELETE") return removeForGood(response, file);
    }
    if (!isV3 && sub === "") {
      allow(query, [...common, "addParents", "removeParents"]);
      if (method === "GET") return send(200, toGuarded(file), "*");
      if (method === "PATCH") {
        const { title, ...rest } = await readMetadata(request);
        if (Object.keys(rest).length > 0)
          throw new Refusal(400, "invalid", "Unknown name in the body");
        assertTag(request, file);
        change(file, query, { name: title });
        return send(200, toGuarded(file), "*");
      }
      assertTag(request, file);
      if (method === "DELETE") return removeForGood(response, file);
    }
    if (!isV3 && sub === "trash" && method === "POST") {
      allow(query, common);
      assertTag(request, file);
      store.setTrashed(file, true);
      return send(200, toGuarded(file), "*");
    }
    throw new Refusal(404, "notFound", "Not Found");
  }

  /** Adds a revision to a file. */
  function overwrite(account: string, file: StoredFile, bytes: Buffer): void {
    if (file.revisions.length === 0)
      throw new Refusal(403, "fileNotDownloadable", "Only files with binary content have bytes.");
    if (bytes.length > room(account)) throw overQuota();
    store.overwrite(file.id, bytes);
  }

  function removeForGood(response: ServerResponse, file: StoredFile): void {
    store.remove(file);
    response.writeHead(204).end();
  }

  function toAbout(account: string): unknown {
    const limit = options.limitBytes;
    const usage = String(store.usage(account));
    return {
      kind: "drive#about",
      user: {
        kind: "drive#user",
        displayName: account,
        emailAddress: account,
        me: true,
        permissionId: String(accounts.indexOf(account) + 1).padStart(20, "1"),
      },
      storageQuota: {
        limit: limit === undefined ? undefined : String(limit),
        usage,
        usageInDrive: usage,
        usageInDriveTrash: "0",
      },
    };
  }

  async function upload(
    account: string,
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    send: (status: number, value: unknown, usual: string) => void,
  ): Promise<void> {
    const query = url.searchParams;
    const usual = "kind,id,name,mimeType";
    allow(query, [...common, "uploadType", "upload_id"]);
    const sessionId = query.get("upload_id");
    if (request.method === "POST" && query.get("uploadType") === "multipart") {
      const { metadata, contentType, bytes } = parseRelated(request, await readBody(request));
      return send(200, toFile(create(account, metadata, bytes, contentType)), usual);
    }
    if (request.method === "POST" && query.get("uploadType") === "resumable") {
      const metadata = await readMetadata(request);
      const length = request.headers["x-upload-content-length"];
      const parent = (metadata["parents"] as string[] | undefined)?.[0] ?? "root";
      get(account, parent);
      if (Number(length ?? 0) > room(account) || room(account) <= 0) throw overQuota();
      const id = sessions.open({
        account,
        metadata,
        contentType: String(request.headers["x-upload-content-type"] ?? "application/octet-stream"),
        fields: query.get("fields") ?? usual,
        total: length === undefined ? undefined : Number(length),
      });
      const location = `http://${request.headers.host ?? ""}/upload/drive/v3/files?uploadType=resumable&upload_id=${id}`;
      response.writeHead(200, { location, "content-length": "0" }).end();
      return;
    }
    const replaced = /^\/upload\/drive\/v3\/files\/([^/]+)$/.exec(url.pathname)?.[1];
    if (request.method === "PATCH" && replaced !== undefined) {
      const file = get(account, decodeURIComponent(replaced));
      await readMetadata(request);
      const length = request.headers["x-upload-content-length"];
      if (Number(length ?? 0) > room(account)) throw overQuota();
      const id = sessions.open({
        account,
        metadata: { replaces: file.id },
        contentType: file.mimeType,
        fields: query.get("fields") ?? usual,
        total: length === undefined ? undefined : Number(length),
      });
      const location = `http://${request.headers.host ?? ""}/upload/drive/v3/files?uploadType=resumable&upload_id=${id}`;
      response.writeHead(200, { location, "content-length": "0" }).end();
      return;
    }
    if (sessionId === null) throw new Refusal(404, "notFound", "Not Found");
    const session = sessions.find(sessionId);
    if (request.method === "DELETE") {
      sessions.close(sessionId);
      response.writeHead(499, { "content-length": "0" }).end();
      return;
    }
    if (request.method !== "PUT") throw new Refusal(404, "notFound", "Not Found");
    if (session.done === undefined) {
      const progress = await sessions.put(session, request, room(account));
      if (progress === "incomplete") {
        const { received } = session;
        const range: Record<string, string> =
          received === 0 ? {} : { range: `bytes=0-${received - 1}` };
        response.writeHead(308, { ...range, "content-length": "0" }).end();
        return;
      }
      const bytes = Buffer.concat(session.parts);
      const { replaces } = session.metadata;
      if (typeof replaces === "string") overwrite(account, get(account, replaces), bytes);
      session.done =
        typeof replaces === "string"
          ? replaces
          : create(account, session.metadata, bytes, session.contentType).id;
    }
    const file = select(toFile(get(account, session.done)), parseFields(session.fields));
    sendJson(response, 200, file);
  }

  const server = await serve(async (request, response, url) => {
    if (await oauth.handle(request, response, url)) return;
    state.requests += 1;
    try {
      const wait = throttle();
      if (wait !== undefined)
        throw new Refusal(403, "userRateLimitExceeded", "User Rate Limit Exceeded", {
          "retry-after": String(wait),
        });
      await answer(request, response, url);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      request.resume();
      sendJson(response, error.status, toErrorBody(error), error.headers);
    }
  }, options.port);

  return {
    ...server,
    oauth,
    store,
    accounts,
    requests: () => state.requests,
    sessions: () => sessions.list(),
    freezeListings(isFrozen) {
      const all = accounts.flatMap((account) => below(store, store.rootOf(account).id));
      state.frozen = isFrozen ? new Map(all) : undefined;
    },
    failSecondPage(isFailing) {
      state.isSecondPageFailing = isFailing;
    },
    searchIncompletely(isIncomplete) {
      state.isIncomplete = isIncomplete;
    },
    fill(afterBytes) {
      state.room = afterBytes;
    },
    hideRevisions(isHidden) {
      state.areRevisionsHidden = isHidden;
    },
  };
}

const common = ["fields", "supportsAllDrives"];

function allow(query: URLSearchParams, names: readonly string[]): void {
  for (const name of query.keys())
    if (!names.includes(name))
      throw new Refusal(400, "invalidParameter", `Unknown parameter ${name}`);
}

function tagOf({ id, version }: StoredFile): string {
  return `"${Buffer.from(`${id}/${version}`).toString("base64url")}"`;
}

function overQuota(): Refusal {
  return new Refusal(
    403,
    "storageQuotaExceeded",
    "The user's Drive storage quota has been exceeded.",
  );
}

function below(store: DriveStore, folder: string): [string, readonly StoredFile[]][] {
  const children = store.children(folder).map((file) => ({ ...file }));
  return [[folder, children], ...children.flatMap(({ id }) => below(store, id))];
}

async function readMetadata(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const text = (await readBody(request)).toString("utf8");
  return parseJson(text === "" ? "{}" : text);
}

function parseJson(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw new Refusal(400, "parseError", "Parse Error");
  }
}

/** The two parts of a multipart/related upload. */
function parseRelated(request: IncomingMessage, body: Buffer) {
  const boundary = /boundary="?([^";]+)"?/.exec(request.headers["content-type"] ?? "")?.[1];
  const mark = Buffer.from(`--${boundary ?? ""}`);
  const first = body.indexOf(mark);
  const second = body.indexOf(mark, first + mark.length);
  const last = body.lastIndexOf(Buffer.concat([Buffer.from("\r\n"), mark, Buffer.from("--")]));
  if (boundary === undefined || first < 0 || last <= second)
    throw new Refusal(400, "badContent", "Malformed multipart body.");
  const [, metadata] = split(body.subarray(first + mark.length + 2, second - 2));
  const [head, bytes] = split(body.subarray(second + mark.length + 2, last));
  return {
    metadata: parseJson(metadata.toString("utf8")),
    contentType: /content-type: *([^\r\n]+)/i.exec(head)?.[1] ?? "application/octet-stream",
    bytes: Buffer.from(bytes),
  };
}

function split(part: Buffer): readonly [string, Buffer] {
  const end = part.indexOf("\r\n\r\n");
  return [part.subarray(0, end).toString("latin1"), part.subarray(end + 4)];
}

if (import.meta.main) {
  const server = await startGoogleDriveServer({ port: portOfArguments() });
  process.stdout.write(
    `Google Drive's stand-in listens at ${server.origin}\n` +
      `CROFT_GOOGLE_CLIENT_ID=${googleClient.id} CROFT_GOOGLE_CLIENT_SECRET=${googleClient.secret} ` +
      `CROFT_GOOGLE_BASE_URL=${server.origin}\n`,
  );
}
