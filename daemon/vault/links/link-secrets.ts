import { hash } from "node:crypto";
import { SealError, type SealAgain, type Sealer } from "../../../storage/keys/keyring.ts";
import type { VaultLink } from "../../../storage/tables/vault/links.ts";

/** 192 bits: 32 characters in an address. */
const SECRET_BYTES = 24;
const SECRET_PURPOSE = "vault-link";
const PASS_PURPOSE = "vault-link-pass";
/** How long a password that was checked opens a link in that browser. */
export const PASS_SECONDS = 3_600;

export type LinkSecrets = ReturnType<typeof createLinkSecrets>;

/** The secrets in the addresses of links, and the passes of visitors who knew the password. */
export function createLinkSecrets(
  sealer: Sealer,
  randomBytes: (size: number) => Uint8Array,
  clock: () => number,
) {
  return {
    /** Returns a new secret with what is stored of it. */
    create(linkId: string): {
      readonly secret: string;
      readonly secretHash: string;
      readonly sealedSecret: string;
    } {
      const secret = Buffer.from(randomBytes(SECRET_BYTES)).toString("base64url");
      const sealedSecret = sealer.seal(SECRET_PURPOSE, secret, rowOf(linkId));
      return { secret, secretHash: toSecretHash(secret), sealedSecret };
    },

    /** Returns the secret of a link; undefined when its key is gone. */
    read({ id, sealedSecret }: VaultLink): string | undefined {
      try {
        return sealer.openText(SECRET_PURPOSE, sealedSecret, rowOf(id));
      } catch (error) {
        if (error instanceof SealError) return undefined;
        throw error;
      }
    },

    /** Returns the value of a cookie that opens a link with its present password. */
    createPass: (link: VaultLink): string =>
      sealer.seal(PASS_PURPOSE, String(clock() + PASS_SECONDS * 1000), toPassContext(link)),

    /** Returns whether a cookie opens the link. A changed password ends all passes. */
    isPass(link: VaultLink, pass: string): boolean {
      try {
        return Number(sealer.openText(PASS_PURPOSE, pass, toPassContext(link))) > clock();
      } catch (error) {
        if (error instanceof SealError) return false;
        throw error;
      }
    },
  };
}

/** The hash by which a secret is found. */
export const toSecretHash = (secret: string): string => hash("sha256", secret, "hex");

/** Reseals the secret of a link with the current key. */
export const sealLinkSecretAgain = (
  sealed: string,
  id: number | string,
  reseal: SealAgain,
): string => reseal(SECRET_PURPOSE, sealed, rowOf(id));

const rowOf = (id: number | string): string => `vault_links/${id}`;

const toPassContext = ({ id, passwordHash = "" }: VaultLink): string =>
  `${rowOf(id)}/${hash("sha256", passwordHash, "hex")}`;
