import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StoredSession } from "../../../cli/client/vault-session.ts";

const profileId = "0123456789ab";

/** The contents of a profile. */
export interface SignedIn {
  readonly url: string;
  /** The address in the profile itself; `url` when absent. Null: the daemon of this machine, wherever it listens. */
  readonly profileUrl?: string | null;
  readonly forgeToken?: string;
  readonly forgeUsername?: string;
  readonly vault?: Partial<StoredSession>;
}

/** Writes a default profile that is signed in, as `croft login` would leave it. */
export async function signIn(
  home: string,
  { url, profileUrl = url, forgeToken, forgeUsername = "boss", vault }: SignedIn,
): Promise<void> {
  await mkdir(join(home, "credentials"), { recursive: true });
  const profile = {
    id: profileId,
    url: profileUrl,
    store: "file",
    forge: forgeToken === undefined ? null : { username: forgeUsername },
    vault: vault === undefined ? null : { email: "mira@example.org", handle: "mira" },
  };
  const file = {
    version: 1,
    current: "default",
    file_store_notice_given: true,
    profiles: { default: profile },
  };
  await writeFile(join(home, "profiles.json"), JSON.stringify(file), { mode: 0o600 });
  if (forgeToken !== undefined)
    await writeEntry(home, "forge", { token: forgeToken, token_id: 7, url });
  if (vault !== undefined) await writeEntry(home, "vault", { ...freshSession(url), ...vault });
}

/** A session with an hour of life. */
export function freshSession(url: string): StoredSession {
  return {
    access_token: "access-1",
    access_expires_at: Date.now() + 3_600_000,
    refresh_token: "refresh-1",
    refresh_expires_at: null,
    url,
  };
}

/** The stored credentials of a service, or undefined. */
export async function readEntry(home: string, service: "forge" | "vault"): Promise<unknown> {
  const text = await readFile(entryPath(home, service), "utf8").catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

export async function writeEntry(
  home: string,
  service: "forge" | "vault",
  value: object,
): Promise<void> {
  await writeFile(entryPath(home, service), JSON.stringify(value), { mode: 0o600 });
}

function entryPath(home: string, service: "forge" | "vault"): string {
  return join(home, "credentials", `${profileId}.${service}.json`);
}

/** Returns an access token with the claims of the vault that the client reads. */
export function fakeJwt(expiresAt: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "HS256" })}.${part({ exp: Math.floor(expiresAt / 1000) })}.signature`;
}

/** The stored credentials of the only profile there is, whatever its id. */
export async function readEntryOfAnyProfile(
  home: string,
  service: "forge" | "vault",
): Promise<unknown> {
  const names = await readdir(join(home, "credentials")).catch(() => []);
  const name = names.find((one) => one.endsWith(`.${service}.json`));
  return name === undefined
    ? undefined
    : (JSON.parse(await readFile(join(home, "credentials", name), "utf8")) as unknown);
}
