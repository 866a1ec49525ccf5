import { join } from "node:path";
import type { CliEnvironment } from "../environment.ts";
import { CliError } from "../errors.ts";
import type { NamedProfile, Profiles } from "./profiles.ts";
import {
  type CredentialStore,
  createFileStore,
  probeStore,
  type StoreKind,
  createMachineKeyring,
} from "./stores.ts";

/** The APIs that a profile may be signed in to. */
export type Service = "forge" | "vault";

/** The secrets of the profile in use. Values are responses of the services, kept as JSON text. */
export type Credentials = ReturnType<typeof createCredentials>;

type CredentialsDeps = Pick<CliEnvironment, "config" | "io" | "system" | "markStuck"> & {
  readonly profiles: Profiles;
};

export function createCredentials(cli: CredentialsDeps) {
  const key = (profile: NamedProfile, service: Service) => `${profile.id}.${service}`;
  const folder = async () => join((await cli.config()).paths.configDirectory, "credentials");

  const open = async (kind: StoreKind): Promise<CredentialStore> =>
    kind === "file" ? createFileStore(await folder()) : createMachineKeyring(cli);

  /** Why the keyring is not used; noted only after a successful sign-in. */
  let passedOver: string | undefined;

  const credentials = {
    /** The store that holds this profile's entries. */
    async storeOf(profile: NamedProfile): Promise<CredentialStore> {
      const setting = (await cli.config()).credentialStore;
      // The store that was chosen at login applies, unless this run overrides it.
      return open(setting === "auto" ? (profile.store ?? "file") : setting);
    },
    /**
     * Chooses the store of a login after a test that it works, and saves the choice in the profile. The first `write` reports
     * once that secrets go to a file because no keyring is available.
     * @throws CliError `credential_store_unavailable` when the keyring is required
     */
    async chooseStore(profile: NamedProfile): Promise<CredentialStore> {
      const store = await choose();
      await cli.profiles.updateProfile(profile.name, (known) => ({
        ...known,
        id: profile.id,
        store: store.kind,
      }));
      return store;
    },
    async read(profile: NamedProfile, service: Service): Promise<unknown> {
      const store = await credentials.storeOf(profile);
      const text = await store.get(key(profile, service));
      return text === undefined ? undefined : parseEntry(text, service);
    },
    async write(profile: NamedProfile, service: Service, value: object): Promise<void> {
      const store = await credentials.storeOf(profile);
      await store.set(key(profile, service), JSON.stringify(value));
      if (passedOver !== undefined) await sayOnce(passedOver);
    },
    /** Returns false when nothing was stored. */
    async remove(profile: NamedProfile, service: Service): Promise<boolean> {
      const store = await credentials.storeOf(profile);
      return store.delete(key(profile, service));
    },
    /** Path of the lock file that guards changes of a session. */
    async lockPath(profile: NamedProfile, service: Service): Promise<string> {
      return join(await folder(), `${key(profile, service)}.lock`);
    },
  };
  return credentials;

  async function choose(): Promise<CredentialStore> {
    const setting = (await cli.config()).credentialStore;
    if (setting === "file") return open("file");
    const keyring = await open("keyring");
    try {
      await probeStore(keyring, Buffer.from(cli.system.random(16)).toString("hex"));
      return keyring;
    } catch (error) {
      if (setting === "keyring") throw error;
      passedOver = error instanceof Error ? error.message : String(error);
      return open("file");
    }
  }

  async function sayOnce(reason: string): Promise<void> {
    if ((await cli.profiles.read()).wasFileStoreNoticeShown) return;
    cli.io.note(`Credentials are kept in files of mode 0600 in ${await folder()}: ${reason}.`);
    await cli.profiles.update((file) => ({ ...file, wasFileStoreNoticeShown: true }));
  }
}

function parseEntry(text: string, service: Service): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new CliError("not_signed_in", `the stored ${service} credentials are damaged`, {
      hint: `"croft login ${service}" replaces them`,
      service,
      cause: error,
    });
  }
}
