import { createHash, randomBytes } from "node:crypto";
import { expect } from "vitest";
import { createDavStandIn, type DavStandIn } from "../stand-ins/dav-server.ts";
import { serve, type Served } from "../stand-ins/serve.ts";

// The steps of the clients in the crash test of documents: a third of them delete something.

export const PASSWORD = "Correct-Horse-7-Battery";
/** Bytes that many documents have, so that a deletion and an upload of the same object meet. */
const COMMON = Buffer.from("the same letter again and again");
const USER_AGENT = { "User-Agent": "croft-crash-test" };
const DAV = { username: "anna", password: "secret" } as const;

/** Outcomes that clients have seen. A document whose last request was interrupted is in no map. */
export interface Acknowledged {
  /** Documents in the daemon's own storage, by id, with the SHA-256 of the sent bytes. */
  readonly kept: Map<string, string>;
  /** Documents in connected storage. */
  readonly stored: Map<string, string>;
  readonly deleted: Set<string>;
  /** E-mail addresses of deleted accounts. */
  readonly accounts: Set<string>;
  /** `asked`: requested deletions, of which some were interrupted. */
  readonly counts: {
    uploads: number;
    asked: number;
    deletions: number;
    failures: number;
    /** Deletions in the daemon's own storage. */
    own: number;
  };
}

/** Connected storage whose deletions can be made to fail. */
export interface FlakyDav extends Served {
  readonly dav: DavStandIn;
  /** Every second deletion is refused, every sixth is carried out and reported as failed. */
  isFlaky: boolean;
}

type Headers = Readonly<Record<string, string>>;

export const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

export async function startFlakyDav(): Promise<FlakyDav> {
  const dav = createDavStandIn(DAV);
  let deletions = 0;
  const state = { isFlaky: true };
  const served = await serve(async (request, response) => {
    if (request.method === "DELETE" && state.isFlaky) {
      deletions += 1;
      if (deletions % 2 === 0) return void response.writeHead(503).end();
      if (deletions % 3 === 0) {
        const { writeHead } = response;
        response.writeHead = () => writeHead.call(response, 500);
      }
    }
    await dav.handle(request, response);
  });
  return Object.assign(state, served, { dav });
}

export async function request(
  url: string,
  path: string,
  { method = "GET", headers, json }: { method?: string; headers?: Headers; json?: unknown } = {},
): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
  const answer = await fetch(url + path, {
    method: json === undefined ? method : method === "GET" ? "POST" : method,
    headers: {
      ...USER_AGENT,
      ...headers,
      ...(json === undefined ? {} : { "Content-Type": "application/json" }),
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? {} : (JSON.parse(text) as never) };
}

export async function register(url: string, handle: string): Promise<void> {
  const json = { handle, email: `${handle}@example.org`, password: PASSWORD };
  expect((await request(url, "/api/auth/register", { json })).status).toBe(201);
}

export async function signIn(url: string, handle: string): Promise<Headers> {
  const json = { email: `${handle}@example.org`, password: PASSWORD };
  const { body } = await request(url, "/api/auth/login", { json });
  return { ...USER_AGENT, Authorization: `Bearer ${String(body["access_token"])}` };
}

/** Makes `headers`' documents go to the WebDAV server. */
export async function connect(url: string, headers: Headers, origin: string): Promise<void> {
  const connection = {
    provider: "webdav",
    display_name: "Files",
    settings: { url: `${origin}/dav`, username: DAV.username },
    credentials: { password: DAV.password },
  };
  const made = await request(url, "/api/cloud/connections", { headers, json: connection });
  expect(made).toMatchObject({ status: 201 });
  const chosen = await request(url, "/api/auth/me/default-storage", {
    method: "PATCH",
    headers,
    json: { backend: "webdav" },
  });
  expect(chosen).toMatchObject({ status: 200 });
}

/** Repeats steps until the daemon is gone; the last request may have been carried out or not. */
async function untilCutOff(step: (index: number) => Promise<void>): Promise<void> {
  for (let index = 0; ; index += 1) {
    try {
      await step(index);
    } catch (error) {
      if (error instanceof TypeError) return;
      throw error;
    }
  }
}

/** Uploads documents by form and by address, classifies and shares some, and deletes as many of those before as it may. */
export function changeDocuments(url: string, headers: Headers, seen: Acknowledged): Promise<void> {
  return untilCutOff(async (index) => {
    if (index % 2 === 1) {
      // The newest, whose text is still being extracted, or the oldest.
      const id = [...seen.kept.keys()].at(index % 4 === 1 ? -1 : 0);
      const turn = index % 8;
      if (id === undefined) return;
      if (turn === 3) return replace(url, headers, id, seen);
      const query = turn === 7 ? "?permanent=true" : "";
      await remove(url, headers, { id, of: seen.kept, seen, query });
      if (turn === 5) await restore(url, headers, id, seen);
      return;
    }
    const bytes = index % 5 === 4 ? COMMON : randomBytes(index % 3 === 0 ? 400_000 : 2_000);
    const id = await (index % 6 === 4 ? uploadByAddress : uploadByForm)(url, headers, bytes);
    seen.counts.uploads += 1;
    seen.kept.set(id, digest(bytes));
    if (index % 4 === 0) {
      const json = { document_id: id, recipient_handle: "noor", permission: "download" };
      const { status } = await request(url, "/api/shares", { headers, json });
      // Another client may have deleted it already.
      expect([201, 404]).toContain(status);
    }
    if (index % 3 === 2) {
      const path = `/api/documents/${id}/classify`;
      expect([202, 404]).toContain((await request(url, path, { method: "POST", headers })).status);
    }
  });
}

/** Replaces the content of a document, whose content is unknown while the request runs. */
async function replace(url: string, headers: Headers, id: string, seen: Acknowledged) {
  seen.kept.delete(id);
  const bytes = randomBytes(3_000);
  const answer = await fetch(`${url}/api/documents/${id}/content`, {
    method: "PUT",
    headers: { ...headers, "If-Match": "*" },
    body: bytes,
  });
  // Another client may have deleted it already.
  expect([200, 404]).toContain(answer.status);
  if (answer.status === 200) seen.kept.set(id, digest(bytes));
}

/** Restores a document from the trash. It is in none of the maps from then on. */
async function restore(url: string, headers: Headers, id: string, seen: Acknowledged) {
  seen.deleted.delete(id);
  const { status } = await request(url, `/api/documents/${id}/restore`, {
    method: "POST",
    headers,
  });
  expect([200, 404]).toContain(status);
}

/** Uploads documents to connected storage and deletes others while the provider fails now and then. */
export function changeStored(url: string, seen: Acknowledged): Promise<void> {
  let signedIn: Promise<Headers> | undefined;
  return untilCutOff(async (index) => {
    const headers = await (signedIn ??= signIn(url, "noor"));
    if (index % 2 === 1) {
      const id = [...seen.stored.keys()].at(-1);
      if (id !== undefined) await remove(url, headers, { id, of: seen.stored, seen });
      return;
    }
    const bytes = randomBytes(2_000);
    const id = await uploadByForm(url, headers, bytes);
    seen.counts.uploads += 1;
    seen.stored.set(id, digest(bytes));
  });
}

/** Makes accounts with documents and shares in both directions, and deletes them as an administrator. */
export function changeAccounts(url: string, headers: Headers, seen: Acknowledged, round: number) {
  return untilCutOff(async (index) => {
    const handle = `guest-${round}-${index}`;
    await register(url, handle);
    const guest = await signIn(url, handle);
    const { body: me } = await request(url, "/api/auth/me", { headers: guest });
    const id = await uploadByForm(url, guest, COMMON);
    const own = randomBytes(50_000);
    await uploadByForm(url, guest, own);
    seen.counts.uploads += 2;
    await request(url, "/api/shares", {
      headers: guest,
      json: { document_id: id, recipient_handle: "mira" },
    });
    const [kept] = [...seen.kept.keys()].slice(-1);
    if (kept !== undefined)
      await request(url, "/api/shares", {
        headers,
        json: { document_id: kept, recipient_handle: handle },
      });
    const keeper = await signIn(url, "keeper");
    const path = `/api/admin/users/${String(me["id"])}`;
    seen.counts.asked += 1;
    const { status } = await request(url, path, { method: "DELETE", headers: keeper });
    expect(status).toBeLessThan(300);
    seen.counts.deletions += 1;
    seen.accounts.add(`${handle}@example.org`);
  });
}

async function remove(
  url: string,
  headers: Headers,
  {
    id,
    of,
    seen,
    query = "",
  }: { id: string; of: Map<string, string>; seen: Acknowledged; query?: string },
): Promise<void> {
  const sha256 = of.get(id) ?? "";
  of.delete(id);
  seen.counts.asked += 1;
  const path = `/api/documents/${id}`;
  const { status, body } = await request(url, path + query, { method: "DELETE", headers });
  if (body["cloud_delete_failed"] === true) {
    seen.counts.failures += 1;
    // The record must still be there; the file is unless the provider has lied.
    expect((await request(url, path, { headers })).status).toBe(200);
    return;
  }
  // Two clients of an account may delete one document.
  expect([200, 404]).toContain(status);
  if (status !== 200) return;
  seen.counts.deletions += 1;
  if (of === seen.kept) seen.counts.own += 1;
  seen.deleted.add(id);
  expect(sha256).not.toBe("");
}

type Upload = (url: string, headers: Headers, bytes: Buffer<ArrayBuffer>) => Promise<string>;

const uploadByForm: Upload = async (url, headers, bytes) => {
  const body = new FormData();
  body.set("file", new File([bytes], "file.txt"));
  const made = await fetch(`${url}/api/documents/upload`, { method: "POST", headers, body });
  expect(made.status).toBe(201);
  return ((await made.json()) as { id: string }).id;
};

const uploadByAddress: Upload = async (url, headers, bytes) => {
  const promised = await request(url, "/api/documents/upload-url", {
    headers,
    json: { filename: "sent.txt", content_type: "text/plain", size_bytes: bytes.byteLength },
  });
  expect(promised.status).toBe(201);
  const { document_id: id, upload_url: address } = promised.body as Record<string, string>;
  const sent = await fetch(url + new URL(address ?? "").pathname, {
    method: "PUT",
    headers: { "Content-Type": "text/plain" },
    body: bytes,
  });
  expect(sent.status).toBe(204);
  const confirmed = await request(url, `/api/documents/${id}/confirm`, { method: "POST", headers });
  expect(confirmed.status).toBe(200);
  return id ?? "";
};
