import { createHash, randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { expect } from "vitest";

// The writers of the crash test of mixed writes: each changes one kind of thing, and remembers what the daemon must show after
// it was killed.

/** A daemon that runs, with the credentials of the people of the test. */
export interface Client {
  readonly url: string;
  /** Of the forge. */
  readonly token: string;
  /** Of the vault: a session and a machine token. */
  readonly bearer: string;
  readonly machineToken: string;
}

/** Looks whether an acknowledged write is there, whole. */
export type Check = (client: Client) => Promise<void>;

/** Makes one write after the other until the daemon is gone, and adds a check for each that was acknowledged. */
export type Writer = (client: Client, name: string, checks: Check[]) => Promise<void>;

const REPOSITORY = "/api/v1/repos/keeper/hut";
const DOCUMENT = "application/octet-stream";

interface Call {
  readonly json?: unknown;
  readonly body?: Buffer | FormData;
  readonly headers?: Readonly<Record<string, string>>;
}

async function send(
  { url }: Client,
  method: string,
  path: string,
  { json, body, headers }: Call = {},
): Promise<Response> {
  const sent = json === undefined ? body : JSON.stringify(json);
  return fetch(url + path, {
    method,
    headers: {
      "User-Agent": "croft-crash-test",
      ...(json === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(sent === undefined
      ? {}
      : { body: sent instanceof Buffer ? new Uint8Array(sent) : (sent as string | FormData) }),
  });
}

/** A request to the forge, which must succeed. */
async function forge(client: Client, method: string, path: string, call: Call = {}) {
  const headers = { Authorization: `token ${client.token}`, ...call.headers };
  return succeed(await send(client, method, path, { ...call, headers }), method, path);
}

/** A request to the vault, which must succeed. */
async function vault(client: Client, method: string, path: string, call: Call = {}) {
  const headers = { Authorization: `Bearer ${client.bearer}`, ...call.headers };
  return succeed(await send(client, method, path, { ...call, headers }), method, path);
}

function dav(client: Client, method: string, path: string, call: Call = {}) {
  const basic = Buffer.from(`mira@example.org:${client.machineToken}`).toString("base64");
  const headers = { Authorization: `Basic ${basic}`, ...call.headers };
  return send(client, method, `/dav/${path}`, { ...call, headers });
}

async function succeed(answer: Response, method: string, path: string): Promise<Response> {
  if (answer.ok) return answer;
  throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
}

const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer());
const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Repeats a write until the connection is cut: the last request may or may not have taken effect. */
function repeat(write: (client: Client, name: string, checks: Check[]) => Promise<void>): Writer {
  return async (client, name, checks) => {
    try {
      for (let index = 0; ; index += 1) await write(client, `${name}-${index}`, checks);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  };
}

const writeWiki = repeat(async (client, path, checks) => {
  const wiki = `${REPOSITORY}/wiki`;
  // A dash in the address of a page is a space.
  const name = path.replaceAll("-", "_");
  await forge(client, "POST", `${wiki}/new`, {
    json: { title: name, content_base64: base64(name) },
  });
  checks.push(async (now) => {
    const page = await (await forge(now, "GET", `${wiki}/page/${name}`)).json();
    expect(page).toMatchObject({ content_base64: base64(name) });
  });
});

const publishRelease = repeat(async (client, name, checks) => {
  const releases = `${REPOSITORY}/releases`;
  const made = await forge(client, "POST", releases, {
    json: { tag_name: name, target_commitish: "main", body: name },
  });
  checks.push(async (now) => {
    const release = await (await forge(now, "GET", `${releases}/tags/${name}`)).json();
    expect(release).toMatchObject({ body: name });
    // The tag is in the repository.
    await forge(now, "GET", `${REPOSITORY}/git/refs/tags/${name}`);
  });
  const { id } = (await made.json()) as { id: number };
  const bytes = randomBytes(50_000);
  const body = new FormData();
  body.set("attachment", new File([bytes], "tool.bin"));
  await forge(client, "POST", `${releases}/${id}/assets`, { body });
  checks.push(async (now) => {
    const file = await forge(now, "GET", `/keeper/hut/releases/download/${name}/tool.bin`);
    expect(digest(await bytesOf(file))).toBe(digest(bytes));
  });
});

const mergePull = repeat(async (client, name, checks) => {
  await forge(client, "POST", `${REPOSITORY}/contents/${name}.txt`, {
    json: { content: base64(name), new_branch: name },
  });
  const opened = await forge(client, "POST", `${REPOSITORY}/pulls`, {
    json: { head: name, base: "main", title: name },
  });
  const { number } = (await opened.json()) as { number: number };
  checks.push(async (now) => {
    const pull = await (await forge(now, "GET", `${REPOSITORY}/pulls/${number}`)).json();
    expect(pull).toMatchObject({ title: name });
  });
  const merge = await send(client, "POST", `${REPOSITORY}/pulls/${number}/merge`, {
    json: { Do: "merge" },
    headers: { Authorization: `token ${client.token}` },
  });
  // Another writer may have moved the branch at that moment, or the check for conflicts still runs.
  if (!merge.ok) {
    expect(merge.status).toBeOneOf([405, 409]);
    return;
  }
  checks.push(async (now) => {
    const pull = await (await forge(now, "GET", `${REPOSITORY}/pulls/${number}`)).json();
    expect(pull).toMatchObject({ merged: true, state: "closed" });
    await forge(now, "GET", `${REPOSITORY}/contents/${name}.txt?ref=main`);
  });
});

const storeLargeFile = repeat(async (client, _name, checks) => {
  const bytes = randomBytes(80_000);
  const oid = digest(bytes);
  const path = `/keeper/hut.git/info/lfs/objects/${oid}`;
  const headers = { Accept: "application/vnd.git-lfs+json", "Content-Type": DOCUMENT };
  await forge(client, "PUT", `${path}/${bytes.byteLength}`, { body: bytes, headers });
  checks.push(async (now) => {
    const file = await forge(now, "GET", path, { headers: { Accept: headers.Accept } });
    expect(digest(await bytesOf(file))).toBe(oid);
  });
});

const pushBlob = repeat(async (client, _name, checks) => {
  const bytes = randomBytes(60_000);
  const name = `sha256:${digest(bytes)}`;
  const begun = await forge(client, "POST", "/v2/keeper/tools/blobs/uploads/");
  await forge(client, "PUT", `${begun.headers.get("location") ?? ""}?digest=${name}`, {
    body: bytes,
    headers: { "Content-Type": DOCUMENT },
  });
  checks.push(async (now) => {
    const blob = await forge(now, "GET", `/v2/keeper/tools/blobs/${name}`);
    expect(digest(await bytesOf(blob))).toBe(digest(bytes));
  });
});

const versionAndLink = repeat(async (client, name, checks) => {
  const body = new FormData();
  body.set("file", new File([name], `${name}.txt`));
  const uploaded = await vault(client, "POST", "/api/documents/upload", { body });
  const { id } = (await uploaded.json()) as { id: string };
  const bytes = randomBytes(3_000);
  await vault(client, "PUT", `/api/documents/${id}/content`, {
    body: bytes,
    headers: { "If-Match": "*", "Content-Type": DOCUMENT },
  });
  checks.push(async (now) => {
    const content = await vault(now, "GET", `/api/documents/${id}/content`);
    expect(digest(await bytesOf(content))).toBe(digest(bytes));
    const listed = await vault(now, "GET", `/api/documents/${id}/versions`);
    expect(await listed.json()).toMatchObject({ total: 2 });
  });
  const made = await vault(client, "POST", "/api/links", { json: { document_id: id } });
  const { url } = (await made.json()) as { url: string };
  checks.push(async (now) => {
    const { pathname } = new URL(url);
    const file = await succeed(await send(now, "GET", `${pathname}/download`), "GET", pathname);
    expect(digest(await bytesOf(file))).toBe(digest(bytes));
  });
});

const writeByDav = repeat(async (client, name, checks) => {
  const bytes = randomBytes(20_000);
  const folder = "Box";
  const put = await dav(client, "PUT", `${folder}/${name}.bin`, { body: bytes });
  expect(put.status, await put.text()).toBeOneOf([200, 201, 204]);
  const target = `${name}-moved.bin`;
  const moved = await dav(client, "MOVE", `${folder}/${name}.bin`, {
    headers: { Destination: `${client.url}/dav/${folder}/${target}` },
  });
  expect(moved.status, await moved.text()).toBeOneOf([201, 204]);
  checks.push(async (now) => {
    const file = await dav(now, "GET", `${folder}/${target}`);
    expect([file.status, digest(await bytesOf(file))]).toEqual([200, digest(bytes)]);
    expect((await dav(now, "GET", `${folder}/${name}.bin`)).status).toBe(404);
  });
});

export const writers: Readonly<Record<string, Writer>> = {
  wiki: writeWiki,
  release: publishRelease,
  pull: mergePull,
  lfs: storeLargeFile,
  blob: pushBlob,
  version: versionAndLink,
  dav: writeByDav,
};

/** A pull request is merged exactly when its file is in `main`, also when the client never heard of it. */
export async function checkPulls(client: Client): Promise<void> {
  for (let page = 1; ; page += 1) {
    const path = `${REPOSITORY}/pulls?state=all&limit=50&page=${page}`;
    const pulls = (await (await forge(client, "GET", path)).json()) as {
      readonly title: string;
      readonly merged: boolean;
    }[];
    for (const { title, merged } of pulls) {
      const file = await send(client, "GET", `${REPOSITORY}/contents/${title}.txt?ref=main`, {
        headers: { Authorization: `token ${client.token}` },
      });
      expect([title, merged]).toEqual([title, file.status === 200]);
    }
    if (pulls.length < 50) return;
  }
}

const PASSWORD = "Correct-Horse-7-Battery";
/** A session of the vault belongs to one user agent. */
const JSON_HEADERS = { "Content-Type": "application/json", "User-Agent": "croft-crash-test" };

/** Makes the repository and the account of the vault. Returns a machine token of the account. */
export async function prepareMixed(url: string, token: string, folder: string): Promise<string> {
  const post = async (path: string, json: object, authorization?: string) => {
    const answer = await fetch(url + path, {
      method: "POST",
      headers: {
        ...JSON_HEADERS,
        ...(authorization === undefined ? {} : { Authorization: authorization }),
      },
      body: JSON.stringify(json),
    });
    expect(answer.status, path).toBe(201);
    return answer.json();
  };
  await post("/api/v1/user/repos", { name: "hut", auto_init: true }, `token ${token}`);
  await post("/api/auth/register", {
    handle: "mira",
    email: "mira@example.org",
    password: PASSWORD,
  });
  const bearer = await signIn(url);
  await mkdir(folder, { recursive: true });
  const connection = {
    provider: "local_folder",
    display_name: "Box",
    settings: { root: folder },
    credentials: {},
  };
  await post("/api/cloud/connections", connection, `Bearer ${bearer}`);
  const made = await post("/api/auth/tokens", { name: "dav", scope: "write" }, `Bearer ${bearer}`);
  return (made as { token: string }).token;
}

export async function signIn(url: string): Promise<string> {
  const signedIn = await fetch(`${url}/api/auth/login`, {
    method: "POST",
    headers: JSON_HEADERS,
    body: JSON.stringify({ email: "mira@example.org", password: PASSWORD }),
  });
  return ((await signedIn.json()) as { access_token: string }).access_token;
}
