import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RESUMED_BYTES_MIN } from "../../../../../cli/commands/vault/item/resume-upload.ts";
import { runCli, temporaryHome } from "../../../support/run-cli.ts";
import { signIn } from "../../../support/signed-in.ts";

const base = "/api/cloud/connections/c1";
const SIZE = RESUMED_BYTES_MIN + 3;

let home: Awaited<ReturnType<typeof temporaryHome>>;
let hash: string;

beforeAll(async () => {
  home = await temporaryHome();
  const file = await open(join(home.path, "big.bin"), "w");
  // Sparse, with something at both ends.
  await file.truncate(SIZE);
  await file.write("begin", 0);
  await file.write("end", SIZE - 3);
  await file.close();
  const whole = createHash("sha256").update("begin");
  const zeros = Buffer.alloc(1024 * 1024);
  for (let left = SIZE - 8; left > 0; left -= zeros.length)
    whole.update(zeros.subarray(0, Math.min(left, zeros.length)));
  hash = whole.update("end").digest("hex");
});

afterAll(() => home[Symbol.asyncDispose]());

interface UploadState {
  offset: number;
  cutAfter: number;
  /** Whether a proxy answers with 502 in the place of the cut connection. */
  isBehindProxy?: boolean;
  /** Answers to completing that get lost; the upload is gone then, and its name taken. */
  lost?: number;
}

/** A daemon that keeps only how many bytes have arrived, and cuts the first part after `cutAfter` of them. */
async function serve(state: UploadState) {
  const requests: string[] = [];
  const send = (response: ServerResponse, status: number, body: unknown) =>
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  const progress = () => ({
    upload_id: "u1",
    offset: state.offset,
    size: SIZE,
    expires_at: "2026-11-25T00:00:00.000Z",
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "").split("?")[0];
    requests.push(
      `${request.method} ${path} ${String(request.headers["upload-offset"] ?? "")}`.trim(),
    );
    if (path === "/api/cloud/connections") {
      const one = { id: "c1", provider: "local_folder", display_name: "home" };
      return void send(response, 200, { items: [one], total: 1, page: 1, per_page: 100 });
    }
    if (path === `${base}/items`)
      return void send(response, 200, { items: [], refresh_state: "fresh", next_cursor: null });
    if (request.method === "PATCH") {
      if (Number(request.headers["upload-offset"]) !== state.offset)
        return void send(response, 409, { kind: "conflict", reason: "offset_mismatch" });
      for await (const chunk of request) {
        state.offset += (chunk as Buffer).byteLength;
        if (state.offset < state.cutAfter) continue;
        state.cutAfter = Number.POSITIVE_INFINITY;
        if (state.isBehindProxy !== true) return void request.destroy();
        return void response
          .writeHead(502, { "Content-Type": "text/html", Connection: "close" })
          .end("<html><h1>502 Bad Gateway</h1></html>", () => request.destroy());
      }
      return void send(response, 200, progress());
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
    if (path === `${base}/uploads` && state.lost !== undefined && state.lost < 1)
      return void send(response, 409, { kind: "conflict", reason: "name_collision" });
    if (path === `${base}/uploads`) return void send(response, 201, progress());
    expect(body).toEqual({ sha256: hash });
    if (state.lost !== undefined && state.lost > 0) {
      state.lost -= 1;
      return void response.destroy();
    }
    send(response, 200, {
      kind: "uploaded",
      provider_item_id: "big.bin",
      name: "big.bin",
      parent_ref: null,
      size: state.offset,
    });
  }
  const server = createServer(
    (request, response) => void answer(request, response).catch(() => request.destroy()),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function upload(state: UploadState) {
  await using daemon = await serve(state);
  await signIn(home.path, { url: daemon.url, vault: {} });
  const words = ["vault", "item", "upload", "big.bin", "home:/", "--json"];
  const options = { home: home.path, workingDirectory: home.path, hurried: true };
  return { ran: await runCli(words, options), requests: daemon.requests };
}

test("resumes a large upload after its connection closed early, and sends the hash of the whole file", async () => {
  const { ran, requests } = await upload({ offset: 0, cutAfter: 100_000_000 });
  expect([ran.code, JSON.parse(ran.out)]).toMatchObject([0, [{ name: "big.bin", size: SIZE }]]);
  const parts = requests.filter((line) => line.startsWith("PATCH"));
  expect(parts).toHaveLength(2);
  expect(Number(parts[1]?.split(" ")[2])).toBeGreaterThanOrEqual(100_000_000);
  expect(ran.err).toMatch(/Resuming big\.bin at \d+(\.\d+)? M/);
});

test("resumes a large upload after a proxy lost the daemon behind it", async () => {
  const { ran, requests } = await upload({
    offset: 0,
    cutAfter: 100_000_000,
    isBehindProxy: true,
  });
  expect([ran.code, JSON.parse(ran.out)]).toMatchObject([0, [{ name: "big.bin", size: SIZE }]]);
  expect(requests.filter((line) => line.startsWith("PATCH"))).toHaveLength(2);
});

test("resumes the upload that an earlier run has left", async () => {
  const { ran, requests } = await upload({
    offset: 200_000_000,
    cutAfter: Number.POSITIVE_INFINITY,
  });
  expect(ran.code).toBe(0);
  expect(requests.filter((line) => line.startsWith("PATCH"))).toEqual([
    `PATCH ${base}/uploads/u1 200000000`,
  ]);
  expect(ran.err).toMatch(/Resuming big\.bin at/);
});

test("completes an upload of which everything has arrived", async () => {
  const { ran, requests } = await upload({ offset: SIZE, cutAfter: Number.POSITIVE_INFINITY });
  expect([ran.code, requests.filter((line) => line.startsWith("PATCH"))]).toEqual([0, []]);
});

test("requests the result again when the answer to completing is lost", async () => {
  const state = { offset: SIZE, cutAfter: Number.POSITIVE_INFINITY, lost: 2 };
  const { ran, requests } = await upload(state);
  expect([ran.code, JSON.parse(ran.out)]).toMatchObject([0, [{ name: "big.bin", size: SIZE }]]);
  expect(requests.filter((line) => line.endsWith("/complete"))).toHaveLength(3);
  expect(requests.filter((line) => line.endsWith("/uploads"))).toHaveLength(1);
});
