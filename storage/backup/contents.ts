import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from "node:crypto";
import { sep } from "node:path";
import { z } from "zod";
import { StorageError } from "../engine/database.ts";

// The layout of a backup, a tar archive: INFO first, then the files, then MANIFEST, which has one line a file, as
// `sha256sum` prints them. An archive that was cut off has no MANIFEST.

/** Describes the archive; see `backupInfo`. */
export const INFO = "backup.json";

export const DATABASE = "croft.db";

/**
 * The settings, when they are not only in the environment: in the archive without secrets, in the sealed keys whole.
 * Archives of earlier versions hold the whole file in the clear.
 */
export const CONFIG = "config.yaml";

/** The config file as a backup holds it. */
export interface SettingsCopy {
  /** The file with its secrets, for the sealed keys. */
  readonly whole: Buffer;
  /** The file for everybody who has the archive; undefined leaves it out. */
  readonly withoutSecrets: Buffer | undefined;
  /** The keys that `withoutSecrets` lacks. */
  readonly leftOut: readonly string[];
}

/** The files of `keys/` and `CONFIG`, sealed with a passphrase. */
export const SEALED_KEYS = "keys.sealed";

/** Identifies the master key of the home and its place, without any part of the key. */
export const KEY_RECORD = "master.json";

export const MANIFEST = "MANIFEST.sha256";

/**
 * The folders of a data directory that are backed up. Caches, locks, logs and older copies are left out, and so are
 * the bytes of unfinished uploads, which their senders still have.
 */
export const FOLDERS = ["objects", "packages", "repositories", "outbox", "files"] as const;

/** The files that users keep, whose permissions and times a backup holds. */
export const USER_FILES = "files/";

export const backupInfo = z.object({
  format: z.literal(1),
  version: z.string(),
  created_at: z.string(),
  /** The keys of the settings that `CONFIG` lacks, because they are secret. */
  settings_left_out: z.array(z.string()).default([]),
});

/** Bytes at the beginning of an archive that identify it as a backup. */
export const HEAD_BYTES = 2048;

/**
 * Returns whether an archive begins like a backup of this time (epoch milliseconds of whole seconds). Backups are
 * deleted only after this check, because another program's file may have the name of a backup.
 */
export function isBackupOf(head: Buffer, createdAt: number): boolean {
  const text = (start: number, length: number) =>
    head.toString("latin1", start, start + length).replace(/\0[^]*$/, "");
  if (text(0, NAME_BYTES) !== INFO) return false;
  const size = Number.parseInt(text(SIZE_AT, SIZE_BYTES), 8);
  try {
    const info = backupInfo.parse(
      JSON.parse(head.toString("utf8", HEADER_BYTES, HEADER_BYTES + size)),
    );
    return Math.floor(Date.parse(info.created_at) / 1000) === Math.floor(createdAt / 1000);
  } catch {
    // Neither JSON nor the description of a backup.
    return false;
  }
}

// The header of an entry (POSIX ustar): its name and, in octal, its size.
const NAME_BYTES = 100;
const SIZE_AT = 124;
const SIZE_BYTES = 12;
const HEADER_BYTES = 512;

/**
 * Returns whether a backup may contain a path of an archive; false for paths that leave the folder. A backslash separates
 * names on Windows only. Writing and restoring ask the same function.
 */
export function isContent(path: string, separator: string = sep): boolean {
  const [top = "", ...below] = path.split("/");
  if (below.length === 0)
    return [INFO, DATABASE, CONFIG, KEY_RECORD, SEALED_KEYS, MANIFEST].includes(top);
  const isPlain = below.every((name) => name !== "" && name !== "." && name !== "..");
  const isName = !path.includes("\0") && (separator === "/" || !path.includes(separator));
  return isPlain && isName && FOLDERS.some((folder) => folder === top);
}

const KDF = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };

const AAD = Buffer.from("croft backup keys 1");

const sealedKeys = z.object({
  salt: z.base64(),
  nonce: z.base64(),
  tag: z.base64(),
  data: z.base64(),
});

/** Seals the files of `keys/` (name to bytes) with a key that scrypt (RFC 7914) derives from the passphrase. */
export function sealKeys(files: ReadonlyMap<string, Buffer>, passphrase: string): Buffer {
  const [salt, nonce] = [randomBytes(16), randomBytes(12)];
  const cipher = createCipheriv("aes-256-gcm", scryptSync(passphrase, salt, 32, KDF), nonce);
  cipher.setAAD(AAD);
  const plain = JSON.stringify([...files].map(([name, bytes]) => [name, bytes.toString("base64")]));
  const data = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  const parts = { salt, nonce, tag: cipher.getAuthTag(), data };
  const texts = Object.entries(parts).map(([name, bytes]) => [name, bytes.toString("base64")]);
  return Buffer.from(`${JSON.stringify(Object.fromEntries(texts))}\n`);
}

/**
 * Opens the keys that `sealKeys` sealed. @throws StorageError `failed` when the passphrase is wrong or the bytes were
 * changed
 */
export function openSealedKeys(sealed: Buffer, passphrase: string): ReadonlyMap<string, Buffer> {
  try {
    const parts = sealedKeys.parse(JSON.parse(sealed.toString("utf8")));
    const bytes = (text: string) => Buffer.from(text, "base64");
    const key = scryptSync(passphrase, bytes(parts.salt), 32, KDF);
    const decipher = createDecipheriv("aes-256-gcm", key, bytes(parts.nonce));
    decipher.setAAD(AAD).setAuthTag(bytes(parts.tag));
    const plain = Buffer.concat([decipher.update(bytes(parts.data)), decipher.final()]);
    const files = z
      .array(z.tuple([z.string().regex(/^[\w.-]+$/), z.base64()]))
      .parse(JSON.parse(plain.toString("utf8")));
    return new Map(files.map(([name, text]) => [name, bytes(text)]));
  } catch (error) {
    throw new StorageError(
      "failed",
      "the keys of the backup do not open with this passphrase; nothing was replaced",
      {
        cause: error,
      },
    );
  }
}
