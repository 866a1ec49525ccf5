import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createThrottle, readBody, sendBytes, sendJson } from "./answers.ts";
import { createOAuthServer, type OAuthServer } from "./oauth-server.ts";
import { portOfArguments, serve, type Served } from "./serve.ts";
import { createTree, foldName, type Tree, type TreeNode } from "./tree.ts";

/** How a stand-in of the Dropbox API behaves. */
export interface DropboxServerOptions {
  readonly port?: number;
  /** Most entries of a page, whatever `limit` asks for. */
  readonly pageItems?: number;
  readonly totalBytes?: number;
  /** Requests within ten seconds after which 429 is answered. */
  readonly requestsMax?: number;
  readonly accessTokenSeconds?: number;
  readonly clock?: () => number;
}

/** One person's files behind the Dropbox API v2, in memory, with a sign-in of its own. */
export interface DropboxServer extends Served {
  readonly oauth: OAuthServer;
  readonly tree: Tree;
  /** Requests that arrived, those for tokens left out. */
  requests(): number;
  /** Most changes that ran at the same time. */
  changesAtOnce(): number;
  /** Changes that meet are refused with `too_many_write_operations`. */
  refuseMeetingChanges(isRefusing: boolean): void;
  /** All cursors of listings are good no more. */
  resetCursors(): void;
  failSecondPage(isFailing: boolean): void;
  /** Reports recently created items as missing in the next `times` moves. */
  delayMoves(times: number): void;
  /** Refuses the next `times` commits with `too_many_write_operations` after their bytes have arrived. */
  refuseCommits(times: number): void;
  /** Stores only half of the next `times` pieces and answers them with a failure. */
  halvePieces(times: number): void;
  /** Limits the bytes accepted from now on; undefined removes the limit. */
  fill(afterBytes: number | undefined): void;
}

export const dropboxClient = { id: "croft-dropbox", secret: "dropbox-secret" } as const;

const UPLOAD_BYTES_MAX = 150 * 1024 * 1024;
const BLOCK_BYTES = 4 * 1024 * 1024;
const accountId = "dbid:AAH4f99T0taONIb-OurWxbNQ6ywGRopQngc";

interface Session {
  readonly parts: Buffer[];
  length: number;
  isClosed: boolean;
}

type Body = Readonly<Record<string, unknown>>;

/**
 * The response of an endpoint: a value, or the tags of a refusal from the outermost to the innermost, with the fields
 * of the innermost.
 */
type Said =
  | { readonly value: unknown }
  | { readonly tags: readonly string[]; readonly more?: Body };

const noFile: Said = { tags: ["path", "not_found"] };

export async function startDropboxServer(
  options: DropboxServerOptions = {},
): Promise<DropboxServer> {
  const { pageItems = 500, clock = Date.now } = options;
  const tree = createTree(() => `id:${randomBytes(16).toString("base64url")}`);
  const oauth = createOAuthServer({
    paths: {
      authorize: "/oauth2/authorize",
      token: "/oauth2/token",
      revoke: "/2/auth/token/revoke",
    },
    clientId: dropboxClient.id,
    clientSecret: dropboxClient.secret,
    accounts: ["mira@example.com"],
    scopes: [
      "account_info.read",
      "files.metadata.read",
      "files.content.read",
      "files.content.write",
    ],
    offlineParameters: { token_access_type: "offline" },
    accessTokenSeconds: options.accessTokenSeconds ?? 14_400,
    tokenExtras: () => ({ account_id: accountId, uid: "12345" }),
    clock,
  });
  const cursors = new Map<
    string,
    { readonly entries: readonly (TreeNode | Body)[]; readonly from: number }
  >();
  const hashes = new WeakMap<Buffer, string>();
  const sessions = new Map<string, Session>();
  const throttle = createThrottle(options.requestsMax ?? Infinity, clock);
  const total = options.totalBytes ?? 2 * 1024 ** 3;
  const state = {
    requests: 0,
    changing: 0,
    changesAtOnce: 0,
    isRefusingMeeting: false,
    isSecondPageFailing: false,
    movesToDelay: 0,
    commitsToRefuse: 0,
    piecesToHalve: 0,
    room: undefined as number | undefined,
  };

  const room = () => Math.min(total - tree.size(), state.room ?? Infinity);

  function hashOf(bytes: Buffer): string {
    const hash = hashes.get(bytes) ?? hashContent(bytes);
    hashes.set(bytes, hash);
    return hash;
  }

  function pathOf(node: TreeNode): string {
    const above = node.parent === undefined ? undefined : tree.find(node.parent);
    return above === undefined ? "" : `${pathOf(above)}/${node.name}`;
  }

  function toMetadata(node: TreeNode, withTag = true): Record<string, unknown> {
    const path = pathOf(node);
    const time = `${new Date(node.modifiedAt).toISOString().slice(0, 19)}Z`;
    return {
      ...(withTag ? { ".tag": node.kind } : {}),
      name: node.name,
      id: node.id,
      path_lower: path.normalize("NFC").toLowerCase(),
      path_display: path,
      ...(node.kind === "folder"
        ? {}
        : {
            client_modified: time,
            server_modified: time,
            rev: revOf(node),
            size: node.bytes.length,
            is_downloadable: true,
            content_hash: hashOf(node.bytes),
          }),
    };
  }

  /** The path of a node that may be deleted, with the folders above it. */
  function trashedPathOf(node: TreeNode): string {
    const above =
      tree.find(node.parent ?? "") ?? tree.trashed().find(({ id }) => id === node.parent);
    return above === undefined ? "" : `${trashedPathOf(above)}/${node.name}`;
  }

  /** Deleted nodes whose path is free, the last of each path. */
  function deleted(): ReadonlyMap<string, TreeNode> {
    const found = new Map<string, TreeNode>();
    for (const node of tree.trashed()) {
      const path = trashedPathOf(node);
      const lower = path.normalize("NFC").toLowerCase();
      if (find(path.normalize("NFC")) === undefined) found.set(lower, node);
    }
    return found;
  }

  function toDeleted([lower, node]: readonly [string, TreeNode]): Record<string, unknown> {
    return {
      ".tag": "deleted",
      name: node.name,
      path_lower: lower,
      path_display: trashedPathOf(node),
    };
  }

  function listRevisions(body: Body): Said {
    const path = String(body["path"]).toLowerCase();
    const node = find(body["path"]) ?? deleted().get(path);
    if (node === undefined) return noFile;
    if (node.kind === "folder") return { tags: ["path", "not_file"] };
    const isDeleted = tree.find(node.id) === undefined;
    const entry = { name: node.name, id: node.id, rev: revOf(node), size: node.bytes.length };
    return { value: { is_deleted: isDeleted, entries: [entry] } };
  }

  function restore(body: Body): Said {
    const node = deleted().get(String(body["path"]).toLowerCase());
    if (node === undefined) return { tags: ["path_lookup", "not_found"] };
    if (revOf(node) !== body["rev"]) return { tags: ["invalid_revision"] };
    // Missing folders are made, as Dropbox makes them.
    const place = toPlace(trashedPathOf(node));
    if (!("parent" in place)) return place;
    node.parent = place.parent.id;
    tree.restore(node);
    return { value: toMetadata(node, false) };
  }

  function revOf(node: TreeNode): string {
    return node.content.toString(16).padStart(15, "0");
  }

  /** Finds the node of a path, an id or nothing (the root). */
  function find(place: unknown): TreeNode | undefined {
    if (place === "") return tree.root;
    if (typeof place !== "string") return undefined;
    if (place.startsWith("id:")) return tree.find(place);
    // Paths are kept composed, and found by that spelling only.
    if (place !== place.normalize("NFC")) return undefined;
    let node: TreeNode | undefined = tree.root;
    for (const name of place.split("/").slice(1)) node = node && tree.child(node.id, name);
    return node;
  }

  /** Where a path leads: the folder, made when it is missing as Dropbox does, and the name in it. */
  function toPlace(path: unknown): { readonly parent: TreeNode; readonly name: string } | Said {
    if (typeof path !== "string" || !path.startsWith("/"))
      return { tags: ["path", "malformed_path"] };
    const names = path.split("/").slice(1);
    const name = names.pop() ?? "";
    if (name === "" || name.length > 255 || /[\\]/.test(name) || /[ .]$/.test(name))
      return { tags: ["path", "malformed_path"] };
    if (/^(desktop\.ini|thumbs\.db|\.ds_store|\.dropbox)$/i.test(name))
      return { tags: ["path", "disallowed_name"] };
    let parent = tree.root;
    for (const above of names) {
      const next = tree.child(parent.id, above) ?? tree.add(parent.id, above, "folder");
      if (next.kind === "file") return { tags: ["path", "conflict", "file_ancestor"] };
      parent = next;
    }
    return { parent, name };
  }

  function listFolder(body: Body): Said {
    const node = find(body["path"]);
    if (node === undefined) return noFile;
    if (node.kind === "file") return { tags: ["path", "not_folder"] };
    const isRecursive = body["recursive"] === true;
    const nodes = isRecursive ? tree.below(node.id) : tree.children(node.id);
    const gone = body["include_deleted"] === true ? [...deleted()].map(toDeleted) : [];
    return toPage([...nodes, ...gone], 0, Number(body["limit"] ?? pageItems));
  }

  function toPage(entries: readonly (TreeNode | Body)[], from: number, limit: number): Said {
    const end = from + Math.min(limit, pageItems);
    const cursor = randomBytes(24).toString("base64url");
    cursors.set(cursor, { entries, from: end });
    const page = entries
      .slice(from, end)
      .map((entry) => (".tag" in entry ? entry : toMetadata(entry as TreeNode)));
    return { value: { entries: page, cursor, has_more: end < entries.length } };
  }

  function listMore(body: Body): Said {
    const cursor = cursors.get(String(body["cursor"]));
    if (state.isSecondPageFailing) throw new Unavailable();
    if (cursor === undefined) return { tags: ["reset"] };
    return toPage(cursor.entries, cursor.from, pageItems);
  }

  function createFolder(body: Body): Said {
    const place = toPlace(body["path"]);
    if (!("parent" in place)) return place;
    const taken = tree.child(place.parent.id, place.name);
    if (taken !== undefined) return { tags: ["path", "conflict", taken.kind] };
    const node = tree.add(place.parent.id, place.name, "folder");
    return { value: { metadata: toMetadata(node, false) } };
  }

  function move(body: Body): Said {
    const node = find(body["from_path"]);
    if (node === undefined || node === tree.root) return { tags: ["from_lookup", "not_found"] };
    if (state.movesToDelay-- > 0) return { tags: ["from_lookup", "not_found"] };
    const to = String(body["to_path"]);
    const isSame = foldName(to) === foldName(pathOf(node));
    // A change of case alone is said to be done, and is not.
    if (isSame) return { value: { metadata: toMetadata(node) } };
    if (foldName(to).startsWith(`${foldName(pathOf(node))}/`))
      return { tags: ["duplicated_or_nested_paths"] };
    const place = toPlace(to);
    if (!("parent" in place))
      return "tags" in place ? { tags: ["to", ...place.tags.slice(1)] } : place;
    const taken = tree.child(place.parent.id, place.name);
    if (taken !== undefined) return { tags: ["to", "conflict", taken.kind] };
    node.parent = place.parent.id;
    node.name = place.name;
    tree.touch(node);
    return { value: { metadata: toMetadata(node) } };
  }

  function remove(body: Body): Said {
    const node = find(body["path"]);
    if (node === undefined || node === tree.root) return { tags: ["path_lookup", "not_found"] };
    const rev = body["parent_rev"];
    if (rev !== undefined && rev !== toMetadata(node)["rev"])
      return { tags: ["path_write", "conflict", "file"] };
    if ([node, ...tree.below(node.id)].some((one) => one.isLocked))
      return { tags: ["path_write", "no_write_permission"] };
    const metadata = toMetadata(node);
    tree.remove(node);
    return { value: { metadata } };
  }

  /** Puts a finished file into the tree. `outer` is how the endpoint wraps a refusal. */
  function commit(argument: Body, bytes: Buffer, outer: readonly string[]): Said {
    const path = argument["path"];
    const known = typeof path === "string" && path.startsWith("id:") ? find(path) : undefined;
    if (typeof path === "string" && path.startsWith("id:") && known === undefined)
      return { tags: [...outer, "not_found"] };
    const place = toPlace(known === undefined ? path : pathOf(known));
    if (!("parent" in place))
      return "tags" in place ? { tags: [...outer, ...place.tags.slice(1)] } : place;
    const taken = tree.child(place.parent.id, place.name);
    const isEqual = taken?.kind === "file" && taken.bytes.equals(bytes);
    const mode = argument["mode"];
    const updated = typeof mode === "object" ? (mode as Body)["update"] : undefined;
    const isCurrent = taken?.kind === "file" && updated === toMetadata(taken)["rev"];
    if (taken !== undefined && mode !== "overwrite" && !isCurrent) {
      // Without strict_conflict the same bytes again count as success.
      if (isEqual && argument["strict_conflict"] !== true)
        return { value: toMetadata(taken, false) };
      return { tags: [...outer, "conflict", taken.kind] };
    }
    if (state.commitsToRefuse > 0) {
      state.commitsToRefuse -= 1;
      return { tags: [...outer, "too_many_write_operations"] };
    }
    if (bytes.length > room()) return { tags: [...outer, "insufficient_space"] };
    if (state.room !== undefined) state.room -= bytes.length;
    if (taken !== undefined) tree.overwrite(taken.id, bytes);
    const node = taken ?? tree.add(place.parent.id, place.name, "file", bytes);
    return { value: toMetadata(node, false) };
  }

  function addToSession(argument: Body, bytes: Buffer): Said | Session {
    const cursor = (argument["cursor"] ?? {}) as Body;
    const session = sessions.get(String(cursor["session_id"]));
    if (session === undefined) return { tags: ["not_found"] };
    if (session.isClosed) return { tags: ["closed"] };
    if (cursor["offset"] !== session.length)
      return { tags: ["incorrect_offset"], more: { correct_offset: session.length } };
    const taken = bytes.subarray(0, state.piecesToHalve > 0 ? bytes.length / 2 : undefined);
    session.parts.push(taken);
    session.length += taken.length;
    if (state.piecesToHalve > 0) {
      state.piecesToHalve -= 1;
      throw new Unavailable();
    }
    return session;
  }

  function takeBytes(route: string, argument: Body, bytes: Buffer): Said {
    const said = argument["content_hash"];
    const isOther = said !== undefined && said !== hashContent(bytes);
    switch (route) {
      case "files/upload":
        return isOther
          ? { tags: ["content_hash_mismatch"] }
          : commit(argument, bytes, ["path", "reason"]);
      case "files/upload_session/start": {
        if (isOther) return { tags: ["content_hash_mismatch"] };
        const id = `pid_upload_session:${randomBytes(24).toString("base64url")}`;
        sessions.set(id, {
          parts: [bytes],
          length: bytes.length,
          isClosed: argument["close"] === true,
        });
        return { value: { session_id: id } };
      }
      case "files/upload_session/append_v2": {
        if (isOther) return { tags: ["content_hash_mismatch"] };
        const added = addToSession(argument, bytes);
        return "isClosed" in added ? { value: null } : added;
      }
      default: {
        if (isOther) return { tags: ["content_hash_mismatch"] };
        const added = addToSession(argument, bytes);
        if (!("isClosed" in added))
          return "tags" in added ? { ...added, tags: ["lookup_failed", ...added.tags] } : added;
        const done = commit(argument["commit"] as Body, Buffer.concat(added.parts), ["path"]);
        const { session_id: id } = argument["cursor"] as Body;
        // The appended bytes remain: a session whose commit failed is finished without sending bytes again.
        if ("value" in done) sessions.delete(String(id));
        return done;
      }
    }
  }

  function answerRpc(route: string, body: Body): Said | undefined {
    switch (route) {
      case "users/get_current_account":
        return { value: { account_id: accountId, email: "mira@example.com", disabled: false } };
      case "users/get_space_usage":
        return {
          value: { used: tree.size(), allocation: { ".tag": "individual", allocated: total } },
        };
      case "files/list_folder":
        return listFolder(body);
      case "files/list_folder/continue":
        return listMore(body);
      case "files/get_metadata": {
        const node = find(body["path"]);
        if (node === tree.root) return { tags: ["path", "malformed_path"] };
        return node === undefined ? noFile : { value: toMetadata(node) };
      }
      case "files/create_folder_v2":
        return createFolder(body);
      case "files/move_v2":
        return move(body);
      case "files/delete_v2":
        return remove(body);
      case "files/list_revisions":
        return listRevisions(body);
      case "files/restore":
        return restore(body);
      default:
        return undefined;
    }
  }

  function download(request: IncomingMessage, response: ServerResponse, argument: Body): void {
    const place = String(argument["path"] ?? "");
    const node = place.startsWith("rev:")
      ? tree.below(tree.root.id).find((one) => toMetadata(one)["rev"] === place.slice(4))
      : find(place);
    if (node === undefined) return sendSaid(response, noFile);
    if (node.kind === "folder") return sendSaid(response, { tags: ["path", "not_file"] });
    const result = JSON.stringify(toMetadata(node, false)).replace(
      /[\u007f-\uffff]/g,
      (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    sendBytes(request, response, node.bytes, {
      "dropbox-api-result": result,
      etag: `W/"${String(toMetadata(node)["rev"])}"`,
    });
  }

  async function answer(request: IncomingMessage, response: ServerResponse, route: string) {
    const header = request.headers["dropbox-api-arg"];
    if (route === "files/download") {
      const argument = parse(String(header ?? ""));
      return argument === undefined
        ? sendText(response, 400, "Error in call to API function: no arguments")
        : download(request, response, argument);
    }
    const isContent = /^files\/(upload|upload_session\/(start|append_v2|finish))$/.test(route);
    const bytes = await readBody(request);
    if (isContent) {
      const argument = parse(String(header ?? ""));
      const type = request.headers["content-type"];
      if (argument === undefined || type !== "application/octet-stream")
        return sendText(response, 400, "Error in call to API function: bad arguments");
      if (bytes.length > UPLOAD_BYTES_MAX)
        return sendSaid(response, { tags: ["payload_too_large"] });
      return sendSaid(response, takeBytes(route, argument, bytes));
    }
    const argument = bytes.toString() === "null" ? {} : parse(bytes.toString());
    if (argument === undefined || request.headers["content-type"] !== "application/json")
      return sendText(response, 400, "Error in call to API function: bad arguments");
    const said = answerRpc(route, argument);
    if (said === undefined) return sendText(response, 404, "Unknown API function");
    sendSaid(response, said);
  }

  async function answerChange(request: IncomingMessage, response: ServerResponse, route: string) {
    if (state.isRefusingMeeting && state.changing > 0) {
      request.resume();
      const reason = { ".tag": "too_many_write_operations" };
      const error = { reason, retry_after: 1 };
      const headers = { "retry-after": "1" };
      return sendJson(
        response,
        429,
        { error_summary: "too_many_write_operations/.", error },
        headers,
      );
    }
    state.changing += 1;
    state.changesAtOnce = Math.max(state.changesAtOnce, state.changing);
    try {
      await new Promise((done) => setImmediate(done));
      await answer(request, response, route);
    } finally {
      state.changing -= 1;
    }
  }

  const served = await serve(async (request, response, url) => {
    if (url.pathname !== "/2/auth/token/revoke" && (await oauth.handle(request, response, url)))
      return;
    state.requests += 1;
    const waitSeconds = throttle();
    if (waitSeconds !== undefined) {
      request.resume();
      // Its body may be plain text.
      response.writeHead(429, { "retry-after": String(waitSeconds), "content-type": "text/plain" });
      return void response.end("Too many requests");
    }
    if (request.method !== "POST" || !url.pathname.startsWith("/2/"))
      return sendText(response, 404, "Unknown API function");
    if (oauth.accountOf(request.headers.authorization) === undefined) {
      request.resume();
      const error = { ".tag": "expired_access_token" };
      return sendJson(response, 401, { error_summary: "expired_access_token/..", error });
    }
    const route = url.pathname.slice("/2/".length);
    const isChange =
      /^files\/(create_folder_v2|move_v2|delete_v2|restore|upload|upload_session\/finish)$/;
    try {
      await (isChange.test(route) ? answerChange : answer)(request, response, route);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      sendText(response, 503, "Service unavailable");
    }
  }, options.port);

  return {
    origin: served.origin,
    oauth,
    tree,
    requests: () => state.requests,
    changesAtOnce: () => state.changesAtOnce,
    refuseMeetingChanges(isRefusing) {
      state.isRefusingMeeting = isRefusing;
    },
    resetCursors: () => cursors.clear(),
    failSecondPage(isFailing) {
      state.isSecondPageFailing = isFailing;
    },
    delayMoves(times) {
      state.movesToDelay = times;
    },
    refuseCommits(times) {
      state.commitsToRefuse = times;
    },
    halvePieces(times) {
      state.piecesToHalve = times;
    },
    fill(afterBytes) {
      state.room = afterBytes;
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

class Unavailable extends Error {}

function sendSaid(response: ServerResponse, said: Said): void {
  if ("value" in said) return sendJson(response, 200, said.value);
  const summary = `${said.tags.filter((tag) => tag !== "reason").join("/")}/..`;
  sendJson(response, 409, { error_summary: summary, error: toError(said.tags, said.more) });
}

/** Nested as Dropbox nests: each tag's content lies under its name; `reason` is a member without a tag of its own. */
function toError(tags: readonly string[], more: Body = {}): Body {
  const [tag = "other", next, ...rest] = tags;
  if (next === undefined) return { ".tag": tag, ...more };
  if (next === "reason") return { ".tag": tag, reason: toError(rest, more) };
  return { ".tag": tag, [tag]: toError([next, ...rest], more) };
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain" }).end(text);
}

function parse(text: string): Body | undefined {
  try {
    return JSON.parse(text) as Body;
  } catch {
    return undefined;
  }
}

/** SHA-256 over the SHA-256 of each block of 4 MiB. */
function hashContent(bytes: Buffer): string {
  const whole = createHash("sha256");
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES)
    whole.update(
      createHash("sha256")
        .update(bytes.subarray(at, at + BLOCK_BYTES))
        .digest(),
    );
  return whole.digest("hex");
}

if (import.meta.main) {
  const server = await startDropboxServer({ port: portOfArguments() });
  process.stdout.write(
    `Dropbox's stand-in listens at ${server.origin}\n` +
      `CROFT_DROPBOX_CLIENT_ID=${dropboxClient.id} CROFT_DROPBOX_CLIENT_SECRET=${dropboxClient.secret} ` +
      `CROFT_DROPBOX_BASE_URL=${server.origin}\n`,
  );
}
