import { join } from "node:path";
import type { CliEnvironment } from "../environment.ts";
import { CliError } from "../errors.ts";
import { readPrivateFile } from "./read-private-file.ts";
import type { StoreKind } from "./stores.ts";
import { asObject, parseObject } from "../support/json.ts";

/** A daemon and the accounts there. Secrets are in the credential store, under `id`. */
export interface Profile {
  /** Names the profile's entries in a keyring that several homes share. */
  readonly id: string;
  /** The daemon's address; null for the daemon of this machine, wherever it listens. */
  readonly url: string | null;
  /** Its credential store; null before the first login. */
  readonly store: StoreKind | null;
  readonly forge: { readonly username: string } | null;
  readonly vault: { readonly email: string; readonly handle: string | null } | null;
}

/** A profile with its name. */
export interface NamedProfile extends Profile {
  readonly name: string;
}

export interface ProfileFile {
  /** The profile in use. */
  readonly current: string;
  readonly profiles: Readonly<Record<string, Profile>>;
  /** Whether the note about credentials in files was shown. */
  readonly wasFileStoreNoticeShown: boolean;
}

/** The profiles, in `profiles.json` of the configuration folder. */
export type Profiles = ReturnType<typeof createProfiles>;

/** The name of the default profile. */
export const defaultProfile = "default";

/** The pattern of a profile name, which is part of file names. */
export function isProfileName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name);
}

type ProfilesDeps = Pick<CliEnvironment, "config" | "system">;

export function createProfiles(cli: ProfilesDeps) {
  const path = async () => join((await cli.config()).paths.configDirectory, "profiles.json");
  const newProfile = (url: string | null = null): Profile => ({
    id: Buffer.from(cli.system.random(6)).toString("hex"),
    url,
    store: null,
    forge: null,
    vault: null,
  });

  const profiles = {
    /** Returns a profile that is in no file yet. */
    newProfile,
    async read(): Promise<ProfileFile> {
      const text = readPrivateFile(await path());
      return text === undefined ? emptyFile : parseFile(text, await path());
    },
    /** The profile of this run: `--profile`, else the one in use. @throws CliError `invalid_config` when it is missing. */
    async inUse(): Promise<NamedProfile> {
      const file = await profiles.read();
      const name = (await cli.config()).profile ?? file.current;
      const found = file.profiles[name];
      if (found !== undefined) return { name, ...found };
      if (name === defaultProfile) return { name, ...newProfile() };
      const known = Object.keys(file.profiles);
      throw new CliError("invalid_config", `there is no profile ${JSON.stringify(name)}`, {
        hint:
          known.length === 0
            ? `"croft profile add ${name}" makes it`
            : `the profiles are: ${known.join(", ")}`,
      });
    },
    /**
     * Changes the file while no other process does. `change` receives the current contents and returns the new ones; when it
     * throws, nothing is changed. @throws CliError `conflict` when another process holds the file for too long
     */
    async update(change: (file: ProfileFile) => ProfileFile): Promise<void> {
      const file = await path();
      const { writePrivateFile } = await import("./private-files.ts");
      const { withFileLock } = await import("./lock.ts");
      await withFileLock(`${file}.lock`, cli.system, async () => {
        const wire = toWire(change(await profiles.read()));
        await writePrivateFile(file, `${JSON.stringify(wire, null, 2)}\n`);
      });
    },
    /** Changes one profile, which is made when it is missing. */
    async updateProfile(name: string, change: (profile: Profile) => Profile): Promise<Profile> {
      let changed = newProfile();
      await profiles.update((file) => {
        changed = change(file.profiles[name] ?? changed);
        return { ...file, profiles: { ...file.profiles, [name]: changed } };
      });
      return changed;
    },
  };
  return profiles;
}

const emptyFile: ProfileFile = {
  current: defaultProfile,
  profiles: Object.create(null) as Readonly<Record<string, Profile>>,
  wasFileStoreNoticeShown: false,
};

function toWire(file: ProfileFile) {
  const { current, profiles, wasFileStoreNoticeShown } = file;
  return { version: 1, current, file_store_notice_given: wasFileStoreNoticeShown, profiles };
}

function parseFile(text: string, path: string): ProfileFile {
  const {
    current,
    profiles: known,
    file_store_notice_given: wasNoticeShown,
  } = parseObject(text) ?? {};
  const entries = asObject(known);
  if (typeof current !== "string" || entries === undefined) throw damaged(path);
  // Without a prototype: a profile may be named like a member of `Object`.
  const profiles: Record<string, Profile> = Object.create(null);
  for (const [name, entry] of Object.entries(entries)) {
    const profile = toProfile(entry);
    if (profile === undefined) throw damaged(path);
    profiles[name] = profile;
  }
  return { current, profiles, wasFileStoreNoticeShown: wasNoticeShown === true };
}

/** Returns the profile that a value of the file describes; undefined when a member has a wrong type. */
function toProfile(value: unknown): Profile | undefined {
  const { id, url = null, store = null, forge = null, vault = null } = asObject(value) ?? {};
  if (typeof id !== "string" || (url !== null && typeof url !== "string")) return undefined;
  if (store !== null && store !== "keyring" && store !== "file") return undefined;
  const { username } = asObject(forge) ?? {};
  const { email, handle = null } = asObject(vault) ?? {};
  if (forge !== null && typeof username !== "string") return undefined;
  if (vault !== null && typeof email !== "string") return undefined;
  if (handle !== null && typeof handle !== "string") return undefined;
  return {
    id,
    url,
    store,
    forge: typeof username === "string" ? { username } : null,
    vault: typeof email === "string" ? { email, handle } : null,
  };
}

function damaged(path: string): CliError {
  return new CliError("invalid_config", `${path} is damaged`, {
    hint: "mend it, or remove it and sign in again",
  });
}
