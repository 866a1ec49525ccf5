// storage/keys: the master key, where it is stored, and encryption with it ("sealing").
// Start here (sealing), then master-key.ts (loading the key on each start).
import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";

/** One master key. Versions count up from 1 and are never reused. */
export interface MasterKey {
  readonly version: number;
  /** 32 bytes. */
  readonly bytes: Uint8Array;
}

/** A sealed value cannot be opened: it is damaged, was moved to another row, or its key is missing. */
export class SealError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "SealError";
  }
}

/**
 * Encrypts, decrypts and derives with the master keys. A purpose is a short fixed text such as `totp`. Each purpose has
 * its own sub-keys, so a value that is sealed for one purpose does not open for another.
 */
export interface Keyring {
  /**
   * Encrypts with the newest key (AES-256-GCM). `associatedData` is the row's identity, such as `vault_users/<id>`. Opening
   * needs the same, so a sealed value that is copied to another row does not open there.
   * Returns `k<version>.<base64url>`, which is safe in any column.
   */
  seal(purpose: string, plaintext: string | Uint8Array, associatedData: string): string;
  /** Returns the plaintext bytes. @throws SealError */
  open(purpose: string, sealed: string, associatedData: string): Buffer;
  /** Returns the plaintext as UTF-8. @throws SealError */
  openText(purpose: string, sealed: string, associatedData: string): string;
  /** Derives a 32-byte key for `purpose` from the newest master key, to sign tokens. */
  derive(purpose: string): Buffer;
  /** Derives that key from every known master key, newest first, to verify tokens from before a rotation. */
  deriveAll(purpose: string): readonly Buffer[];
}

/** Seals and opens texts of database rows. */
export type Sealer = Pick<Keyring, "seal" | "openText">;

/**
 * Opens a sealed value and seals it with the newest key for the same purpose and row. A feature calls it for its values
 * during a rotation of the master key. @throws SealError
 */
export type SealAgain = (purpose: string, sealed: string, associatedData: string) => string;

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Creates a keyring of `masters`, newest first; only the first one seals.
 * @param randomBytes a cryptographically strong source, such as that of node:crypto
 * @param retired keys of earlier rotations: they open values, but neither sign nor verify tokens
 */
export function createKeyring(
  masters: readonly MasterKey[],
  randomBytes: (size: number) => Uint8Array,
  retired: readonly MasterKey[] = [],
): Keyring {
  const allKeys = [...masters, ...retired];
  const [newest] = masters;
  if (newest === undefined) {
    throw new Error("a keyring needs at least one master key");
  }
  const derived = new Map<string, Buffer>();
  const subKey = (
    { version, bytes }: MasterKey,
    use: "seal" | "derive",
    purpose: string,
  ): Buffer => {
    const name = `${version} ${use} ${purpose}`;
    const ready = derived.get(name);
    if (ready !== undefined) {
      return ready;
    }
    const info = `croft ${use} ${purpose}`;
    const key = Buffer.from(hkdfSync("sha256", bytes, new Uint8Array(0), info, KEY_BYTES));
    derived.set(name, key);
    return key;
  };

  const seal: Keyring["seal"] = (purpose, plaintext, associatedData) => {
    const nonce = randomBytes(NONCE_BYTES);
    const prefix = `k${newest.version}.`;
    const cipher = createCipheriv("aes-256-gcm", subKey(newest, "seal", purpose), nonce);
    cipher.setAAD(Buffer.from(prefix + associatedData));
    const body = Buffer.concat([
      nonce,
      cipher.update(plaintext),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return prefix + body.toString("base64url");
  };

  const open: Keyring["open"] = (purpose, sealed, associatedData) => {
    const version = versionOf(sealed);
    if (version === undefined) {
      throw new SealError("not a sealed value");
    }
    const prefix = `k${version}.`;
    const body = Buffer.from(sealed.slice(prefix.length), "base64url");
    if (body.length < NONCE_BYTES + TAG_BYTES) {
      throw new SealError("the sealed value is cut short");
    }
    // The version selects the key to try first. Another data directory on the same database may have other versions.
    const preferred = allKeys.filter((master) => master.version === version);
    let failure: unknown;
    for (const master of [
      ...preferred,
      ...allKeys.filter((master) => master.version !== version),
    ]) {
      const key = subKey(master, "seal", purpose);
      const cipher = createDecipheriv("aes-256-gcm", key, body.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      cipher.setAAD(Buffer.from(prefix + associatedData));
      cipher.setAuthTag(body.subarray(-TAG_BYTES));
      try {
        const plaintext = cipher.update(body.subarray(NONCE_BYTES, -TAG_BYTES));
        return Buffer.concat([plaintext, cipher.final()]);
      } catch (error) {
        failure = error;
      }
    }
    throw new SealError(
      preferred.length === 0
        ? `sealed with master key ${version}, which is not known here`
        : "the sealed value is damaged or belongs elsewhere",
      failure,
    );
  };

  return {
    seal,
    open,
    openText: (purpose, sealed, associatedData) =>
      open(purpose, sealed, associatedData).toString("utf8"),
    derive: (purpose) => subKey(newest, "derive", purpose),
    deriveAll: (purpose) => masters.map((master) => subKey(master, "derive", purpose)),
  };
}

/** Returns a value that identifies a master key without revealing anything else about it. */
export function toCheckValue(bytes: Uint8Array): string {
  const key = Buffer.from(
    hkdfSync("sha256", bytes, new Uint8Array(0), "croft key check", KEY_BYTES),
  );
  return createHmac("sha256", key).update("croft").digest("hex").slice(0, 32);
}

function versionOf(sealed: string): number | undefined {
  const digits = /^k([1-9]\d{0,5})\.[\w-]+$/.exec(sealed)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
