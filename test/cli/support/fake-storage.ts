import { createHash } from "node:crypto";
import type { FakeAnswer, SeenRequest } from "./fake-daemon.ts";

/** A file or folder of a storage; folders have no bytes. */
export interface FakeItem {
  readonly id: string;
  readonly parent: string;
  readonly name: string;
  readonly bytes?: Buffer;
  readonly modifiedAt?: string;
}

export interface FakeStorage {
  readonly items: FakeItem[];
  /** Answers instead of what the storage would say, where it gives one. */
  override: (
    request: SeenRequest,
    key: string,
  ) => FakeAnswer | undefined | Promise<FakeAnswer | undefined>;
  /** For `fakeDaemon`. */
  readonly answers: Readonly<Record<string, (request: SeenRequest) => Promise<FakeAnswer>>>;
  /** Downloads at one time, at the most. */
  readonly busiest: number;
}

const base = "/api/cloud/connections/c1";

/** Items from paths: `docs/` is a folder, everything else a file with its bytes. */
export function toItems(files: Readonly<Record<string, string | Buffer>>): FakeItem[] {
  return Object.entries(files).map(([path, bytes]) => {
    const id = path.replace(/\/$/, "");
    const name = id.slice(id.lastIndexOf("/") + 1);
    const parent = id.includes("/") ? id.slice(0, id.lastIndexOf("/")) : "";
    return path.endsWith("/")
      ? { id, parent, name }
      : { id, parent, name, bytes: Buffer.from(bytes as string) };
  });
}

/** The daemon's routes of one connection, `home`, with paging, ranges and entity tags as the daemon has them. */
export function fakeStorage(items: FakeItem[], pageSize = 1000): FakeStorage {
  let busy = 0;
  let busiest = 0;
  const storage: FakeStorage = {
    items,
    override: () => undefined,
    get busiest() {
      return busiest;
    },
    answers: new Proxy<Record<string, (request: SeenRequest) => Promise<FakeAnswer>>>(
      {},
      {
        get: (_, key) => async (request: SeenRequest) =>
          (await storage.override(request, String(key))) ?? (await answer(request, String(key))),
      },
    ),
  };
  return storage;

  async function answer(request: SeenRequest, key: string): Promise<FakeAnswer> {
    if (key === "GET /api/cloud/connections") {
      const home = { id: "c1", provider: "local_folder", display_name: "home" };
      return { body: { items: [home], total: 1, page: 1, per_page: 100 } };
    }
    if (key === `GET ${base}/items`) return list(request);
    if (key === `POST ${base}/folders`) return makeFolder(request);
    if (key === `POST ${base}/items/upload`) return upload(request);
    const [, encoded = "", what] = /items\/(.*)\/(download|detail)$/.exec(key) ?? [];
    const id = encoded.split("/").map(decodeURIComponent).join("/");
    const found = items.find((one) => one.id === id);
    if (found === undefined)
      return what === "detail"
        ? { status: 404, body: { detail: "Cloud item not found" } }
        : {
            status: 503,
            body: { detail: "The provider has no file with this id.", reason: "not_found" },
          };
    if (what === "detail") return { body: toWire(found) };
    busy += 1;
    busiest = Math.max(busiest, busy);
    // Long enough for others to come in beside it.
    await new Promise((resolve) => setTimeout(resolve, 5));
    busy -= 1;
    return download(request, found);
  }

  function list({ path }: SeenRequest): FakeAnswer {
    const query = new URL(path, "http://x").searchParams;
    const parent = query.get("parent_ref") ?? "";
    const name = query.get("name");
    const start = Number(query.get("cursor") ?? 0);
    const all = items.filter(
      (one) => one.parent === parent && (name === null || one.name === name),
    );
    const page = all.slice(start, start + pageSize);
    return {
      body: {
        parent_ref: parent,
        refresh_state: "fresh",
        error_code: null,
        error_message: null,
        items: page.map(toWire),
        next_cursor: start + pageSize < all.length ? String(start + pageSize) : null,
      },
    };
  }

  function makeFolder(request: SeenRequest): FakeAnswer {
    const { parent_ref: parent, name } = request.json() as { parent_ref: string; name: string };
    const id = parent === "" ? name : `${parent}/${name}`;
    items.push({ id, parent, name });
    return {
      status: 201,
      body: { kind: "folder", provider_item_id: id, name, parent_ref: parent },
    };
  }

  function upload({ body }: SeenRequest): FakeAnswer {
    const form = body.toString("latin1");
    const field = (name: string) =>
      Buffer.from(
        new RegExp(
          `name="${name}"(?:;[^\\r]*)?\\r\\n(?:Content-Type[^\\r]*\\r\\n)?\\r\\n([^]*?)\\r\\n--`,
        ).exec(form)?.[1] ?? "",
        "latin1",
      );
    const [parent, name] = [field("parent_ref").toString(), field("filename").toString()];
    if (items.some((one) => one.parent === parent && one.name === name))
      return { body: { kind: "conflict", reason: "name_collision", existing_name: name } };
    const id = parent === "" ? name : `${parent}/${name}`;
    const bytes = field("file");
    items.push({ id, parent, name, bytes });
    return {
      body: {
        kind: "uploaded",
        provider_item_id: id,
        name,
        parent_ref: parent,
        size: bytes.byteLength,
      },
    };
  }
}

/** A download as the daemon answers it. */
export function download(
  { headers }: SeenRequest,
  { bytes = Buffer.alloc(0) }: FakeItem,
): FakeAnswer {
  const tag = tagOf(bytes);
  const start = Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? Number.NaN);
  if (Number.isNaN(start) || headers["if-range"] !== tag)
    return { body: bytes, headers: { ETag: tag } };
  if (start >= bytes.byteLength)
    return { status: 416, headers: { ETag: tag, "Content-Range": `bytes */${bytes.byteLength}` } };
  const range = `bytes ${start}-${bytes.byteLength - 1}/${bytes.byteLength}`;
  return {
    status: 206,
    body: bytes.subarray(start),
    headers: { ETag: tag, "Content-Range": range },
  };
}

/** The entity tag of these bytes. */
export function tagOf(bytes: Buffer): string {
  return `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 27)}"`;
}

function toWire({ id, parent, name, bytes, modifiedAt }: FakeItem) {
  return {
    id: `u-${id}`,
    provider_item_id: id,
    name,
    kind: bytes === undefined ? "folder" : "file",
    parent_ref: parent,
    content_type: null,
    size: bytes?.byteLength ?? null,
    modified_at: modifiedAt ?? null,
    etag: null,
  };
}
