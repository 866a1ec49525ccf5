import { createECDH, createPrivateKey } from "node:crypto";
import { calculateJwkThumbprint, SignJWT } from "jose";
import type { Keyring } from "../../../storage/keys/keyring.ts";

const PURPOSE = "forge-identity-token";
const CURVE = "prime256v1";
/** The order of the curve P-256: private keys are smaller. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** The algorithm of all identity tokens. */
export const IDENTITY_ALGORITHM = "ES256";

export interface IdentityTokensDeps {
  readonly keyring: Pick<Keyring, "derive" | "deriveAll">;
}

/**
 * Signs identity tokens of OpenID Connect. The keys are derived from the master key: a rotation changes them, and the last one
 * verifies tokens as long as the keyring has it.
 */
export function createIdentityTokens({ keyring }: IdentityTokensDeps) {
  return {
    /** Returns the public keys as members of a JWK set (RFC 7517), newest first. */
    listKeys: (): Promise<Record<string, string>[]> =>
      Promise.all(keyring.deriveAll(PURPOSE).map(async (seed) => (await toKey(seed)).publicKey)),

    async sign(
      claims: Readonly<Record<string, unknown>>,
      { expiresAt, issuedAt }: { readonly expiresAt: number; readonly issuedAt: number },
    ): Promise<string> {
      const { privateKey, publicKey } = await toKey(keyring.derive(PURPOSE));
      return new SignJWT({ ...claims })
        .setProtectedHeader({ alg: IDENTITY_ALGORITHM, kid: publicKey.kid, typ: "JWT" })
        .setIssuedAt(Math.floor(issuedAt / 1000))
        .setExpirationTime(Math.floor(expiresAt / 1000))
        .sign(privateKey);
    },
  };
}

async function toKey(seed: Buffer) {
  const number = (BigInt(`0x${seed.toString("hex")}`) % (ORDER - 1n)) + 1n;
  const secret = Buffer.from(number.toString(16).padStart(64, "0"), "hex");
  const pair = createECDH(CURVE);
  pair.setPrivateKey(secret);
  // A byte that tells the form, and both coordinates.
  const point = pair.getPublicKey();
  const coordinates = {
    kty: "EC",
    crv: "P-256",
    x: point.subarray(1, 33).toString("base64url"),
    y: point.subarray(33).toString("base64url"),
  };
  const kid = await calculateJwkThumbprint(coordinates);
  const key = { ...coordinates, d: secret.toString("base64url") };
  return {
    privateKey: createPrivateKey({ key, format: "jwk" }),
    publicKey: { ...coordinates, kid, use: "sig", alg: IDENTITY_ALGORITHM },
  };
}
