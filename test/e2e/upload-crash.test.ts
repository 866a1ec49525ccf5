import { hash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { croftJson, serveCroft, type CroftCommand } from "../support/croft.ts";
import { type GitServer, startGitServer } from "../support/forge/git-server.ts";
import { countKills, limitOfKills } from "../support/kills.ts";

const ROUNDS = countKills(4);
const KILL_WITHIN_MS = 150;
const PASSWORD = "Correct-Horse-7-Battery";
const LFS = "application/vnd.git-lfs+json";
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];
/** The source lists little at a time, so that kills meet the import. */
const SOURCE = { pages: 30, perPage: 5 };

interface Client {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The bytes that were sent, by their SHA-256 or name, and which of them the daemon has acknowledged. */
interface Sent {
  readonly bytes: Map<string, Buffer>;
  readonly acknowledged: Set<string>;
}

test(
  "large files, files of releases and an import survive kills completely or not at all",
  { timeout: limitOfKills(ROUNDS) },
  async () => {
    const home = await mkdtemp(join(tmpdir(), "croft-crash-"));
    await using source = await startSource();
    const serve = () =>
      serveCroft(command, { home, env: { CROFT_RATE_LIMITS: "off", CROFT_LOG_LEVEL: "warn" } });
    try {
      const { forge } = await croftJson<{ forge: { token: string } }>(
        command,
        ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
        { home },
        PASSWORD,
      );
      const headers = { Authorization: `token ${forge.token}` };
      const largeFiles: Sent = { bytes: new Map(), acknowledged: new Set() };
      const assets: Sent = { bytes: new Map(), acknowledged: new Set() };
      for (let round = 0; round < ROUNDS; round += 1) {
        await using daemon = await serve();
        const client = { url: daemon.url, headers };
        if (round === 0) await prepare(client, source.url);
        const pushing = [
          untilKilled((index) => sendLargeFile(client, randomBytes(sizeOf(index)), largeFiles)),
          untilKilled((index) =>
            sendAsset(client, `file${round}-${index}`, randomBytes(sizeOf(index)), assets),
          ),
        ];
        const before = [largeFiles.acknowledged.size, assets.acknowledged.size];
        const isOld = () =>
          largeFiles.acknowledged.size === before[0] || assets.acknowledged.size === before[1];
        while (isOld()) await sleep(1);
        await sleep(Math.random() * KILL_WITHIN_MS);
        await daemon.end("SIGKILL");
        await Promise.all(pushing);
      }

      await using daemon = await serve();
      const client = { url: daemon.url, headers };
      await expectLargeFiles(client, largeFiles);
      await expectAssets(client, assets);
      await expectImport(client);
      const waiting = await readdir(join(home, "tmp"), { recursive: true });
      expect(waiting.filter((name) => name.includes("object-"))).toEqual([]);
      expect(await daemon.end("SIGTERM")).toBe(0);
      expect(await croftJson(command, ["daemon", "check"], { home })).toEqual([]);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  },
);

const sizeOf = (index: number) => (index % 3 === 0 ? 2_000_000 : 2_000);

/** Repeats an upload until its connection is cut: the last one may or may not have taken effect. */
async function untilKilled(send: (index: number) => Promise<void>): Promise<void> {
  try {
    for (let index = 0; ; index += 1) await send(index);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}

/** Makes a repository with a release, and begins an import. */
async function prepare(client: Client, source: string): Promise<void> {
  await call(client, "POST", "/api/v1/user/repos", { name: "tools", auto_init: true });
  await call(client, "POST", "/api/v1/repos/keeper/tools/releases", { tag_name: "v1" });
  await call(client, "POST", "/api/v1/repos/migrate", {
    clone_addr: `${source}/octo/notes`,
    service: "gitea",
    repo_name: "copy",
    issues: true,
  });
}

async function sendLargeFile(client: Client, bytes: Buffer, sent: Sent): Promise<void> {
  const oid = hash("sha256", bytes);
  sent.bytes.set(oid, bytes);
  const planned = await batch(client, "upload", [{ oid, size: bytes.byteLength }]);
  const { actions } = planned[0] ?? {};
  // The file of an upload that was not acknowledged may have arrived.
  if (actions?.upload !== undefined) {
    const { href, header } = actions.upload;
    const put = { method: "PUT", headers: header, body: new Uint8Array(bytes) };
    expect((await fetch(href, put)).status).toBe(200);
  }
  sent.acknowledged.add(oid);
}

interface Action {
  readonly href: string;
  readonly header: Record<string, string>;
}
interface Planned {
  readonly oid: string;
  readonly actions?: { readonly upload?: Action; readonly download?: Action };
  readonly error?: { readonly code: number };
}

async function batch(
  { url, headers }: Client,
  operation: string,
  objects: readonly object[],
): Promise<Planned[]> {
  const response = await fetch(`${url}/keeper/tools.git/info/lfs/objects/batch`, {
    method: "POST",
    headers: { ...headers, Accept: LFS, "Content-Type": LFS },
    body: JSON.stringify({ operation, objects }),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { objects: Planned[] }).objects;
}

/** Downloads what is there, and sends again what is not. */
async function expectLargeFiles(client: Client, sent: Sent): Promise<void> {
  const objects = [...sent.bytes].map(([oid, bytes]) => ({ oid, size: bytes.byteLength }));
  for (const { oid, actions, error } of await batch(client, "download", objects)) {
    if (actions?.download === undefined) {
      expect([error?.code, sent.acknowledged.has(oid)]).toEqual([404, false]);
      await sendLargeFile(client, sent.bytes.get(oid) ?? Buffer.alloc(0), sent);
      continue;
    }
    const { href, header } = actions.download;
    const answer = await fetch(href, { headers: header });
    expect(hash("sha256", Buffer.from(await answer.arrayBuffer()))).toBe(oid);
  }
  for (const { actions } of await batch(client, "download", objects))
    expect(actions?.download).toBeDefined();
}

async function sendAsset(client: Client, name: string, bytes: Buffer, sent: Sent): Promise<void> {
  sent.bytes.set(name, bytes);
  const [{ id } = { id: 0 }] = await call<{ id: number }[]>(
    client,
    "GET",
    "/api/v1/repos/keeper/tools/releases",
  );
  const response = await fetch(
    `${client.url}/api/v1/repos/keeper/tools/releases/${id}/assets?name=${name}`,
    {
      method: "POST",
      headers: { ...client.headers, "Content-Type": "application/octet-stream" },
      body: new Uint8Array(bytes),
    },
  );
  expect(response.status).toBe(201);
  sent.acknowledged.add(name);
}

/** Downloads the files of the release, and sends again those that are not there. */
async function expectAssets(client: Client, sent: Sent): Promise<void> {
  const path = "/api/v1/repos/keeper/tools/releases/tags/v1";
  const list = async () =>
    (await call<{ assets: { name: string; browser_download_url: string }[] }>(client, "GET", path))
      .assets;
  const found = await list();
  for (const { name, browser_download_url: address } of found) {
    const answer = await fetch(address, { headers: client.headers });
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(bytes.equals(sent.bytes.get(name) ?? Buffer.alloc(0)), name).toBe(true);
  }
  const names = new Set(found.map(({ name }) => name));
  expect(names.size).toBe(found.length);
  expect([...sent.acknowledged].filter((name) => !names.has(name))).toEqual([]);
  for (const [name, bytes] of sent.bytes)
    if (!names.has(name)) await sendAsset(client, name, bytes, sent);
  expect((await list()).map(({ name }) => name).toSorted()).toEqual(
    [...sent.bytes.keys()].toSorted(),
  );
}

/** Waits for the end of the import. Each issue and each comment is there once. */
async function expectImport(client: Client): Promise<void> {
  const repository = "/api/v1/repos/keeper/copy";
  await expect
    .poll(
      async () => (await call<{ state: string }>(client, "GET", `${repository}/import`)).state,
      {
        timeout: 120_000,
      },
    )
    .toBe("done");
  const all = SOURCE.pages * SOURCE.perPage;
  for (const kind of ["issues?state=all", "issues/comments"]) {
    const mark = kind.includes("?") ? "&" : "?";
    const response = await fetch(`${client.url}${repository}/${kind}${mark}limit=1`, {
      headers: client.headers,
    });
    expect(response.headers.get("x-total-count"), kind).toBe(String(all));
  }
  for (const number of [1, all])
    expect(await call(client, "GET", `${repository}/issues/${number}`)).toMatchObject({
      comments: 1,
    });
}

/** A stand-in for Gitea: a repository with issues that have a comment each. */
async function startSource(): Promise<GitServer> {
  const at = "2024-03-01T10:00:00Z";
  const all = SOURCE.pages * SOURCE.perPage;
  const issue = (number: number) => ({
    number,
    title: `Issue ${number}`,
    body: "",
    user: { login: "octo" },
    state: "open",
    created_at: at,
    updated_at: at,
  });
  const comment = (number: number) => ({
    issue_url: `http://localhost/octo/notes/issues/${number}`,
    body: `On ${number}`,
    user: { login: "hubot" },
    created_at: at,
    updated_at: at,
  });
  const json = (response: ServerResponse, body: unknown, link = "") => {
    const headers = { "content-type": "application/json", link };
    response.writeHead(200, headers).end(JSON.stringify(body));
    return true;
  };
  const source = await startGitServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    if (!pathname.startsWith("/api/v1/repos/octo/notes")) return false;
    const page = Number(searchParams.get("page") ?? 1);
    const numbers = Array.from({ length: SOURCE.perPage }, (_, index) => {
      return (page - 1) * SOURCE.perPage + index + 1;
    }).filter((number) => number <= all);
    const link = page < SOURCE.pages ? '<x>; rel="next"' : "";
    if (pathname.endsWith("/issues/comments")) return json(response, numbers.map(comment), link);
    if (searchParams.get("limit") === "1") return json(response, [issue(all)]);
    if (pathname.endsWith("/issues")) return json(response, numbers.map(issue), link);
    return json(response, []);
  });
  const tree = (await source.run(["mktree"])).trim();
  const commit = (await source.run(["commit-tree", tree, "-m", "first"])).trim();
  await source.run(["update-ref", "refs/heads/main", commit]);
  return source;
}

async function call<T>(
  { url, headers }: Client,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  const response = await fetch(url + path, {
    method,
    headers: { ...headers, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(response.status, `${method} ${path}`).toBeLessThan(300);
  return (await response.json()) as T;
}
