import { randomBytes } from "node:crypto";
import type { Queries } from "../engine/database.ts";
import { claimInstanceValue, putInstanceValue } from "../tables/common/instance.ts";
import { createKeyring, type Keyring, toCheckValue } from "./keyring.ts";
import {
  addMasterKey,
  exportMasterKeys,
  retireOldMasterKeys,
  type KeySource,
  MasterKeyError,
  type MasterKeyOptions,
  type OpenedMasterKeys,
  openMasterKeys,
} from "./master-key.ts";
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

/** A keyring and the source of its key. */
export interface OpenedKeyring extends Keyring {
  readonly source: KeySource;
  /** The check values of all loaded keys, newest first; they reveal nothing about a key. */
  readonly checks: readonly string[];
  /** Several keys are in use: a rotation is incomplete. */
  readonly isRotating: boolean;
}

/** Opens the keyring of a data directory with Node's random source and the system's key store. @throws MasterKeyError */
export async function openKeyring(options: OpenKeyringOptions): Promise<OpenedKeyring> {
  return toKeyring(await openMasterKeys(toMasterKeyOptions(options), options.mayCreate));
}

/**
 * Adds a new master key before the known ones and returns the keyring: the first step of a rotation. After a crash the next
 * `openKeyring` has either all of them or the earlier ones. @throws MasterKeyError
 */
export async function addKey(options: OpenKeyringOptions): Promise<OpenedKeyring> {
  return toKeyring(await addMasterKey(toMasterKeyOptions(options)));
}

/** Retires all master keys but the newest: the last step of a rotation. @throws MasterKeyError */
export async function retireOldKeys(options: OpenKeyringOptions): Promise<void> {
  await retireOldMasterKeys(toMasterKeyOptions(options));
}

/** Returns the files of `keys/` for a backup: with the master key in a file, wherever it is stored here. @throws MasterKeyError */
export function exportKeyFiles(
  options: Omit<OpenKeyringOptions, "mayCreate">,
): Promise<ReadonlyMap<string, Buffer>> {
  return exportMasterKeys(toMasterKeyOptions({ ...options, mayCreate: false }));
}

/**
 * Asserts that the database was sealed with one of these master keys, and marks a new database with the newest one: a
 * database on a server outlives a lost data directory and must not be used with a new key.
 * @throws MasterKeyError `different`
 */
export async function assertKeyOfDatabase(
  db: Queries,
  checks: readonly string[],
  now: number,
): Promise<void> {
  const [newest] = checks;
  if (newest === undefined) {
    return;
  }
  const marked = await claimInstanceValue(db, MARK, newest, now);
  if (!checks.includes(marked)) {
    throw new MasterKeyError(
      "different",
      "the database was sealed with another master key than the one in the data folder; " +
        "restore keys/ from a backup, or name a file with the key in CROFT_MASTER_KEY_FILE",
    );
  }
  if (marked !== newest) {
    // From now on values may be sealed with the newest key, so the older keys alone are not sufficient.
    await putInstanceValue(db, MARK, newest, now);
  }
}

const MARK = "master_key";

function toMasterKeyOptions(options: OpenKeyringOptions): MasterKeyOptions {
  return {
    folder: options.directory,
    fromEnvironment: options.masterKey,
    source: options.source,
    keyring: createSystemKeyring({ load: options.loadKeytar ?? loadKeytar }),
    randomBytes,
  };
}

function toKeyring({ masters, retired, source }: OpenedMasterKeys): OpenedKeyring {
  const checks = [...masters, ...retired].map((master) => toCheckValue(master.bytes));
  const isRotating = masters.length > 1;
  return { ...createKeyring(masters, randomBytes, retired), source, checks, isRotating };
}

async function loadKeytar(): Promise<Keytar> {
  const loaded = (await import("keytar")) as unknown as { default?: Keytar } & Keytar;
  return loaded.default ?? loaded;
}
