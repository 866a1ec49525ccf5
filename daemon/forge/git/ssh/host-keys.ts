import { generateKeyPairSync } from "node:crypto";
import type { Database } from "../../../../storage/engine/database.ts";
import type { Sealer } from "../../../../storage/keys/keyring.ts";
import { insertHostKey, listHostKeys } from "../../../../storage/tables/forge/ssh-host-keys.ts";

/** The purpose under which host keys are sealed. */
const PURPOSE = "forge-ssh-host-key";
const types = ["ssh-ed25519", "ecdsa-sha2-nistp256"] as const;
type HostKeyType = (typeof types)[number];

/**
 * Returns the private host keys of this server, in OpenSSH's or PEM format. The first start creates them; all daemons
 * of one database share them.
 */
export async function openHostKeys({
  db,
  sealer,
}: {
  readonly db: Database;
  readonly sealer: Sealer;
}): Promise<readonly string[]> {
  const known = new Set((await listHostKeys(db)).map(({ type }) => type));
  for (const type of types) {
    if (known.has(type)) continue;
    const sealedKey = sealer.seal(PURPOSE, await generateKey(type), toIdentity(type));
    await db.transaction((tx) => insertHostKey(tx, { type, sealedKey }));
  }
  return (await listHostKeys(db)).map(({ type, sealedKey }) =>
    sealer.openText(PURPOSE, sealedKey, toIdentity(type)),
  );
}

/** Seals a host key again, for a rotation of the master key. */
export function sealHostKeyAgain(
  value: string,
  key: number | string,
  again: (purpose: string, sealed: string, associatedData: string) => string,
): string {
  return again(PURPOSE, value, toIdentity(String(key)));
}

const toIdentity = (type: string) => `forge_ssh_host_keys/${type}`;

const GENERATE_ATTEMPTS_MAX = 20;

/** Returns a new private key that the SSH server can read. */
export async function generateKey(type: HostKeyType): Promise<string> {
  if (type === "ssh-ed25519") {
    // Loaded when it is needed: a rotation of the master key imports this file.
    const { default: ssh2 } = await import("ssh2");
    // The library writes one key in 200 in a form that it cannot parse itself.
    for (let attempt = 1; attempt <= GENERATE_ATTEMPTS_MAX; attempt += 1) {
      const { private: key } = ssh2.utils.generateKeyPairSync("ed25519");
      if (!(ssh2.utils.parseKey(key) instanceof Error)) return key;
    }
    throw new Error("failed to generate an SSH host key that can be parsed");
  }
  return generateKeyPairSync("ec", {
    namedCurve: "prime256v1",
    privateKeyEncoding: { type: "sec1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  }).privateKey;
}
