import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { startS3Server } from "../stand-ins/s3-server.ts";
import { croftJson, serveCroft, type CroftCommand } from "../support/croft.ts";
import { countKills, limitOfKills } from "../support/kills.ts";

const ROUNDS = countKills(5);
const FILES = 6;
const KILL_WITHIN_MS = 600;
/** Two parts and a bit. */
const LARGE = 17 * 1024 * 1024;
const PASSWORD = "Correct-Horse-7-Battery";
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];

test(
  "a daemon that is killed while it renames and uploads in a bucket loses no file, duplicates no file and leaves no parts",
  { timeout: limitOfKills(ROUNDS) },
  async () => {
    const home = await mkdtemp(join(tmpdir(), "croft-s3-crash-"));
    await using bucket = await startS3Server();
    try {
      await croftJson(
        command,
        ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
        { home },
        PASSWORD,
      );
      for (let at = 0; at < FILES; at += 1)
        bucket.store.put(`file ${at} v0`, Buffer.from(`content ${at}`), {});
      let connection = "";
      for (let round = 0; round <= ROUNDS; round += 1) {
        await using daemon = await serveCroft(command, { home, env: { CROFT_RATE_LIMITS: "off" } });
        const bearer = await signIn(daemon.url, round === 0);
        if (round === 0) connection = await connect(daemon.url, bearer, bucket);
        const base = `${daemon.url}/api/cloud/connections/${connection}/items`;
        const names = await list(base, bearer);
        // Each content exists under exactly one name: the first listing completes or undoes the operation that the kill
        // interrupted.
        const files = names.filter((name) => name.startsWith("file "));
        expect(files.map((name) => name.slice(0, 6)).sort()).toEqual(
          Array.from({ length: FILES }, (_, at) => `file ${at}`),
        );
        for (const name of files)
          expect(bucket.store.current(name)?.bytes.toString()).toBe(`content ${name.charAt(5)}`);
        for (const name of names.filter((one) => one.startsWith("large ")))
          expect(bucket.store.current(name)?.bytes.length).toBe(LARGE);
        expect(bucket.store.uploads.size).toBe(0);
        // An entry stays only for a copy that never arrived: a real server might still be making it.
        for (const { version } of bucket.store.versions(".croft/")) {
          const entry = JSON.parse(version.bytes.toString()) as { kind: string; to: string };
          expect(entry.kind).toBe("move");
          expect(bucket.store.current(entry.to)).toBeUndefined();
        }
        if (round === ROUNDS) {
          expect(await daemon.end("SIGTERM")).toBe(0);
          return;
        }
        const work = [
          ...files.map((name) => rename(base, bearer, name, `${name.slice(0, 6)} v${round + 1}`)),
          upload(base, bearer, `large ${round}`),
        ].map((one) => one.catch(() => undefined));
        await sleep(Math.random() * KILL_WITHIN_MS);
        await daemon.end("SIGKILL");
        await Promise.all(work);
      }
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  },
);

async function list(base: string, bearer: string): Promise<string[]> {
  const answer = await fetch(`${base}?refresh=true&limit=500`, { headers: authorized(bearer) });
  if (!answer.ok) throw new Error(`listing: ${answer.status} ${await answer.text()}`);
  const { items } = (await answer.json()) as { items: { name: string }[] };
  return items.map(({ name }) => name);
}

function rename(base: string, bearer: string, name: string, to: string): Promise<Response> {
  return fetch(`${base}/${encodeURIComponent(name)}/rename`, {
    method: "PATCH",
    headers: { ...authorized(bearer), "Content-Type": "application/json" },
    body: JSON.stringify({ new_name: to }),
  });
}

function upload(base: string, bearer: string, name: string): Promise<Response> {
  const form = new FormData();
  form.set("file", new Blob([Buffer.alloc(LARGE, name)]), name);
  return fetch(`${base}/upload`, { method: "POST", headers: authorized(bearer), body: form });
}

async function signIn(url: string, isNew: boolean): Promise<string> {
  const account = { handle: "mira", email: "mira@example.org", password: PASSWORD };
  if (isNew) await post(`${url}/api/auth/register`, account);
  const { access_token: token } = (await post(`${url}/api/auth/login`, account)) as {
    access_token: string;
  };
  return token;
}

async function connect(
  url: string,
  bearer: string,
  server: {
    readonly origin: string;
    readonly bucket: string;
    readonly key: { readonly id: string; readonly secret: string };
  },
): Promise<string> {
  const body = {
    provider: "s3",
    display_name: "Bucket",
    settings: { endpoint: server.origin, bucket: server.bucket },
    credentials: { access_key_id: server.key.id, secret_access_key: server.key.secret },
  };
  return ((await post(`${url}/api/cloud/connections`, body, bearer)) as { id: string }).id;
}

async function post(url: string, body: object, bearer?: string): Promise<unknown> {
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      ...(bearer === undefined ? {} : authorized(bearer)),
    },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

function authorized(bearer: string): Record<string, string> {
  return { Authorization: `Bearer ${bearer}` };
}
