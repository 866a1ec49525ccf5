import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { sendJson } from "./answers.ts";
import { createDavStandIn, destinationOf, type DavStandIn } from "./dav-server.ts";
import type { DavNode } from "./dav-store.ts";
import { portOfArguments, serve, type Served } from "./serve.ts";

export interface NextcloudOptions {
  /** Name to sign in with; the person's id is another. */
  readonly username: string;
  readonly password: string;
  readonly userId: string;
  /** Path prefix of all addresses. */
  readonly base?: string;
  readonly hasTrash?: boolean;
  /** `X-NC-Skip-Trashbin` is known (current versions). */
  readonly skipsTrash?: boolean;
  /** `X-OC-MTime` counts; it does on most storages. */
  readonly keepsTimes?: boolean;
  readonly clock?: () => number;
}

/** A Nextcloud in memory: files with ids, permissions and a trash, and uploads by pieces. */
export interface NextcloudStandIn extends Served {
  readonly dav: DavStandIn;
  readonly files: DavNode;
  readonly uploads: DavNode;
  readonly trash: DavNode;
  setMaintenance(isOn: boolean): void;
  /** Assembles the next upload but loses the response: 504, then 423 for `refusals` requests. */
  assembleSlowly(refusals: number): void;
  /** Restores the last deleted item, as a user does on the trash page. */
  restoreLast(): void;
  /** Permission letters of each item, instead of all. */
  permit(node: DavNode, letters: string): void;
}

const EXCEPTIONS: Readonly<Record<number, string>> = {
  400: "InvalidPath",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  409: "Conflict",
  412: "PreconditionFailed",
  423: "Locked",
};

/** Starts one on a loopback port. */
export async function startNextcloud(
  options: NextcloudOptions,
  port = 0,
): Promise<NextcloudStandIn> {
  const { userId } = options;
  const base = (options.base ?? "").split("/").filter((segment) => segment !== "");
  const filesPath = [...base, "remote.php", "dav", "files", userId];
  const uploadsPath = [...base, "remote.php", "dav", "uploads", userId];
  const trashPath = [...base, "remote.php", "dav", "trashbin", userId, "trash"];
  const origins = new Map<DavNode, readonly string[]>();
  const letters = new Map<DavNode, string>();
  const isBelow = (path: readonly string[], folder: readonly string[]) =>
    folder.every((segment, at) => segment === path[at]);
  let isInMaintenance = false;
  let slowly = 0;

  const dav = createDavStandIn(
    { ...options, base: "/", composes: true, quotaBytes: 1e10, keepsTagsForASecond: true },
    {
      isPublic: (path) => path.at(-1) === "status.php",
      props: (node) => ({
        fileid: String(node.id),
        permissions: letters.get(node) ?? (node.kind === "folder" ? "RGDNVCK" : "RGDNVW"),
        ...trashProps(node),
      }),
      headersOf: (node) => ({
        "oc-fileid": `${String(node.id).padStart(8, "0")}ocstandin`,
        "oc-etag": `"${dav.store.tagOf(node)}"`,
        "x-oc-mtime": "accepted",
      }),
      refuseName: (name) =>
        Buffer.byteLength(name) > 250 || /\\|\.(part|filepart)$/i.test(name) || isReserved(name)
          ? 400
          : undefined,
      errorBody: (status, header) =>
        `<?xml version="1.0" encoding="utf-8"?>\n<d:error xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns"><s:exception>Sabre\\DAV\\Exception\\${EXCEPTIONS[status] ?? "Exception"}</s:exception><s:message>no</s:message>${header === undefined ? "" : `<s:header>${header}</s:header>`}</d:error>`,
      remove: takeAway,
      handle,
    },
  );
  const { store } = dav;
  const files = store.ensure(filesPath);
  const uploads = store.ensure(uploadsPath);
  const trash = store.ensure(trashPath);

  function trashProps(node: DavNode): Readonly<Record<string, string | undefined>> {
    const path = origins.get(node)?.slice(filesPath.length);
    if (path === undefined || !trash.children.has(node.name)) return {};
    return {
      "trashbin-original-location": escapeXml(path.join("/")),
      "trashbin-deletion-time": /\.d(\d+)-/.exec(node.name)?.[1],
    };
  }

  function takeAway(node: DavNode, request: IncomingMessage): void {
    const path = store.pathOf(node);
    const skips = options.skipsTrash !== false && request.headers["x-nc-skip-trashbin"] === "true";
    store.detach(node);
    if (!isBelow(path, filesPath) || skips || options.hasTrash === false) return;
    origins.set(node, path);
    store.attach(node, trash, `${node.name}.d${Math.floor(Date.now() / 1000)}-${node.id}`);
  }

  async function handle(
    request: IncomingMessage,
    response: ServerResponse,
    path: readonly string[],
  ): Promise<boolean> {
    const below = path.slice(base.length);
    if (options.keepsTimes === false) delete request.headers["x-oc-mtime"];
    if (below.join("/") === "status.php") {
      sendJson(response, 200, {
        installed: true,
        maintenance: isInMaintenance,
        needsDbUpgrade: false,
        version: "31.0.5.1",
        versionstring: "31.0.5",
        edition: "",
        productname: "Nextcloud",
      });
      return true;
    }
    if (isInMaintenance) {
      request.resume();
      response.writeHead(503, { "x-nextcloud-maintenance-mode": "1", "retry-after": "120" });
      response.end("<html><body>Maintenance</body></html>");
      return true;
    }
    if (below[0] === "ocs") return answerOcs(request, response, below);
    if (request.method === "PROPFIND" && isReserved(path.at(-1) ?? "")) {
      request.resume();
      dav.say(response, 400);
      return true;
    }
    if (request.method === "MOVE" && isBelow(path, uploadsPath) && path.at(-1) === ".file") {
      assemble(request, response, path);
      return true;
    }
    const trashed = isBelow(path, trashPath) ? store.find(path) : undefined;
    if (request.method === "MOVE" && trashed !== undefined) {
      const isRestoring = destinationOf(request)?.at(-2) === "restore";
      // To sabre/dav, every name in the restore folder is taken.
      const isRefused = request.headers["overwrite"] === "F";
      if (isRestoring && !isRefused) restore(trashed);
      dav.say(response, isRefused ? 412 : isRestoring ? 201 : 403);
      return true;
    }
    // Every change of an upload names its destination; the length of the whole is only needed to assemble it.
    const isUploading = isBelow(path, uploadsPath) && request.method !== "PROPFIND";
    if (isUploading && request.headers["destination"] === undefined) {
      request.resume();
      dav.say(response, 400);
      return true;
    }
    return false;
  }

  function restore(node: DavNode): void {
    const path = origins.get(node);
    const parent = store.find(path?.slice(0, -1) ?? []);
    if (path === undefined || parent === undefined) return;
    store.detach(node);
    store.attach(node, parent, path.at(-1) ?? "");
  }

  function answerOcs(
    request: IncomingMessage,
    response: ServerResponse,
    path: readonly string[],
  ): boolean {
    if (request.headers["ocs-apirequest"] !== "true") {
      dav.say(response, 412);
      return true;
    }
    const meta = { status: "ok", statuscode: 200, message: "OK" };
    const name = path.slice(2).join("/");
    if (name === "cloud/user")
      sendJson(response, 200, { ocs: { meta, data: { id: userId, enabled: true } } });
    else if (name === "cloud/capabilities")
      sendJson(response, 200, {
        ocs: {
          meta,
          data: {
            version: { major: 31, minor: 0, micro: 5, string: "31.0.5" },
            capabilities: {
              dav: { chunking: "1.0", bulkupload: "1.0" },
              files: {
                undelete: options.hasTrash !== false,
                bigfilechunking: true,
                forbidden_filename_characters: ["\\", "/"],
                forbidden_filenames: [".htaccess"],
                forbidden_filename_basenames: ["con"],
                forbidden_filename_extensions: [".part", ".filepart"],
              },
            },
          },
        },
      });
    else sendJson(response, 404, { ocs: { meta: { ...meta, statuscode: 998 }, data: [] } });
    return true;
  }

  function assemble(
    request: IncomingMessage,
    response: ServerResponse,
    path: readonly string[],
  ): void {
    const folder = store.find(path.slice(0, -1));
    const to = destinationOf(request);
    if (folder === undefined) return dav.say(response, 404);
    if (to === undefined) return dav.say(response, 400);
    if (store.find(to) !== undefined && request.headers["overwrite"] === "F")
      return dav.say(response, 412, "Overwrite");
    const condition = /^<[^>]+> \(\[("[^"]+")\]\)$/.exec(String(request.headers["if"] ?? ""))?.[1];
    const there = store.find(to);
    if (request.headers["if"] !== undefined) {
      const tag = there === undefined ? undefined : `"${store.tagOf(there)}"`;
      if (condition === undefined || condition !== tag) return dav.say(response, 412, "If");
    }
    const pieces = [...folder.children.values()].sort((a, b) => a.name.localeCompare(b.name));
    const bytes = Buffer.concat(pieces.map((piece) => piece.bytes));
    if (bytes.length !== Number(request.headers["oc-total-length"])) return dav.say(response, 400);
    const finish = () => {
      const mtime = Number(request.headers["x-oc-mtime"]) * 1000;
      const node = dav.keep(to, bytes, Number.isNaN(mtime) ? undefined : mtime);
      if (node !== undefined) store.detach(folder);
      return node;
    };
    if (slowly > 0) {
      slowly--;
      // The proxy times out; the server continues.
      if (slowly === 0) setTimeout(finish, 20);
      return dav.say(response, slowly === 0 ? 423 : 504);
    }
    if (finish() === undefined) return dav.say(response, 409);
    response.writeHead(201, { "content-length": 0 }).end();
  }

  const served = await serve((request, response) => dav.handle(request, response), port);
  return Object.assign(served, {
    dav,
    files,
    uploads,
    trash,
    setMaintenance(isOn: boolean) {
      isInMaintenance = isOn;
    },
    assembleSlowly(refusals: number) {
      slowly = refusals;
    },
    permit: (node: DavNode, text: string) => void letters.set(node, text),
    restoreLast() {
      const node = [...trash.children.values()].at(-1);
      if (node !== undefined) restore(node);
    },
  });
}

/** Names that no request may have. The second one is not announced. */
function isReserved(name: string): boolean {
  return name === ".htaccess" || name === "web.config";
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

if (import.meta.main) {
  const { origin } = await startNextcloud(
    { username: "anna", password: "app-password", userId: "anna" },
    portOfArguments(),
  );
  process.stdout.write(`${origin} (anna, app-password)\n`);
}
