import { randomBytes } from "node:crypto";
import { createKeyring, type Keyring } from "./keyring.ts";
import { type KeySource, openMasterKeys } from "./master-key.ts";
import { createSystemKeyring, type Keytar } from "./system-keyring.ts";

export interface OpenKeyringOptions {
  /** `keys/` of the data directory. */
  readonly directory: string;
  /** `settings.keySource` and `settings.masterKey`. */
  readonly source: "auto" | "keyring" | "file";
  readonly masterKey: string | undefined;
  /** False when the data directory already held a database: a missing key is then an error. */
  readonly mayCreate: boolean;
  /** Loads keytar; by default the optional package. */
  readonly loadKeytar?: () => Promise<Keytar>;
}

/** The keyring of a data directory with node's random source and the system's key store. @throws MasterKeyError */
export async function openKeyring(
  options: OpenKeyringOptions,
): Promise<Keyring & { readonly source: KeySource }> {
  const { masters, source } = await openMasterKeys(
    {
      folder: options.directory,
      fromEnvironment: options.masterKey,
      source: options.source,
      keyring: createSystemKeyring({ load: options.loadKeytar ?? loadKeytar }),
      randomBytes,
    },
    options.mayCreate,
  );
  return { ...createKeyring(masters, randomBytes), source };
}

async function loadKeytar(): Promise<Keytar> {
  const loaded = (await import("keytar")) as unknown as { default?: Keytar } & Keytar;
  return loaded.default ?? loaded;
}
