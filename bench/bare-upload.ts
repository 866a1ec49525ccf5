import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { createChunkWriter } from "../storage/chunk-writer.ts";

// A server of Node that only stores what it is sent: the most that one thread with its parser can do. It writes each body to
// the file that its first argument names, hashes it meanwhile and syncs it.
const path = process.argv[2] ?? "";

async function store(body: IncomingMessage): Promise<void> {
  await using file = await open(path, "w");
  const chunks = createChunkWriter(file, 0);
  const hash = createHash("sha256");
  for await (const chunk of body as AsyncIterable<Buffer>) {
    const written = chunks.write(chunk);
    hash.update(chunk);
    await written;
  }
  await chunks.flush();
  await file.sync();
  hash.digest();
}

const server = createServer((request, response) => {
  store(request).then(
    () => response.end(),
    (error: unknown) => response.destroy(error as Error),
  );
});
server.listen(0, "127.0.0.1", () => {
  console.log(
    JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
  );
});
process.once("SIGTERM", () => process.exit(0));
