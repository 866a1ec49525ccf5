import { createHash } from "node:crypto";
import { mkdir, open, rename } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

// A plain server of Git LFS in one process of Node, which keeps its files in the folder of its first argument. It does what
// lfs-test-server does with an object: it checks the credentials, hashes the bytes into a temporary file, syncs and
// renames the file, records the object durably, and looks the record up to verify it. With `bytes` as the second argument it only writes
// each body to a file: the least that any server does.
const [, , folder = "", mode = "objects"] = process.argv;
const AUTHORIZATION = `Basic ${Buffer.from("keeper:password").toString("base64")}`;
const records = new Map<string, number>();
const log = await open(join(folder, "records"), "a");
let uploads = 0;

interface Pointer {
  readonly oid: string;
  readonly size: number;
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url = "", headers } = request;
  if (mode === "objects" && headers.authorization !== AUTHORIZATION) {
    response.writeHead(401, { "LFS-Authenticate": 'Basic realm="lfs"' }).end();
    return;
  }
  if (method === "POST" && url.endsWith("/objects/batch")) {
    const { objects } = await readJson<{ objects: Pointer[] }>(request);
    const base = `http://${headers.host}`;
    sendJson(response, { transfer: "basic", objects: objects.map((each) => toEntry(each, base)) });
  } else if (method === "POST") {
    const { oid, size } = await readJson<Pointer>(request);
    sendStatus(response, records.get(oid) === size ? 200 : 404);
  } else if (mode === "bytes") {
    await using file = await open(join(folder, url.split("/").at(-1) ?? ""), "w");
    for await (const chunk of request) await file.write(chunk as Buffer);
    sendStatus(response, 200);
  } else {
    sendStatus(response, (await store(request, url.split("/").at(-1) ?? "")) ? 200 : 422);
  }
}

function toEntry({ oid, size }: Pointer, base: string) {
  if (records.has(oid)) return { oid, size };
  const upload = { href: `${base}/objects/${oid}` };
  if (mode === "bytes") return { oid, size, actions: { upload } };
  const header = { Authorization: AUTHORIZATION };
  const verify = { href: `${base}/verify`, header };
  return { oid, size, authenticated: true, actions: { upload: { ...upload, header }, verify } };
}

/** Stores the object with the bytes of a body. Returns false for other bytes than those of its name. */
async function store(body: IncomingMessage, oid: string): Promise<boolean> {
  const path = join(folder, oid.slice(0, 2), oid.slice(2, 4), oid);
  const temporary = join(folder, `upload-${(uploads += 1)}`);
  const hash = createHash("sha256");
  let size = 0;
  {
    await using file = await open(temporary, "wx");
    for await (const chunk of body as AsyncIterable<Buffer>) {
      const written = file.write(chunk);
      hash.update(chunk);
      size += chunk.byteLength;
      await written;
    }
    await file.sync();
  }
  if (hash.digest("hex") !== oid) return false;
  await mkdir(join(path, ".."), { recursive: true });
  await rename(temporary, path);
  await log.appendFile(`${oid} ${size}\n`);
  await log.datasync();
  records.set(oid, size);
  return true;
}

async function readJson<T>(request: IncomingMessage): Promise<T> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text) as T;
}

function sendJson(response: ServerResponse, body: object): void {
  response.writeHead(200, { "Content-Type": "application/vnd.git-lfs+json" });
  response.end(JSON.stringify(body));
}

function sendStatus(response: ServerResponse, status: number): void {
  response.writeHead(status, { "Content-Length": 0 }).end();
}

const server = createServer((request, response) => {
  serve(request, response).catch((error: unknown) => response.destroy(error as Error));
});
server.listen(0, "127.0.0.1", () => {
  console.log(
    JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
  );
});
process.once("SIGTERM", () => process.exit(0));
