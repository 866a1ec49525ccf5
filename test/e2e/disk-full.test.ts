import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { expect } from "vitest";
import { croftJson, runCroft, serveCroft, type CroftCommand } from "../support/croft.ts";
import { skipUnless } from "../support/skip.ts";
import {
  canMountSmallDisk,
  fillDisk,
  mountSmallDisk,
  unmountSmallDisk,
} from "../support/small-disk.ts";

const PASSWORD = "Correct-Horse-7-Battery";
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];

skipUnless(canMountSmallDisk(), "mounting a small file system takes root on Linux")(
  "a full disk is reported, allows sign-ins, deletes and a start, and loses nothing",
  async () => {
    const home = mountSmallDisk() ?? "";
    try {
      const papers = join(home, "files", "mira", "Papers");
      const around = { home };
      const { forge } = await croftJson<{ forge: { token: string } }>(
        command,
        ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
        around,
        PASSWORD,
      );
      mkdirSync(papers, { recursive: true });
      await using daemon = await serveCroft(command, { home, env: { CROFT_RATE_LIMITS: "off" } });
      const cli = { home, env: { CROFT_URL: daemon.url } };
      await croftJson(
        command,
        [
          "vault",
          "register",
          "--handle",
          "mira",
          "--email",
          "mira@example.org",
          "--password-stdin",
        ],
        cli,
        PASSWORD,
      );
      await croftJson(
        command,
        ["login", "vault", "--email", "mira@example.org", "--password-stdin"],
        cli,
        PASSWORD,
      );
      await croftJson(
        command,
        [
          "vault",
          "connection",
          "add",
          "local_folder",
          "--name",
          "Papers",
          "--setting",
          `root=${papers}`,
        ],
        cli,
      );

      const elsewhere = mkdtempSync(join(tmpdir(), "croft-upload-"));
      const large = join(elsewhere, "large.bin");
      writeFileSync(large, Buffer.alloc(80 * 1024 * 1024, 7));
      const upload = await runCroft(
        command,
        ["vault", "item", "upload", large, "Papers:/", "--json"],
        cli,
      );
      expect(upload.code).not.toBe(0);
      expect(upload.stdout).toBe("");
      expect(JSON.parse(upload.stderr.trim().split("\n").at(-1) ?? "")).toHaveProperty("error");
      // The partial file is deleted and its space is free again, so small writes still work.
      expect((await readdir(papers)).filter((name) => name !== ".croft")).toEqual([]);

      for (const name of ["first-out", "last-out"])
        expect(await createUser(daemon.url, forge.token, name)).toBe(201);
      fillDisk(join(home, "ballast"));
      const refused = await createUser(daemon.url, forge.token, "nobody-has-room");
      expect([500, 503, 507]).toContain(refused);
      expect(await createdUsers(daemon.url, forge.token)).toEqual([
        "first-out",
        "keeper",
        "last-out",
      ]);
      expect(await deleteUser(daemon.url, forge.token, "first-out")).toBe(204);
      expect(await (await fetch(`${daemon.url}/readyz`)).json()).toEqual({
        status: "ready",
        disk: "full",
      });
      expect(await croftJson(command, ["daemon", "status"], cli)).toMatchObject({ disk: "full" });

      await rm(join(home, "ballast"));
      expect(await createUser(daemon.url, forge.token, "room-again")).toBe(201);
      expect(await createdUsers(daemon.url, forge.token)).toEqual([
        "keeper",
        "last-out",
        "room-again",
      ]);
      expect(await daemon.end("SIGTERM")).toBe(0);

      {
        await using refilled = await serveCroft(command, { home });
        expect(await (await fetch(`${refilled.url}/readyz`)).json()).toEqual({ status: "ready" });
        fillDisk(join(home, "ballast"));
        expect(await refilled.end("SIGTERM")).toBe(0);
      }
      {
        await using onFullDisk = await serveCroft(command, { home });
        expect(await deleteUser(onFullDisk.url, forge.token, "last-out")).toBe(204);
        expect(await onFullDisk.end("SIGTERM")).toBe(0);
      }
      for (const signIn of [signInToVault, signInToForge]) {
        await rm(join(home, "ballast"));
        await using full = await serveCroft(command, { home });
        fillDisk(join(home, "ballast"));
        expect(await signIn(full.url)).toBe(200);
        expect(await full.end("SIGTERM")).toBe(0);
      }
      {
        // Ordinary writes take the last space beside sign-ins and must leave the reserve for deletions and a start.
        await rm(join(home, "ballast"));
        await using full = await serveCroft(command, { home, env: { CROFT_RATE_LIMITS: "off" } });
        expect(await createUser(full.url, forge.token, "last-in")).toBe(201);
        await createRepository(full.url, forge.token);
        fillDisk(join(home, "ballast"));
        for (let at = 0; at < 8; at++) expect(await signInToVault(full.url)).toBe(200);
        await fillWithIssues(full.url, forge.token);
        expect(await deleteUser(full.url, forge.token, "room-again")).toBe(204);
        expect(await full.end("SIGTERM")).toBe(0);
      }
      {
        await using again = await serveCroft(command, { home });
        expect(await deleteUser(again.url, forge.token, "last-in")).toBe(204);
        expect(await again.end("SIGTERM")).toBe(0);
      }
      const db = new Sqlite(join(home, "croft.db"), { readonly: true });
      expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
      db.close();
    } finally {
      unmountSmallDisk(home);
    }
  },
);

async function signInToVault(url: string): Promise<number> {
  const { status } = await fetch(`${url}/api/auth/login`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email: "mira@example.org", password: PASSWORD }),
  });
  return status;
}

async function signInToForge(url: string): Promise<number> {
  const credentials = Buffer.from(`keeper:${PASSWORD}`).toString("base64");
  const { status } = await fetch(`${url}/api/v1/user`, {
    headers: { Authorization: `Basic ${credentials}` },
  });
  return status;
}

async function createRepository(url: string, token: string): Promise<void> {
  const { status } = await fetch(`${url}/api/v1/user/repos`, {
    method: "POST",
    headers: { Authorization: `token ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "notes" }),
  });
  expect(status).toBe(201);
}

/** Creates issues until one is refused for want of space. */
async function fillWithIssues(url: string, token: string): Promise<void> {
  for (;;) {
    const { status } = await fetch(`${url}/api/v1/repos/keeper/notes/issues`, {
      method: "POST",
      headers: { Authorization: `token ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ title: "large", body: "x".repeat(60_000) }),
    });
    if (status === 507) return;
    expect(status).toBe(201);
  }
}

async function createUser(url: string, token: string, username: string): Promise<number> {
  const { status } = await fetch(`${url}/api/v1/admin/users`, {
    method: "POST",
    headers: { Authorization: `token ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({
      username,
      email: `${username}@example.org`,
      password: PASSWORD,
      // Long enough to need a new page of the log, however much of the last one is left.
      full_name: "x".repeat(100),
    }),
  });
  return status;
}

async function deleteUser(url: string, token: string, username: string): Promise<number> {
  const { status } = await fetch(`${url}/api/v1/admin/users/${username}`, {
    method: "DELETE",
    headers: { Authorization: `token ${token}` },
  });
  return status;
}

async function createdUsers(url: string, token: string): Promise<string[]> {
  const answer = await fetch(`${url}/api/v1/admin/users`, {
    headers: { Authorization: `token ${token}` },
  });
  return ((await answer.json()) as { login: string }[]).map((user) => user.login);
}
