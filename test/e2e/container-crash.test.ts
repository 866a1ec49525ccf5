import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { croftJson, serveCroft, type CroftCommand } from "../support/croft.ts";
import { countKills, limitOfKills } from "../support/kills.ts";

const ROUNDS = countKills(4);
const KILL_WITHIN_MS = 150;
const PASSWORD = "Correct-Horse-7-Battery";
const TYPE = "application/vnd.oci.image.manifest.v1+json";
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];

interface Client {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Digests of manifests by tag that the registry has acknowledged. */
type Acknowledged = Map<string, string>;

test(
  "images survive kills completely or not at all",
  { timeout: limitOfKills(ROUNDS) },
  async () => {
    const home = await mkdtemp(join(tmpdir(), "croft-crash-"));
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
      const acknowledged: Acknowledged = new Map();
      for (let round = 0; round < ROUNDS; round += 1) {
        await using daemon = await serve();
        const client = { url: daemon.url, headers };
        const pushing = ["a", "b"].map((name) =>
          pushImages(client, `${name}${round}`, acknowledged),
        );
        const before = acknowledged.size;
        while (acknowledged.size === before) await sleep(1);
        await sleep(Math.random() * KILL_WITHIN_MS);
        await daemon.end("SIGKILL");
        await Promise.all(pushing);
      }

      await using daemon = await serve();
      const client = { url: daemon.url, headers };
      const { tags } = await json<{ tags: string[] }>(client, "/v2/keeper/tools/tags/list");
      expect(tags).toEqual(expect.arrayContaining([...acknowledged.keys()]));
      // A tag that was not acknowledged may be there, and then is whole.
      for (const tag of tags) {
        const digest = await pull(client, tag);
        expect(digest).toBe(acknowledged.get(tag) ?? digest);
      }
      const waiting = await readdir(join(home, "tmp"), { recursive: true });
      expect(waiting.filter((name) => name.includes("object-"))).toEqual([]);
      expect(await daemon.end("SIGTERM")).toBe(0);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  },
);

/** Pushes images with a layer in two chunks, each under a tag of its own, until the daemon is killed. */
async function pushImages(client: Client, name: string, acknowledged: Acknowledged): Promise<void> {
  const config = Buffer.from("{}");
  try {
    for (let index = 0; ; index += 1) {
      const layer = randomBytes(index % 3 === 0 ? 2_000_000 : 2_000);
      for (const bytes of [config, layer]) await pushBlob(client, bytes);
      const manifest = JSON.stringify({
        schemaVersion: 2,
        mediaType: TYPE,
        config: toDescriptor(config),
        layers: [toDescriptor(layer)],
      });
      const tag = `${name}-${index}`;
      await send(client, "PUT", `/v2/keeper/tools/manifests/${tag}`, manifest, {
        "Content-Type": TYPE,
      });
      acknowledged.set(tag, digestOf(Buffer.from(manifest)));
    }
  } catch (error) {
    // The connection was cut: the last request may or may not have taken effect.
    if (!(error instanceof TypeError)) throw error;
  }
}

async function pushBlob(client: Client, bytes: Buffer): Promise<void> {
  const begun = await send(client, "POST", "/v2/keeper/tools/blobs/uploads/");
  const address = begun.headers.get("location") ?? "";
  const half = bytes.byteLength >> 1;
  await send(client, "PATCH", address, bytes.subarray(0, half));
  await send(client, "PATCH", address, bytes.subarray(half));
  await send(client, "PUT", `${address}?digest=${digestOf(bytes)}`);
}

/** Pulls an image. Returns the digest of its manifest when all of its blobs have theirs. */
async function pull(client: Client, tag: string): Promise<string> {
  const response = await send(client, "GET", `/v2/keeper/tools/manifests/${tag}`);
  const text = await response.text();
  const { config, layers } = JSON.parse(text);
  for (const { digest } of [config, ...layers]) {
    const blob = await send(client, "GET", `/v2/keeper/tools/blobs/${digest}`);
    expect(digestOf(Buffer.from(await blob.arrayBuffer()))).toBe(digest);
  }
  return digestOf(Buffer.from(text));
}

async function send(
  { url, headers }: Client,
  method: string,
  path: string,
  body?: string | Buffer,
  more: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const sent = body === undefined ? {} : { body: new Uint8Array(Buffer.from(body)) };
  const response = await fetch(url + path, { method, headers: { ...headers, ...more }, ...sent });
  expect(response.status, `${method} ${path}`).toBeLessThan(300);
  return response;
}

async function json<T>(client: Client, path: string): Promise<T> {
  return (await send(client, "GET", path)).json() as Promise<T>;
}

const digestOf = (bytes: Buffer): string =>
  `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const toDescriptor = (bytes: Buffer) => ({
  mediaType: "application/octet-stream",
  digest: digestOf(bytes),
  size: bytes.byteLength,
});
