import { createHash, createPublicKey, verify } from "node:crypto";
import ssh2 from "ssh2";

/** The data and signature by which a client proves that it holds a key. */
export interface KeyProof {
  /** The type of the key, such as `ssh-ed25519`. */
  readonly type: string;
  /** The public key in SSH's wire format. */
  readonly key: Buffer;
  readonly message: Buffer;
  /** The signature without its type field; in DER for ECDSA keys, unchanged for the others. */
  readonly signature: Buffer;
  /** The hash of RSA signatures; undefined is SHA-1. */
  readonly hash: string | undefined;
}

/** The types of keys whose signatures are checked here, because the library does not support them. */
const securityKeys = new Set(["sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"]);
/** The user touched the security key. */
const USER_PRESENT = 0x01;

/** Returns whether a signature is by the key. SHA-1 signatures and security keys without a touch do not count. */
export function isSignedByKey(proof: KeyProof): boolean {
  if (securityKeys.has(proof.type)) return isSignedBySecurityKey(proof);
  if (proof.type === "ssh-rsa" && proof.hash === undefined) return false;
  const parsed = ssh2.utils.parseKey(`${proof.type} ${proof.key.toString("base64")}`);
  if (parsed instanceof Error || Array.isArray(parsed)) return false;
  return parsed.verify(proof.message, proof.signature, proof.hash) === true;
}

/**
 * Checks a signature of a FIDO key (PROTOCOL.u2f of OpenSSH): the device signs the hash of the application, its flags, its
 * counter and the hash of the message.
 */
function isSignedBySecurityKey({ type, key, message, signature }: KeyProof): boolean {
  const fields = readStrings(key);
  const isEd25519 = type.startsWith("sk-ssh-ed25519");
  const [, first, second, third] = fields;
  const point = isEd25519 ? first : second;
  const application = isEd25519 ? second : third;
  if (point === undefined || application === undefined || signature.length < 6) return false;
  const tail = signature.subarray(-5);
  if (((tail[0] ?? 0) & USER_PRESENT) === 0) return false;
  const signed = Buffer.concat([sha256(application), tail, sha256(message)]);
  const raw = signature.subarray(0, -5);
  try {
    return isEd25519
      ? verify(null, signed, toEd25519(point), raw)
      : verify("sha256", signed, { key: toP256(point), dsaEncoding: "ieee-p1363" }, toP1363(raw));
  } catch {
    // A point that is not on the curve, or numbers of another length.
    return false;
  }
}

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest();

function toEd25519(raw: Buffer) {
  const key = { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") };
  return createPublicKey({ key, format: "jwk" });
}

function toP256(point: Buffer) {
  const x = point.subarray(1, 33).toString("base64url");
  const y = point.subarray(33, 65).toString("base64url");
  return createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" });
}

/** Converts two numbers of SSH's wire format to 32 bytes each. */
function toP1363(signature: Buffer): Buffer {
  const [r, s] = readStrings(signature);
  if (r === undefined || s === undefined) throw new RangeError("a signature has two numbers");
  return Buffer.concat([r, s].map(toFixed));
}

function toFixed(number: Buffer): Buffer {
  const digits = number[0] === 0 ? number.subarray(1) : number;
  if (digits.length > 32) throw new RangeError("a number of a P-256 signature has 32 bytes");
  return Buffer.concat([Buffer.alloc(32 - digits.length), digits]);
}

/** Reads the strings of SSH's wire format (RFC 4251, 5) up to the end or to a malformed one. */
function readStrings(bytes: Buffer): Buffer[] {
  const strings: Buffer[] = [];
  let offset = 0;
  while (bytes.length >= offset + 4) {
    const end = offset + 4 + bytes.readUInt32BE(offset);
    if (end > bytes.length) break;
    strings.push(bytes.subarray(offset + 4, end));
    offset = end;
  }
  return strings;
}
