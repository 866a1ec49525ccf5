import { stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { createKeyring, type MasterKey, SealError, toCheckValue } from "./keyring.ts";
import { readIfThere, writePrivately } from "./private-file.ts";
import { probeSecretStore, type SecretStore } from "./system-keyring.ts";

export type KeySource = "keyring" | "file" | "environment";

/**
 * The reason why the master key cannot be loaded. `missing`: no key is stored. `different`: the data was sealed with
 * another key. `invalid`: the stored text is not a key. `exposed`: other users may read its file. `unavailable`: the
 * keyring does not answer.
 */
export type MasterKeyErrorCode = "missing" | "different" | "invalid" | "exposed" | "unavailable";

/** The master key cannot be loaded. The message names the remedy and contains no part of a key. */
export class MasterKeyError extends Error {
  readonly code: MasterKeyErrorCode;

  constructor(code: MasterKeyErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "MasterKeyError";
    this.code = code;
  }
}

export interface MasterKeyOptions {
  /** `keys/` of the data directory. */
  readonly folder: string;
  /** `CROFT_MASTER_KEY`: has precedence over every other source, but must be the key that the data was sealed with. */
  readonly fromEnvironment: string | undefined;
  /** Where a new key is stored. `auto`: in the keyring when a test write succeeds, else in the file. */
  readonly source: "auto" | "keyring" | "file";
  readonly keyring: SecretStore;
  /** A cryptographically strong source. */
  readonly randomBytes: (size: number) => Uint8Array;
}

/** The master keys, newest first, and where they are stored. */
export interface OpenedMasterKeys {
  readonly masters: readonly MasterKey[];
  /** Keys that rotations retired, newest first. Older copies of the database are sealed with them. */
  readonly retired: readonly MasterKey[];
  readonly source: KeySource;
}

/**
 * Loads the master keys of a data directory. The first call creates a key, or takes that of the environment, and records
 * its place and a check value (`keys/master.json`). Later calls load it from there and verify it. A missing or different
 * key is an error; it is never replaced by a new one.
 * @param mayCreate false when the directory is known to hold data that was sealed before
 * @throws MasterKeyError
 */
export async function openMasterKeys(
  options: MasterKeyOptions,
  mayCreate: boolean,
): Promise<OpenedMasterKeys> {
  const record = await readRecord(options.folder);
  if (record !== undefined) {
    return openRecorded(options, record);
  }
  if (!mayCreate) {
    throw new MasterKeyError(
      "missing",
      `${recordPath(options.folder)} is missing, but the data folder is in use; ${RESTORE_KEYS}`,
    );
  }
  return createFirst(options);
}

/** Returns whether the data directory with this `keys/` has a master key, wherever it is stored. */
export async function hasMasterKey(folder: string): Promise<boolean> {
  return (await readIfThere(recordPath(folder))) !== undefined;
}

/**
 * Adds a new master key before the known ones. All are kept until `retireOldMasterKeys`, so that existing values
 * still open while they are resealed.
 * @throws MasterKeyError `unavailable` when the key comes from the environment: the administrator must put the new
 * key there, before the old one
 */
export async function addMasterKey(options: MasterKeyOptions): Promise<OpenedMasterKeys> {
  const opened = await openMasterKeys(options, false);
  const added = options.randomBytes(KEY_BYTES);
  await writeKeys(options, opened, [added, ...opened.masters.map((master) => master.bytes)]);
  return openMasterKeys(options, false);
}

/**
 * Retires all but the newest master key. It ends a rotation, when no value is sealed with the other keys. They stay
 * in the record, sealed with the newest key, in case an older copy of the database is restored.
 */
export async function retireOldMasterKeys(options: MasterKeyOptions): Promise<OpenedMasterKeys> {
  const opened = await openMasterKeys(options, false);
  const [newest] = opened.masters;
  const record = await readRecord(options.folder);
  if (newest === undefined || record === undefined) {
    return opened;
  }
  // The record first: keys at the end of the list that it does not name are ignored when they are read.
  const keys = record.keys.filter((key) => key.version === newest.version);
  const keyring = createKeyring([newest], options.randomBytes);
  const retired = [...opened.masters.slice(1), ...opened.retired];
  await writeRecord(options.folder, {
    ...record,
    keys,
    retired: retired.map(({ version, bytes }) => ({
      version,
      sealed: keyring.seal(RETIRED, bytes, String(version)),
    })),
  });
  if (opened.source !== "environment") {
    await writeKeys(options, opened, [newest.bytes]);
  }
  return { ...opened, masters: [newest], retired };
}

/**
 * Returns the files `master.json` and `master.key` of a `keys/` that has the same master keys in a file, wherever they are
 * stored here: for a backup, which another machine restores. @throws MasterKeyError
 */
export async function exportMasterKeys(
  options: MasterKeyOptions,
): Promise<ReadonlyMap<string, Buffer>> {
  const { masters } = await openMasterKeys(options, false);
  const record = await readRecord(options.folder);
  const text = masters.map(({ bytes }) => Buffer.from(bytes).toString("hex")).join("\n");
  return new Map([
    ["master.json", Buffer.from(`${JSON.stringify({ ...record, source: "file" })}\n`)],
    ["master.key", Buffer.from(`${text}\n`)],
  ]);
}

const recordSchema = z
  .object({
    source: z.enum(["keyring", "file", "environment"]),
    /** The name of the keyring's entry. */
    account: z.string(),
    /** Newest first. */
    keys: z
      .array(z.object({ version: z.number(), check: z.string() }).readonly())
      .min(1)
      .readonly(),
    /** Newest first, each sealed with the master key that was the newest at that time. */
    retired: z
      .array(z.object({ version: z.number(), sealed: z.string() }).readonly())
      .readonly()
      .optional(),
  })
  .readonly();
type KeyRecord = z.output<typeof recordSchema>;

const KEY_BYTES = 32;
const waysBack = [
  "copy keys/ from where it is kept",
  "restore a backup that has keys (croft daemon restore FILE --with-keys)",
];
const RESTORE_KEYS = waysBack.join(", or ");
const RETIRED = "retired-master-key";
const recordPath = (folder: string) => join(folder, "master.json");
const keyPath = (folder: string) => join(folder, "master.key");

async function createFirst(options: MasterKeyOptions): Promise<OpenedMasterKeys> {
  const { folder, fromEnvironment, keyring, randomBytes } = options;
  const account = `master-key:${Buffer.from(randomBytes(8)).toString("hex")}`;
  const record = (source: KeySource, keys: readonly Uint8Array[]): KeyRecord => ({
    source,
    account,
    keys: keys.map((bytes, index) => ({
      version: keys.length - index,
      check: toCheckValue(bytes),
    })),
  });
  const finish = async (source: KeySource, keys: readonly Uint8Array[]) => {
    const newRecord = record(source, keys);
    await writeRecord(folder, newRecord);
    return openRecorded(options, newRecord);
  };
  if (fromEnvironment !== undefined) {
    return finish("environment", parseKeys(fromEnvironment, "CROFT_MASTER_KEY"));
  }
  // An interrupted first start may have left the file without its record.
  const leftover = await readKeyFile(folder);
  if (leftover !== undefined) {
    return finish("file", parseKeys(leftover, keyPath(folder)));
  }
  const works =
    options.source !== "file" &&
    (await probeSecretStore(keyring, Buffer.from(randomBytes(8)).toString("hex")));
  if (options.source === "keyring" && !works) {
    throw new MasterKeyError(
      "unavailable",
      "the system's keyring does not work here; choose the file with CROFT_KEY_SOURCE=file",
    );
  }
  const source = works ? "keyring" : "file";
  const keys = [randomBytes(KEY_BYTES)];
  await writeKeys(options, record(source, keys), keys);
  return finish(source, keys);
}

async function openRecorded(
  options: MasterKeyOptions,
  record: KeyRecord,
): Promise<OpenedMasterKeys> {
  const source = options.fromEnvironment === undefined ? record.source : "environment";
  const place = placeOf(options.folder, source);
  const text = await readKeys(options, record, source);
  if (text === undefined) {
    // A keyring that is locked, or another session's, answers as if it were empty.
    const words =
      source === "keyring"
        ? "the system's keyring is locked, or does not have the master key"
        : `the master key is missing: ${place}`;
    throw new MasterKeyError("missing", `${words}; ${helpOf(source)}`);
  }
  const present = parseKeys(text, place);
  const versions = new Map(record.keys.map((key) => [key.check, key.version]));
  const masters: MasterKey[] = [];
  const added: Uint8Array[] = [];
  for (const bytes of present) {
    const version = versions.get(toCheckValue(bytes));
    if (version !== undefined) {
      masters.push({ version, bytes });
    } else if (masters.length === 0) {
      added.push(bytes);
    }
  }
  if (
    masters.length === 0 ||
    !masters.some((master) => master.version === record.keys[0]?.version)
  ) {
    throw new MasterKeyError(
      "different",
      `another master key than the one that this data was sealed with: ${place}; ${helpOf(source)}`,
    );
  }
  const retired = openRetired(options, masters, record);
  if (added.length === 0) {
    return { masters, retired, source };
  }
  // Unknown keys before the known ones are new: a rotation by the environment.
  let version = Math.max(...record.keys.map((key) => key.version));
  for (const bytes of added.toReversed()) {
    version += 1;
    masters.unshift({ version, bytes });
  }
  const keys = masters.map((master) => ({
    version: master.version,
    check: toCheckValue(master.bytes),
  }));
  await writeRecord(options.folder, { ...record, keys });
  return { masters, retired, source };
}

function openRetired(
  { folder, randomBytes }: MasterKeyOptions,
  masters: readonly MasterKey[],
  { retired = [] }: KeyRecord,
): MasterKey[] {
  const keyring = createKeyring(masters, randomBytes);
  try {
    return retired.map(({ version, sealed }) => ({
      version,
      bytes: keyring.open(RETIRED, sealed, String(version)),
    }));
  } catch (error) {
    throw error instanceof SealError ? damagedRecord(folder, error) : error;
  }
}

function damagedRecord(folder: string, cause?: unknown): MasterKeyError {
  const path = recordPath(folder);
  return new MasterKeyError("invalid", `${path} is damaged; ${RESTORE_KEYS}`, cause);
}

async function readKeys(
  { folder, fromEnvironment, keyring }: MasterKeyOptions,
  record: KeyRecord,
  source: KeySource,
): Promise<string | undefined> {
  switch (source) {
    case "environment":
      return fromEnvironment;
    case "file":
      return readKeyFile(folder);
    case "keyring":
      try {
        return await keyring.get(record.account);
      } catch (error) {
        throw new MasterKeyError(
          "unavailable",
          "the master key is in the system's keyring, which does not answer; unlock it by signing in, or name a file with the key in CROFT_MASTER_KEY_FILE",
          error,
        );
      }
  }
}

async function writeKeys(
  options: MasterKeyOptions,
  at: { readonly source: KeySource; readonly account?: string },
  keys: readonly Uint8Array[],
): Promise<void> {
  const text = keys.map((bytes) => Buffer.from(bytes).toString("hex")).join("\n");
  switch (at.source) {
    case "file":
      return writePrivately(keyPath(options.folder), `${text}\n`);
    case "keyring": {
      const account = at.account ?? (await readRecord(options.folder))?.account ?? "";
      await options.keyring.set(account, text);
      if ((await options.keyring.get(account)) !== text) {
        throw new MasterKeyError("unavailable", "the system's keyring did not keep the master key");
      }
      return;
    }
    case "environment":
      throw new MasterKeyError(
        "unavailable",
        "the master key comes from the environment; put a new one there, before the old one and a comma",
      );
  }
}

function parseKeys(text: string, place: string): Uint8Array[] {
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  const keys = parts.map((part) => {
    if (/^[0-9a-f]{64}$/i.test(part)) {
      return Buffer.from(part, "hex");
    }
    return Buffer.from(/^[\w+/-]{43}=?$/.test(part) ? part : "", "base64");
  });
  if (keys.length === 0 || keys.some((key) => key.length !== KEY_BYTES)) {
    throw new MasterKeyError(
      "invalid",
      `${place} takes 32 bytes as 64 hex digits or as base64; make some with: openssl rand -hex 32`,
    );
  }
  return keys;
}

async function readKeyFile(folder: string): Promise<string | undefined> {
  const path = keyPath(folder);
  const text = await readIfThere(path);
  if (
    text !== undefined &&
    process.platform !== "win32" &&
    ((await stat(path)).mode & 0o077) !== 0
  ) {
    throw new MasterKeyError(
      "exposed",
      `others may read ${path}; close it with: chmod 600 ${path}`,
    );
  }
  return text;
}

async function readRecord(folder: string): Promise<KeyRecord | undefined> {
  const text = await readIfThere(recordPath(folder));
  if (text === undefined) {
    return undefined;
  }
  try {
    const record = recordSchema.safeParse(JSON.parse(text));
    if (record.success) return record.data;
  } catch {
    // Reported below, like JSON that does not fit.
  }
  throw damagedRecord(folder);
}

function writeRecord(folder: string, record: KeyRecord): Promise<void> {
  return writePrivately(recordPath(folder), `${JSON.stringify(record)}\n`);
}

function placeOf(folder: string, source: KeySource): string {
  switch (source) {
    case "environment":
      return "CROFT_MASTER_KEY";
    case "file":
      return keyPath(folder);
    case "keyring":
      return "the system's keyring";
  }
}

function helpOf(source: KeySource): string {
  if (source === "environment") return "set it to the key that this data folder was made with";
  const unlock = source === "keyring" ? ["unlock it by signing in"] : [];
  return [...unlock, ...waysBack, "or name a file with the key in CROFT_MASTER_KEY_FILE"].join(
    ", ",
  );
}
