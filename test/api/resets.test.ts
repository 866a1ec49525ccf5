import { randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { TestDaemon } from "../support/daemon.ts";
import { pathOf, takeArtifactJob } from "../support/forge/artifact-job.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../support/forge/git-client.ts";
import { createWorkflowRepository } from "../support/forge/workflow-repository.ts";
import { openFilesBelow } from "../support/open-files.ts";
import {
  connectFolder,
  type FolderDaemon,
  startFolderDaemon,
} from "../support/vault/local-folders.ts";

// Clients that reset their connection at each step of each kind of response and upload. Nothing may stay open: Node ends a
// process whose forgotten file handle is garbage collected. The daemon runs in this process, so a turn of its event loop is
// a step; the collector runs at the end, which is why this file has a process of its own.

/** More than what is verified or cached in memory before the first byte is sent. */
const SIZE = 1024 * 1024;
/** Turns of the event loop between the last byte of the request and the reset. */
const TURNS = [0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 25];
/** Responses that are shorter than the buffers of a connection. */
const SHORT = new Set([
  "a stream of events",
  "refs over git",
  "a fetch over git",
  "a batch of listings",
]);
const BOUNDARY = "croft-resets";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

let folders: FolderDaemon;
let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const paths: Record<string, string> = {};
let baseline: State;

interface State {
  readonly files: readonly string[];
  readonly temporary: readonly string[];
  readonly processes: number;
}

/** What the daemon holds: open files, temporary files and running programs. */
async function readState(): Promise<State> {
  const open = [daemon.home, folders.files].map((folder) => openFilesBelow(folder));
  return {
    files: (await Promise.all(open)).flat().toSorted(),
    temporary: (await readdir(join(daemon.home, "tmp"), { recursive: true })).toSorted(),
    processes: await countGit(),
  };
}

/** Programs that this process has started, without the idle process that reads texts; 0 where the system does not tell. */
async function countGit(): Promise<number> {
  const children = await readFile(`/proc/self/task/${process.pid}/children`, "utf8").catch(
    () => "",
  );
  const names = children
    .split(" ")
    .filter(Boolean)
    .map((pid) => readFile(`/proc/${pid}/comm`, "utf8").catch(() => ""));
  return (await Promise.all(names)).filter((name) => name.startsWith("git")).length;
}

const form = (field: string, filename: string, bytes: Buffer, rest = "") =>
  Buffer.concat([
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${field}"; filename="${filename}"\r\nContent-Type: text/plain\r\n\r\n`,
    ),
    bytes,
    Buffer.from(`\r\n${rest}--${BOUNDARY}--\r\n`),
  ]);

beforeAll(async () => {
  folders = await startFolderDaemon();
  ({ daemon } = folders);
  git = await createGitClient();
  await people.newUser("mira");
  const bytes = randomBytes(SIZE);
  const token = people.tokenOf("mira");

  paths["package"] = "/api/packages/mira/generic/pack/1/file";
  expect(
    (await daemon.request(paths["package"], { method: "PUT", token, body: bytes })).status,
  ).toBe(201);

  const repository = createWorkflowRepository({ daemon, people, git }, "mira", "code");
  await repository.create();
  await writeFile(join(git.folder, "code", "large.txt"), bytes.toString("base64"));
  await repository.push({
    "ci.yml": "on: push\njobs:\n  a: { runs-on: code, steps: [{ run: echo }] }\n",
  });
  await repository.waitForRuns(1);
  const job = await takeArtifactJob(daemon, repository);
  await job.upload("report", "x".repeat(SIZE), { mime_type: "text/plain" });
  const { json: signed } = await job.call("GetSignedArtifactURL", { name: "report" });
  paths["artifact"] = pathOf(signed.signed_url);
  const { json: unfinished } = await job.call("CreateArtifact", { name: "half", version: 7 });
  paths["block"] = `${pathOf(unfinished.signed_upload_url)}&comp=block&blockid=QQ%3D%3D`;

  const { json: issue } = await people.by("mira", "POST", "/repos/mira/code/issues", {
    title: "a",
  });
  paths["assets"] = `/api/v1/repos/mira/code/issues/${issue.number}/assets`;
  const attached = new FormData();
  attached.set("attachment", new File([bytes], "attached.bin"));
  const { json: attachment } = await daemon.request(paths["assets"], {
    method: "POST",
    token,
    body: attached,
  });
  paths["attachment"] = pathOf(attachment.browser_download_url);

  const document = new FormData();
  document.set("file", new File([bytes], "large.bin"));
  const { json: stored } = await folders.mira.request("/api/documents/upload", {
    method: "POST",
    body: document,
  });
  paths["document"] = `/api/documents/${stored.id}/content`;

  const { base, folder } = await connectFolder(folders, folders.mira, "Papers");
  paths["connection"] = base;
  for (let number = 0; number < TURNS.length + 3; number += 1)
    await writeFile(join(folder, `item-${number}.txt`), bytes);
  await folders.mira.request(`${base}/items`);
  const { json: upload } = await folders.mira.request(`${base}/uploads`, {
    json: { name: "parts.bin", size: SIZE, fingerprint: "one" },
  });
  paths["part"] = `${base}/uploads/${upload.upload_id}?offset=0`;
  await vi.waitUntil(
    async () => {
      baseline = await readState();
      const isReading = baseline.temporary.some((name) => name.startsWith("extract-"));
      return baseline.processes === 0 && !isReading;
    },
    { timeout: 60_000 },
  );
}, 120_000);

afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await folders.stop();
});

/**
 * Sends a request and resets the connection some turns after its bytes have left, or after bytes of the response have
 * arrived. Returns what has arrived.
 */
async function reset(text: Buffer, turns: number, waitsForBytes = 0): Promise<string> {
  const { port } = new URL(daemon.url);
  const socket: Socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
  let received = "";
  const enough = new Promise<void>((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
      if (received.length >= waitsForBytes) resolve();
    });
    socket.once("close", () => resolve());
  });
  await new Promise<void>((resolve) => socket.write(text, () => resolve()));
  if (waitsForBytes > 0) await enough;
  for (let turn = 0; turn < turns; turn += 1) await nextTurn();
  socket.resetAndDestroy();
  await closed;
  return received;
}

function toRequest(
  method: string,
  path: string,
  authorization: string,
  body: { readonly type: string; readonly bytes: Buffer } | undefined,
): { readonly head: Buffer; readonly body: Buffer } {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${new URL(daemon.url).host}`,
    "User-Agent: croft-test",
    "Accept-Language: *",
    ...(path.endsWith("/content") && method === "PUT" ? ["If-Match: *"] : []),
    ...(authorization === "" ? [] : [`Authorization: ${authorization}`]),
    ...(body === undefined
      ? []
      : [`Content-Type: ${body.type}`, `Content-Length: ${body.bytes.byteLength}`]),
  ];
  return {
    head: Buffer.from(`${lines.join("\r\n")}\r\n\r\n`),
    body: body?.bytes ?? Buffer.alloc(0),
  };
}

/** Nothing is open that was not open before, also after the collector has run. */
async function expectNothingLeft(): Promise<void> {
  await expect.poll(readState).toEqual(baseline);
  for (let round = 0; round < 3; round += 1) {
    collect();
    await nextTurn();
  }
  expect(daemon.log.filter(({ level }) => level === "error")).toEqual([]);
}

const forge = () => `token ${people.tokenOf("mira")}`;
const vault = () => `Bearer ${folders.mira.accessToken}`;
const nobody = () => "";
const json = (value: unknown) => ({
  type: "application/json",
  bytes: Buffer.from(JSON.stringify(value)),
});
const item = (number: number) => `${paths["connection"]}/items/item-${number}.txt`;
const wants = Buffer.from("0011command=ls-refs0000");

test.each<
  [string, () => string, (number: number) => string, (() => { type: string; bytes: Buffer })?]
>([
  ["a package", nobody, () => paths["package"] ?? ""],
  ["an artifact", nobody, () => paths["artifact"] ?? ""],
  ["an attachment", nobody, () => paths["attachment"] ?? ""],
  ["a raw file", nobody, () => "/api/v1/repos/mira/code/raw/large.txt"],
  ["a raw file of a page", nobody, () => "/mira/code/raw/branch/main/large.txt"],
  ["an archive", nobody, () => "/api/v1/repos/mira/code/archive/main.tar.gz"],
  ["a diff", nobody, () => "/api/v1/repos/mira/code/git/commits/main.diff"],
  ["refs over git", nobody, () => "/mira/code.git/info/refs?service=git-upload-pack"],
  [
    "a fetch over git",
    nobody,
    () => "/mira/code.git/git-upload-pack",
    () => ({ type: "application/x-git-upload-pack-request", bytes: wants }),
  ],
  ["a stream of events", forge, () => "/api/v1/notifications/stream"],
  ["a document", vault, () => paths["document"] ?? ""],
  ["an item that is not cached", vault, (number) => `${item(number)}/download`],
  ["an item that is cached", vault, () => `${item(0)}/download`],
  ["a preview", vault, () => `${item(0)}/preview`],
  [
    "a batch of items",
    vault,
    () => `${paths["connection"]}/items/batch-download`,
    () => json({ item_ids: ["item-0.txt", "item-1.txt", "item-2.txt"] }),
  ],
  [
    "a batch of listings",
    vault,
    () => `${paths["connection"]}/items/batch-list`,
    () => json({ parent_refs: [""] }),
  ],
])(
  "a reset at any step of the response with %s leaves nothing open",
  async (name, authorize, path, makeBody) => {
    const method = makeBody === undefined ? "GET" : "POST";
    const requestOf = (number: number) => {
      const { head, body } = toRequest(method, path(number), authorize(), makeBody?.());
      return Buffer.concat([head, body]);
    };
    for (const [number, turns] of TURNS.entries()) await reset(requestOf(number), turns);
    // After the head, and in the middle of the bytes.
    expect(await reset(requestOf(TURNS.length), 0, 1)).toContain("HTTP/1.1 200");
    if (!SHORT.has(name)) await reset(requestOf(TURNS.length + 1), 1, 100_000);
    await expectNothingLeft();
  },
);

const multipart = (bytes: Buffer) => ({ type: `multipart/form-data; boundary=${BOUNDARY}`, bytes });
const after = (name: string, value: string) =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

test.each<
  [string, string, () => string, () => string, (bytes: Buffer) => { type: string; bytes: Buffer }]
>([
  [
    "a package",
    "PUT",
    forge,
    () => "/api/packages/mira/generic/pack/2/file",
    (bytes) => ({ type: "application/octet-stream", bytes }),
  ],
  [
    "an npm package",
    "PUT",
    forge,
    () => "/api/packages/mira/npm/pack",
    (bytes) =>
      json({
        name: "pack",
        _attachments: { "pack-1.0.0.tgz": { data: bytes.toString("base64") } },
      }),
  ],
  [
    "an npm tag",
    "PUT",
    forge,
    () => "/api/packages/mira/npm/-/package/pack/dist-tags/a",
    () => json({ _attachments: { "a.tgz": { data: "" } } }),
  ],
  [
    "a Python package",
    "POST",
    forge,
    () => "/api/packages/mira/pypi",
    (bytes) => multipart(form("content", "pack-1.zip", bytes, after("name", "pack"))),
  ],
  [
    "an artifact",
    "PUT",
    nobody,
    () => paths["block"] ?? "",
    (bytes) => ({ type: "application/octet-stream", bytes }),
  ],
  [
    "an attachment",
    "POST",
    forge,
    () => paths["assets"] ?? "",
    (bytes) => multipart(form("attachment", "a.txt", bytes)),
  ],
  [
    "a spooled attachment",
    "POST",
    forge,
    () => paths["assets"] ?? "",
    (bytes) => multipart(form("attachment", "a.txt", bytes, after("other", "x"))),
  ],
  [
    "a push",
    "POST",
    forge,
    () => "/mira/code.git/git-receive-pack",
    (bytes) => ({ type: "application/x-git-receive-pack-request", bytes }),
  ],
  [
    "a document",
    "POST",
    vault,
    () => "/api/documents/upload",
    (bytes) => multipart(form("file", "a.txt", bytes)),
  ],
  [
    "a document with a later name",
    "POST",
    vault,
    () => "/api/documents/upload",
    (bytes) => multipart(form("file", "a.txt", bytes, after("filename", "b.txt"))),
  ],
  [
    "an item",
    "POST",
    vault,
    () => `${paths["connection"]}/items/upload`,
    (bytes) => multipart(form("file", "up.txt", bytes)),
  ],
  [
    "new bytes of an item",
    "PUT",
    vault,
    () => `${item(1)}/content`,
    (bytes) => ({ type: "text/plain", bytes }),
  ],
  [
    "a batch of items",
    "POST",
    vault,
    () => `${paths["connection"]}/items/batch`,
    (bytes) => multipart(form("", "batch.txt", bytes)),
  ],
  [
    "a part of an item",
    "PATCH",
    vault,
    () => paths["part"] ?? "",
    (bytes) => ({ type: "application/offset+octet-stream", bytes }),
  ],
])(
  "a reset at any step of the upload of %s leaves nothing open",
  async (_name, method, authorize, path, makeBody) => {
    const { head, body } = toRequest(method, path(), authorize(), makeBody(randomBytes(300_000)));
    const sent = [0, 1, 70_000, body.byteLength - 1].filter((bytes) => bytes < body.byteLength);
    for (const bytes of sent)
      for (const turns of [0, 3, 12])
        await reset(Buffer.concat([head, body.subarray(0, bytes)]), turns);
    // The whole request, so that a wrong address does not pass.
    const answer = await reset(Buffer.concat([head, body]), 0, 1);
    expect(answer).toMatch(/^HTTP\/1\.1 (2\d\d|400|409|422)/);
    await expectNothingLeft();
  },
);
