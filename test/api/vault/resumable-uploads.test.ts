import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TestDaemon } from "../../support/daemon.ts";
import { connectFolder, startFolderDaemon } from "../../support/vault/local-folders.ts";
import type { VaultPerson } from "../../support/vault/vault-person.ts";
import { pattern } from "../../conformance/cloud-provider/acting.ts";

const UPLOAD_MAX = 1024 * 1024;

let daemon: TestDaemon;
let files: string;
let mira: VaultPerson;
let noah: VaultPerson;
let stop: () => Promise<void>;
let folders = 0;

beforeAll(async () => {
  ({ daemon, files, mira, noah, stop } = await startFolderDaemon({
    CROFT_MAX_UPLOAD_BYTES: String(UPLOAD_MAX),
  }));
});
afterAll(() => stop());

/** A connection to a new folder, with the path of its uploads. */
async function connect(): Promise<{ readonly base: string; readonly folder: string }> {
  const { base, folder } = await connectFolder({ files }, mira, `folder ${++folders}`);
  return { base: `${base}/uploads`, folder };
}

const begin = (base: string, size: number, more: object = {}, person = mira) =>
  person.request(base, { json: { name: "big.bin", size, fingerprint: "one", ...more } });

const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

async function append(base: string, id: string, offset: number, bytes: Buffer<ArrayBuffer>) {
  const answer = await fetch(`${daemon.url}${base}/${id}`, {
    method: "PATCH",
    headers: {
      Authorization: `Bearer ${mira.accessToken}`,
      "User-Agent": "croft-test",
      "X-Forwarded-For": "192.0.2.1",
      "Content-Type": "application/octet-stream",
      "Upload-Offset": String(offset),
    },
    body: bytes,
  });
  return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
}

const complete = (base: string, id: string, bytes: Uint8Array) =>
  mira.request(`${base}/${id}/complete`, { json: { sha256: hashOf(bytes) } });

describe("an upload in parts", () => {
  test("is visible only when it is complete", async () => {
    const { base, folder } = await connect();
    const bytes = pattern(300_000);
    const begun = await begin(base, bytes.length);
    expect([begun.status, begun.json.offset]).toEqual([201, 0]);
    const id = begun.json.upload_id as string;
    const first = await append(base, id, 0, Buffer.from(bytes.subarray(0, 100_000)));
    expect([first.status, first.json["offset"]]).toEqual([200, 100_000]);
    expect(await readdir(folder)).toEqual([".croft"]);
    expect((await complete(base, id, bytes)).json).toEqual({
      kind: "conflict",
      reason: "incomplete",
    });
    await append(base, id, 100_000, Buffer.from(bytes.subarray(100_000)));
    const done = await complete(base, id, bytes);
    expect([done.status, done.json]).toEqual([
      200,
      {
        kind: "uploaded",
        provider_item_id: "big.bin",
        name: "big.bin",
        parent_ref: null,
        size: 300_000,
      },
    ]);
    expect((await readFile(join(folder, "big.bin"))).equals(bytes)).toBe(true);
    // A client that lost the answer gets it again; another hash is another request.
    expect((await complete(base, id, bytes)).json).toEqual(done.json);
    expect((await complete(base, id, pattern(3))).status).toBe(404);
    expect(await readdir(join(daemon.home, "uploads"))).toEqual([]);
  });

  test("keeps the received bytes when the connection is lost, and resumes after them", async () => {
    const { base, folder } = await connect();
    const bytes = pattern(500_000, 2);
    const id = (await begin(base, bytes.length)).json.upload_id as string;
    const request = httpRequest(`${daemon.url}${base}/${id}`, {
      method: "PATCH",
      headers: {
        Authorization: `Bearer ${mira.accessToken}`,
        "User-Agent": "croft-test",
        // As fetch sends it: the token is bound to it.
        "Accept-Language": "*",
        "X-Forwarded-For": "192.0.2.1",
        "Content-Type": "application/octet-stream",
        "Upload-Offset": "0",
        "Content-Length": String(bytes.length),
      },
    });
    request.on("error", () => undefined);
    request.write(bytes.subarray(0, 200_000));
    const part = join(daemon.home, "uploads", id);
    await expect
      .poll(async () => (await readFile(part).catch(() => Buffer.alloc(0))).length)
      .toBe(200_000);
    const closed = new Promise((resolve) => request.once("close", resolve));
    request.destroy();
    await closed;
    const again = await begin(base, bytes.length);
    expect(again.json).toMatchObject({ upload_id: id, offset: 200_000 });
    expect((await append(base, id, 0, Buffer.from(bytes))).json).toEqual({
      kind: "conflict",
      reason: "offset_mismatch",
    });
    await append(base, id, 200_000, Buffer.from(bytes.subarray(200_000)));
    expect((await complete(base, id, bytes)).status).toBe(200);
    expect((await readFile(join(folder, "big.bin"))).equals(bytes)).toBe(true);
  });

  test("an upload of another version of the file starts over", async () => {
    const { base } = await connect();
    const first = await begin(base, 10);
    for (const more of [{ fingerprint: "two" }, { size: 11 }, { name: "other.bin" }])
      expect((await begin(base, 10, more)).json.upload_id).not.toBe(first.json.upload_id);
  });

  test("discards bytes whose hash is another", async () => {
    const { base, folder } = await connect();
    const id = (await begin(base, 5)).json.upload_id as string;
    await append(base, id, 0, Buffer.from("hello"));
    expect((await complete(base, id, Buffer.from("other"))).json).toEqual({
      kind: "conflict",
      reason: "hash_mismatch",
    });
    expect((await complete(base, id, Buffer.from("hello"))).status).toBe(404);
    expect(await readdir(folder)).toEqual([".croft"]);
  });

  test("never overwrites, neither at its start nor at its end", async () => {
    const { base, folder } = await connect();
    const id = (await begin(base, 5)).json.upload_id as string;
    await append(base, id, 0, Buffer.from("hello"));
    await writeFile(join(folder, "big.bin"), "there first");
    expect((await complete(base, id, Buffer.from("hello"))).json).toEqual({
      kind: "conflict",
      reason: "name_collision",
      existing_name: "big.bin",
    });
    expect(await readFile(join(folder, "big.bin"), "utf8")).toBe("there first");
  });

  test("an empty file is stored, too", async () => {
    const { base, folder } = await connect();
    const id = (await begin(base, 0)).json.upload_id as string;
    expect((await complete(base, id, Buffer.alloc(0))).status).toBe(200);
    expect((await readFile(join(folder, "big.bin"))).length).toBe(0);
  });

  test("refuses more than was announced and more than an upload may have", async () => {
    const { base } = await connect();
    expect((await begin(base, UPLOAD_MAX + 1)).status).toBe(413);
    const id = (await begin(base, 4)).json.upload_id as string;
    expect((await append(base, id, 0, Buffer.from("hello"))).status).toBe(422);
    expect((await begin(base, 4)).json.offset).toBe(0);
  });

  test("is bounded in number for an account, and cancelled by its owner alone", async () => {
    const { base } = await connect();
    const ids: string[] = [];
    for (;;) {
      const begun = await begin(base, 10, { name: `f${ids.length}` });
      if (begun.status !== 201) {
        expect([begun.status, String(begun.json.detail)]).toEqual([
          409,
          expect.stringContaining("uploads may be open"),
        ]);
        break;
      }
      ids.push(begun.json.upload_id as string);
      expect(ids.length).toBeLessThanOrEqual(8);
    }
    const [first = ""] = ids;
    const cancel = (person: VaultPerson) =>
      person.request(`${base}/${first}`, { method: "DELETE" });
    expect((await cancel(noah)).status).toBe(404);
    expect((await cancel(mira)).status).toBe(200);
    expect((await begin(base, 10, { name: "free again" })).status).toBe(201);
  });
});
