import { createHash, randomBytes } from "node:crypto";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { croftJson, serveCroft, type CroftCommand } from "../support/croft.ts";
import { createGitClient } from "../support/forge/git-client.ts";
import { skipUnless } from "../support/skip.ts";
import {
  canMountSmallDisk,
  fillDisk,
  mountSmallDisk,
  unmountSmallDisk,
} from "../support/small-disk.ts";

// Everything that takes files, on a disk that is full or becomes full in the middle of them.

const PASSWORD = "Correct-Horse-7-Battery";
const AGENT = { "User-Agent": "croft-full-disk" };
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];
/** What is free in bytes while everything is tried: nothing, less than a file, and enough for a few of them. */
const ROOMS = [0, 60_000, 2_000_000];
const FILE_BYTES = 200_000;

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const base64 = (bytes: Buffer) => bytes.toString("base64");

skipUnless(canMountSmallDisk(), "mounting a small file system takes root on Linux")(
  "pushes, releases, large files, images, packages, wikis, documents and WebDAV on a full disk are refused in words or whole",
  async () => {
    const home = mountSmallDisk() ?? "";
    await using git = await createGitClient();
    try {
      const { forge } = await croftJson<{ forge: { token: string } }>(
        command,
        ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
        { home },
        PASSWORD,
      );
      const env = { CROFT_RATE_LIMITS: "off", CROFT_LOG_LEVEL: "warn" };
      await using daemon = await serveCroft(command, { home, env });
      const { url } = daemon;
      const send = (
        method: string,
        path: string,
        body?: Buffer | FormData | object,
        headers: Readonly<Record<string, string>> = { Authorization: `token ${forge.token}` },
      ) => {
        const isJson = !(body instanceof Buffer || body instanceof FormData || body === undefined);
        const type = isJson ? "application/json" : "application/octet-stream";
        return fetch(url + path, {
          method,
          headers: {
            ...AGENT,
            ...headers,
            ...(body === undefined || body instanceof FormData ? {} : { "Content-Type": type }),
          },
          ...(body === undefined
            ? {}
            : { body: isJson ? JSON.stringify(body) : (body as BodyInit) }),
        });
      };
      const make = async (...request: Parameters<typeof send>) => {
        const answer = await send(...request);
        const text = await answer.text();
        expect(answer.ok, `${request[0]} ${request[1]}: ${answer.status} ${text}`).toBe(true);
        return JSON.parse(text) as Record<string, string>;
      };

      const repo = "/api/v1/repos/keeper/hut";
      await make("POST", "/api/v1/user/repos", { name: "hut", auto_init: true });
      const release = await make("POST", `${repo}/releases`, { tag_name: "v1" });
      const issue = await make("POST", `${repo}/issues`, { title: "one" });
      await make("POST", "/api/auth/register", {
        handle: "mira",
        email: "mira@example.org",
        password: PASSWORD,
      });
      const signedIn = await make("POST", "/api/auth/login", {
        email: "mira@example.org",
        password: PASSWORD,
      });
      const vault = { Authorization: `Bearer ${signedIn["access_token"]}` };
      await mkdir(join(home, "files", "mira", "box"), { recursive: true });
      await make(
        "POST",
        "/api/cloud/connections",
        {
          provider: "local_folder",
          display_name: "Box",
          settings: { root: join(home, "files", "mira", "box") },
          credentials: {},
        },
        vault,
      );
      const machine = await make("POST", "/api/auth/tokens", { name: "d", scope: "write" }, vault);
      const basic = Buffer.from(`mira@example.org:${machine["token"]}`).toString("base64");
      const dav = { Authorization: `Basic ${basic}` };
      const link = await make("POST", "/api/links", { kind: "upload", max_files: 1000 }, vault);
      await git.run(
        "clone",
        "-q",
        url.replace("//", `//keeper:${forge.token}@`) + "/keeper/hut.git",
        "work",
      );

      const form = (field: string, name: string, bytes: Buffer) => {
        const body = new FormData();
        body.set(field, new File([new Uint8Array(bytes)], name));
        return body;
      };
      const first = await make(
        "POST",
        "/api/documents/upload",
        form("file", "first.bin", Buffer.from("first")),
        vault,
      );

      type Outcome = { readonly status: number; readonly text: string };
      const read = async (answer: Response): Promise<Outcome> => ({
        status: answer.status,
        text: await answer.text(),
      });
      const bytesOf = async (...request: Parameters<typeof send>) =>
        digest(Buffer.from(await (await send(...request)).arrayBuffer()));

      /** Sends a file; returns the outcome and what must be read when it was accepted. */
      const writers: Readonly<
        Record<
          string,
          (name: string, bytes: Buffer) => Promise<readonly [Outcome, (() => Promise<string>)?]>
        >
      > = {
        async push(name, bytes) {
          await writeFile(join(git.folder, "work", name), bytes);
          await git.in("work", "add", ".");
          await git.in("work", "commit", "-q", "-m", name);
          const pushed = await git.in("work", "push", "-q", "origin", `HEAD:refs/heads/${name}`);
          return [
            { status: pushed.exitCode === 0 ? 201 : 507, text: pushed.errors },
            () => bytesOf("GET", `${repo}/raw/${name}?ref=${name}`),
          ];
        },
        async release(name, bytes) {
          const made = await read(
            await send(
              "POST",
              `${repo}/releases/${release["id"]}/assets`,
              form("attachment", name, bytes),
            ),
          );
          return [made, () => bytesOf("GET", `/keeper/hut/releases/download/v1/${name}`)];
        },
        async attachment(name, bytes) {
          const made = await read(
            await send(
              "POST",
              `${repo}/issues/${issue["number"]}/assets`,
              form("attachment", name, bytes),
            ),
          );
          return [
            made,
            () => bytesOf("GET", new URL(JSON.parse(made.text).browser_download_url).pathname),
          ];
        },
        async lfs(_name, bytes) {
          const path = `/keeper/hut.git/info/lfs/objects/${digest(bytes)}`;
          const made = await read(await send("PUT", `${path}/${bytes.length}`, bytes));
          return [made, () => bytesOf("GET", path)];
        },
        async blob(_name, bytes) {
          const begun = await send("POST", "/v2/keeper/tools/blobs/uploads/");
          const text = await begun.text();
          if (!begun.ok) return [{ status: begun.status, text }];
          const at = `${begun.headers.get("location")}?digest=sha256:${digest(bytes)}`;
          const made = await read(await send("PUT", at, bytes));
          return [made, () => bytesOf("GET", `/v2/keeper/tools/blobs/sha256:${digest(bytes)}`)];
        },
        async package(name, bytes) {
          const path = `/api/packages/keeper/generic/tool/${name}/tool.bin`;
          return [await read(await send("PUT", path, bytes)), () => bytesOf("GET", path)];
        },
        async contents(name, bytes) {
          const made = await read(
            await send("POST", `${repo}/contents/c-${name}`, { content: base64(bytes) }),
          );
          return [made, () => bytesOf("GET", `${repo}/raw/c-${name}`)];
        },
        async wiki(name, bytes) {
          const title = name.replaceAll(/\W/g, "");
          const content = Buffer.from(bytes.toString("hex"));
          const made = await read(
            await send("POST", `${repo}/wiki/new`, { title, content_base64: base64(content) }),
          );
          return [
            made,
            async () => {
              const page = await (await send("GET", `${repo}/wiki/page/${title}`)).json();
              const text = Buffer.from(page.content_base64, "base64").toString();
              return digest(Buffer.from(text, "hex"));
            },
          ];
        },
        async document(name, bytes) {
          const made = await read(
            await send("POST", "/api/documents/upload", form("file", name, bytes), vault),
          );
          return [
            made,
            () =>
              bytesOf(
                "GET",
                `/api/documents/${JSON.parse(made.text).id}/content`,
                undefined,
                vault,
              ),
          ];
        },
        async version(_name, bytes) {
          const path = `/api/documents/${first["id"]}/content`;
          const made = await read(await send("PUT", path, bytes, { ...vault, "If-Match": "*" }));
          return [made, () => bytesOf("GET", path, undefined, vault)];
        },
        async session(name, bytes) {
          const sessions = "/api/documents/upload-sessions";
          const begun = await read(
            await send(
              "POST",
              sessions,
              { filename: name, size: bytes.length, fingerprint: name },
              vault,
            ),
          );
          if (begun.status >= 300) return [begun];
          const at = `${sessions}/${JSON.parse(begun.text).upload_id}`;
          const part = await read(
            await send("PATCH", at, bytes, { ...vault, "Upload-Offset": "0" }),
          );
          if (part.status >= 300) return [part];
          const made = await read(
            await send("POST", `${at}/complete`, { sha256: digest(bytes) }, vault),
          );
          return [
            made,
            () =>
              bytesOf(
                "GET",
                `/api/documents/${JSON.parse(made.text).id}/content`,
                undefined,
                vault,
              ),
          ];
        },
        async dav(name, bytes) {
          const path = `/dav/Box/${name}`;
          return [
            await read(await send("PUT", path, bytes, dav)),
            () => bytesOf("GET", path, undefined, dav),
          ];
        },
        async visitor(name, bytes) {
          const { pathname } = new URL(link["url"] ?? "");
          const sent = await read(await send("POST", pathname, form("file", name, bytes), {}));
          const isRefused = sent.text.includes("it could not be stored");
          return [{ status: isRefused ? 507 : sent.status, text: sent.text }];
        },
      };

      const kept = new Map<string, readonly [hash: string, read: () => Promise<string>]>();
      for (const room of [...ROOMS, Infinity]) {
        if (room !== Infinity) fillDisk(join(home, "ballast"), room);
        for (const [kind, write] of Object.entries(writers)) {
          const bytes = randomBytes(FILE_BYTES);
          const [{ status, text }, readAgain] = await write(`${kind}-${room}.bin`, bytes);
          const isKept = status < 300;
          expect(isKept || status === 507, `${kind} with ${room} bytes: ${status} ${text}`).toBe(
            true,
          );
          if (isKept && readAgain !== undefined)
            kept.set(kind === "version" ? kind : `${kind} ${room}`, [digest(bytes), readAgain]);
          if (room === 0 || room === Infinity) expect([kind, isKept]).toEqual([kind, room > 0]);
        }
        for (const [name, [hash, readAgain]] of kept)
          expect([name, await readAgain()]).toEqual([name, hash]);
        await rm(join(home, "ballast"), { force: true });
      }
      // Jobs go on when there is room; a request that fails as a defect of the daemon is logged as an error.
      expect(daemon.stderr()).not.toMatch(/"level":"fatal"|"level":"error".*"message":"request"/);
      expect(await daemon.end("SIGTERM")).toBe(0);
      expect(await croftJson<unknown>(command, ["daemon", "check"], { home })).toEqual([]);
      expect((await readdir(join(home, "tmp"))).filter((name) => name !== "git-hooks")).toEqual([]);
      const stored = await readdir(join(home, "repositories"), { recursive: true });
      expect(stored.filter((path) => /crash|\/tmp_|\.lock$/.test(path))).toEqual([]);
    } finally {
      unmountSmallDisk(home);
    }
  },
);
