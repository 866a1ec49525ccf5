import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { startTestDaemon, type TestDaemon } from "../daemon.ts";
import { createPerson, type VaultPerson } from "./vault-person.ts";

/** A daemon with two accounts, whose local folders are below `files`. */
export interface FolderDaemon {
  readonly daemon: TestDaemon;
  readonly files: string;
  readonly mira: VaultPerson;
  readonly noah: VaultPerson;
  /** Stops the daemon and removes the folders. */
  stop(): Promise<void>;
}

/** Starts the daemon and signs both accounts in. */
export async function startFolderDaemon(
  env: Readonly<Record<string, string>> = {},
): Promise<FolderDaemon> {
  const files = await mkdtemp(join(tmpdir(), "croft-folders-"));
  const daemon = await startTestDaemon({
    env: { CROFT_LOCAL_ROOTS: files, CROFT_RATE_LIMITS: "off", ...env },
  });
  const mira = createPerson(daemon, "mira", "192.0.2.1");
  const noah = createPerson(daemon, "noah", "192.0.2.2");
  for (const person of [mira, noah]) {
    expect((await person.register()).status).toBe(201);
    await person.signIn();
  }
  return {
    daemon,
    files,
    mira,
    noah,
    async stop() {
      await daemon[Symbol.asyncDispose]();
      await rm(files, { recursive: true });
    },
  };
}

/** Connects a folder of an account, and makes it if it is missing. Returns it and the path of the connection's routes. */
export async function connectFolder(
  { files }: Pick<FolderDaemon, "files">,
  person: VaultPerson,
  name: string,
): Promise<{ readonly base: string; readonly folder: string }> {
  const folder = join(files, person.handle, name);
  await mkdir(folder, { recursive: true });
  const made = await person.request("/api/cloud/connections", {
    json: { provider: "local_folder", display_name: name, settings: { root: folder } },
  });
  expect(made.status).toBe(201);
  return { base: `/api/cloud/connections/${made.json.id}`, folder };
}
