import { join } from "node:path";
import { CliError } from "../errors.ts";
import type { KeyringLibrary } from "../system.ts";
import { readPrivateFile, removeFile } from "./read-private-file.ts";
import type { CliEnvironment } from "../environment.ts";

export type StoreKind = "keyring" | "file";

/** A credential store. An entry is one short text. */
export interface CredentialStore {
  readonly kind: StoreKind;
  /** Returns the entry, or undefined when it does not exist. @throws CliError `credential_store_unavailable` */
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string): Promise<void>;
  /** Returns false when nothing was stored. */
  delete(key: string): Promise<boolean>;
}

/** A file of mode 0600 for each entry, below `folder`. */
export function createFileStore(folder: string): CredentialStore {
  const path = (key: string) => join(folder, `${key.replaceAll(/[^A-Za-z0-9._-]/g, "_")}.json`);
  return {
    kind: "file",
    get: async (key) => readPrivateFile(path(key)),
    async set(key, value) {
      const { writePrivateFile } = await import("./private-files.ts");
      await writePrivateFile(path(key), value);
    },
    delete: async (key) => removeFile(path(key)),
  };
}

export interface KeyringOptions {
  /** Loads the library; throws on systems without a keyring. */
  readonly load: () => Promise<KeyringLibrary>;
  readonly sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  /** Called when a call of the library does not return. */
  readonly onStuck: () => void;
}

/** A keyring that waits for a prompt or a missing bus must not block the command. */
const keyringPatienceMs = 3_000;
/** Windows keeps at most 2,560 bytes in an entry. */
const entryMaxBytes = 2_500;
const service = "croft";

/** The operating system's keyring. Each call takes three seconds at most. */
export function createKeyringStore({ load, sleep, onStuck }: KeyringOptions): CredentialStore {
  return {
    kind: "keyring",
    async get(key) {
      return (await bounded((library) => library.getPassword(service, key))) ?? undefined;
    },
    async set(key, value) {
      if (Buffer.byteLength(value) > entryMaxBytes)
        throw unavailable(`the secret is longer than ${entryMaxBytes} bytes`);
      await bounded((library) => library.setPassword(service, key, value));
    },
    delete: (key) => bounded((library) => library.deletePassword(service, key)),
  };

  async function bounded<T>(work: (library: KeyringLibrary) => Promise<T>): Promise<T> {
    const done = new AbortController();
    const tooLate = sleep(keyringPatienceMs, done.signal).then(() => {
      onStuck();
      throw unavailable("it did not answer within 3 seconds");
    });
    const wait = tooLate.catch((error: unknown) => {
      if (done.signal.aborted) return new Promise<never>(() => undefined);
      throw error;
    });
    try {
      return await Promise.race([load().then(work), wait]);
    } catch (error) {
      if (error instanceof CliError) throw error;
      throw unavailable(toReason(error), error);
    } finally {
      done.abort();
    }
  }
}

/**
 * Tests a store: writes, reads and deletes a random value. Called before a prompt for a password, so that no new token is
 * lost. @throws CliError `credential_store_unavailable`
 */
export async function probeStore(store: CredentialStore, secret: string): Promise<void> {
  const key = "probe";
  await store.set(key, secret);
  const read = await store.get(key);
  await store.delete(key);
  if (read !== secret) throw unavailable("it did not return the value that was stored");
  if ((await store.get(key)) !== undefined) throw unavailable("it keeps what was deleted");
}

/** The loader's message lists build folders; it is replaced. */
function toReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.includes("native addon")
    ? "its library cannot be loaded; on Linux it needs libsecret (libsecret-1-0 in Debian)"
    : text;
}

function unavailable(reason: string, cause?: unknown): CliError {
  return new CliError("credential_store_unavailable", `the keyring cannot be used: ${reason}`, {
    hint: "--credential-store file keeps credentials in a file of mode 0600",
    cause,
  });
}

/** The keyring of this machine. The native library is loaded at the first call. */
export function createMachineKeyring({
  system,
  markStuck,
}: Pick<CliEnvironment, "system" | "markStuck">): CredentialStore {
  return createKeyringStore({ load: system.keyring, sleep: system.sleep, onStuck: markStuck });
}
