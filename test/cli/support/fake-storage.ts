import { createHash } from "node:crypto";
import { pack } from "tar-stream";
import type { FakeAnswer, RecordedRequest } from "./fake-daemon.ts";

/** A file or folder of a storage; folders have no bytes. */
export interface FakeItem {
  readonly id: string;
  readonly parent: string;
  readonly name: string;
  readonly bytes?: Buffer;
  readonly modifiedAt?: string;
  /** Of a storage without etags. */
  readonly hasNoTag?: boolean;
}

export interface FakeStorage {
  readonly items: FakeItem[];
  /** Replaces the storage's response where it returns one. */
  override: (
    request: RecordedRequest,
    key: string,
  ) => FakeAnswer | undefined | Promise<FakeAnswer | undefined>;
  /** For `fakeDaemon`. */
  readonly answers: Readonly<Record<string, (request: RecordedRequest) => Promise<FakeAnswer>>>;
  /** Downloads at one time, at the most. */
  readonly busiest: number;
}

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

/** The daemon's routes of one connection, with paging, ranges and entity tags as the daemon has them. */
export function fakeStorage(
  items: FakeItem[],
  pageSize = 1000,
  connection: "c1" | "c2" = "c1",
): FakeStorage {
  const base = `/api/cloud/connections/${connection}`;
  let busy = 0;
  let busiest = 0;
  const storage: FakeStorage = {
    items,
    override: () => undefined,
    get busiest() {
      return busiest;
    },
    answers: new Proxy<Record<string, (request: RecordedRequest) => Promise<FakeAnswer>>>(
      {},
      {
        get: (_, key) => async (request: RecordedRequest) =>
          (await storage.override(request, String(key))) ?? (await answer(request, String(key))),
      },
    ),
  };
  return storage;

  async function answer(request: RecordedRequest, key: string): Promise<FakeAnswer> {
    if (key === "GET /api/cloud/connections") {
      const home = { id: "c1", provider: "local_folder", display_name: "home" };
      return { body: { items: [home], total: 1, page: 1, per_page: 100 } };
    }
    if (key === `GET ${base}/items`) return list(request);
    if (key === `POST ${base}/folders`) return makeFolder(request);
    if (key === `POST ${base}/folders/batch`) return makeFolders(request);
    if (key === `POST ${base}/items/upload`) return upload(request);
    if (key === `POST ${base}/items/batch`) return uploadBatch(request);
    if (key === `PUT ${base}/items/batch`) return replaceBatch(request);
    if (key === `POST ${base}/items/batch-download`) return downloadBatch(request, key);
    if (key === `POST ${base}/items/batch-list`) return listBatch(request);
    const [, changed] = /^(?:PUT|DELETE) .*\/items\/(.*?)(?:\/content)?$/.exec(key) ?? [];
    if (changed !== undefined) return change(request, changed);
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

  function list({ path }: RecordedRequest): FakeAnswer {
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

  /** Replaces the bytes of a file that still has the etag, or deletes an item with everything in it. */
  function change({ method, headers, body }: RecordedRequest, encoded: string): FakeAnswer {
    const id = encoded.split("/").map(decodeURIComponent).join("/");
    const at = items.findIndex((one) => one.id === id);
    const found = items[at];
    if (found === undefined)
      return { status: 409, body: { kind: "stale", reason: "item_changed" } };
    if (method === "DELETE") {
      const seen = headers["if-match"];
      const isSeen = found.bytes === undefined || seen === undefined || seen === tagOf(found.bytes);
      if (!isSeen) return { status: 409, body: { kind: "stale", reason: "item_changed" } };
      const left = items.filter((one) => one.id !== id && !one.id.startsWith(`${id}/`));
      items.splice(0, items.length, ...left);
      return { body: { kind: "deleted", reason: "trashed", provider_item_id: id } };
    }
    const ifMatch = headers["if-match"];
    if (ifMatch !== "*" && ifMatch !== tagOf(found.bytes ?? Buffer.alloc(0)))
      return { status: 409, body: { kind: "stale", reason: "item_changed" } };
    items[at] = { ...found, bytes: body, modifiedAt: new Date().toISOString() };
    const { name, parent } = found;
    return {
      body: {
        kind: "uploaded",
        provider_item_id: id,
        name,
        parent_ref: parent,
        size: body.byteLength,
      },
    };
  }

  function makeFolder(request: RecordedRequest): FakeAnswer {
    const { parent_ref: parent, name } = request.json() as { parent_ref: string; name: string };
    const id = parent === "" ? name : `${parent}/${name}`;
    items.push({ id, parent, name });
    return {
      status: 201,
      body: { kind: "folder", provider_item_id: id, name, parent_ref: parent },
    };
  }

  /** Each folder is answered as a single creation would be; an existing one is kept. */
  async function makeFolders(request: RecordedRequest): Promise<FakeAnswer> {
    const { folders } = request.json() as {
      folders: { parent_ref?: string; parent_index?: number; name: string }[];
    };
    const ids: (string | undefined)[] = [];
    const lines: object[] = [];
    for (const [index, { parent_ref: ref, parent_index: at, name }] of folders.entries()) {
      const parent = at === undefined ? ref : ids[at];
      if (parent === undefined) {
        ids.push(undefined);
        lines.push({ index, status: 424, kind: "failed", reason: "parent_failed" });
        continue;
      }
      const there = items.find((one) => one.parent === parent && one.name === name);
      const path = `${base}/folders`;
      const body = Buffer.from(JSON.stringify({ parent_ref: parent, name }));
      const single = { ...toSingle(request, path, body), json: () => JSON.parse(String(body)) };
      const outcome =
        (await storage.override(single, `POST ${path}`)) ??
        (there === undefined ? makeFolder(single) : toExisting(there));
      const { status = 201, body: reply } = outcome;
      ids.push((reply as { provider_item_id?: string }).provider_item_id);
      lines.push({ index, status, ...(reply as object), ...retryOf(outcome) });
    }
    return toLines(lines);
  }

  /** The parts of a batch: the name and filename of each, and its bytes. */
  function partsOf(request: RecordedRequest): { name: Buffer; filename: string; file: Buffer }[] {
    const boundary = /boundary=(\w+)/.exec(request.headers["content-type"] ?? "")?.[1] ?? "";
    const parts = request.body.toString("latin1").split(`--${boundary}`).slice(1, -1);
    return parts.map((part) => {
      const [head = "", ...rest] = part.split("\r\n\r\n");
      const text = (name: string) =>
        Buffer.from(
          new RegExp(`${name}="((?:\\\\.|[^"])*)"`).exec(head)?.[1]?.replace(/\\(.)/g, "$1") ?? "",
          "latin1",
        );
      const file = Buffer.from(rest.join("\r\n\r\n").slice(0, -2), "latin1");
      return { name: text(" name"), filename: text(" filename").toString(), file };
    });
  }

  /** Each part is answered as a single replacement would be. */
  async function replaceBatch(request: RecordedRequest): Promise<FakeAnswer> {
    const lines: object[] = [];
    for (const [index, { name, filename, file }] of partsOf(request).entries()) {
      const etag = decodeURIComponent(filename);
      const id = name.toString().split("/").map(encodeURIComponent).join("/");
      const path = `${base}/items/${id}/content`;
      const headers = { "if-match": etag === "*" ? etag : `"${etag}"` };
      const single = { ...toSingle(request, path, file), headers };
      const outcome = (await storage.override(single, `PUT ${path}`)) ?? change(single, id);
      const { status = 200, body } = outcome;
      lines.push({ index, filename, status, ...(body as object), ...retryOf(outcome) });
    }
    return toLines(lines);
  }

  /** Each part is answered as a single upload would be. */
  async function uploadBatch(request: RecordedRequest): Promise<FakeAnswer> {
    const lines: object[] = [];
    for (const [index, { name, filename, file }] of partsOf(request).entries()) {
      const fields = [
        ["parent_ref", name],
        ["filename", Buffer.from(filename)],
        ["file", file],
      ] as const;
      const form = Buffer.concat([
        ...fields.flatMap(([field, value]) => [
          Buffer.from(`--b\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n`),
          value,
          Buffer.from("\r\n"),
        ]),
        Buffer.from("--b--"),
      ]);
      const path = `${base}/items/upload`;
      const single = toSingle(request, path, form);
      const outcome = (await storage.override(single, `POST ${path}`)) ?? upload(single);
      lines.push({
        index,
        filename,
        status: outcome.status ?? 200,
        ...(outcome.body as object),
        ...retryOf(outcome),
      });
    }
    return toLines(lines);
  }

  function listBatch(request: RecordedRequest): Promise<FakeAnswer> {
    return toBatchListing(
      async (single) => (await storage.override(single, `GET ${base}/items`)) ?? list(single),
    )(request);
  }

  /** Each file is answered as a single download would be. */
  async function downloadBatch(request: RecordedRequest, _key: string): Promise<FakeAnswer> {
    const { item_ids: ids } = request.json() as { item_ids: string[] };
    const archive = pack();
    const lines: object[] = [];
    for (const id of ids) {
      const path = `${base}/items/${id.split("/").map(encodeURIComponent).join("/")}/download`;
      const single = toSingle({ ...request, method: "GET", headers: {} }, path, Buffer.alloc(0));
      const outcome =
        (await storage.override(single, `GET ${path}`)) ?? (await answer(single, `GET ${path}`));
      const { status = 200, body } = outcome;
      if (status === 200 && outcome.cut !== true) {
        const pax = { "CROFT.item_id": id };
        archive.entry({ name: `${lines.length}`, pax }, body as Buffer);
        lines.push({ provider_item_id: id, status });
      } else if (outcome.cut === true) return { ...outcome, body: Buffer.alloc(600) };
      else lines.push({ provider_item_id: id, status, ...(body as object), ...retryOf(outcome) });
    }
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    archive.entry({ name: "croft-outcomes.ndjson" }, text);
    archive.finalize();
    return { body: Buffer.concat((await Array.fromAsync(archive)) as Buffer[]) };
  }

  function upload({ body }: RecordedRequest): FakeAnswer {
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

function toExisting({ id, parent, name, bytes }: FakeItem): FakeAnswer {
  if (bytes !== undefined)
    return { status: 409, body: { kind: "conflict", reason: "name_collision" } };
  const body = { kind: "existing_folder", provider_item_id: id, name, parent_ref: parent };
  return { status: 200, body };
}

function toLines(lines: readonly object[]): FakeAnswer {
  const body = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return { body, headers: { "Content-Type": "application/x-ndjson" } };
}

/** The routes of two connections, `home` and `away`. */
export function fakeStorages(home: FakeStorage, away: FakeStorage): FakeStorage["answers"] {
  const list = async (): Promise<FakeAnswer> => {
    const items = [
      { id: "c1", provider: "local_folder", display_name: "home" },
      { id: "c2", provider: "webdav", display_name: "away" },
    ];
    return { body: { items, total: 2, page: 1, per_page: 100 } };
  };
  return new Proxy<Record<string, (request: RecordedRequest) => Promise<FakeAnswer>>>(
    {},
    {
      get: (_, key) =>
        key === "GET /api/cloud/connections"
          ? list
          : (String(key).includes("/connections/c2") ? away : home).answers[String(key)],
    },
  );
}

/** A batch of listings: each folder is answered as a single listing would be. */
export function toBatchListing(
  list: (request: RecordedRequest) => FakeAnswer | Promise<FakeAnswer>,
) {
  return async (request: RecordedRequest): Promise<FakeAnswer> => {
    const { parent_refs: refs, refresh } = request.json() as {
      parent_refs: string[];
      refresh: boolean;
    };
    const lines: object[] = [];
    for (const ref of refs) {
      const query = new URLSearchParams({ parent_ref: ref, ...(refresh && { refresh: "true" }) });
      const path = `${request.path.replace("/batch-list", "")}?${query}`;
      const single = toSingle({ ...request, method: "GET", headers: {} }, path, Buffer.alloc(0));
      const outcome = await list(single);
      const { status = 200, body } = outcome;
      lines.push({ parent_ref: ref, status, ...(body as object), ...retryOf(outcome) });
    }
    return toLines(lines);
  };
}

function retryOf({ headers }: FakeAnswer): object {
  const seconds = headers?.["Retry-After"];
  return seconds === undefined ? {} : { retry_after_s: Number(seconds) };
}

/** One part of a batch as a request of its own, so that `override` sees both in the same way. */
function toSingle(request: RecordedRequest, path: string, body: Buffer): RecordedRequest {
  return { ...request, path, body };
}

/** A download as the daemon answers it. */
export function download(
  { headers }: RecordedRequest,
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

function toWire({ id, parent, name, bytes, modifiedAt, hasNoTag }: FakeItem) {
  return {
    id: `u-${id}`,
    provider_item_id: id,
    name,
    kind: bytes === undefined ? "folder" : "file",
    parent_ref: parent,
    content_type: null,
    size: bytes?.byteLength ?? null,
    modified_at: modifiedAt ?? null,
    etag: bytes === undefined || hasNoTag === true ? null : tagOf(bytes).slice(1, -1),
  };
}
