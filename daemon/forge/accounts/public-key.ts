import { createHash, createPublicKey } from "node:crypto";
import { type Key, parseKey } from "sshpk";

/** A public key in normal form, or Gitea's error text for an invalid one. */
export type ReadPublicKey =
  | { readonly kind: "key"; readonly content: string; readonly fingerprint: string }
  | { readonly kind: "refused"; readonly message: string };

const CONTENT_BYTES_MAX = 9557;
const BASE64_LENGTH_MAX = 5461;
const RSA_BITS_MIN = 3071;
const SECURITY_KEY_BITS = 256;

/**
 * Parses a key in any of the accepted forms: an OpenSSH line, bare base64, RFC 4716, PEM. Refuses keys that are too
 * small,
 * damaged or of a type that is not allowed.
 */
export function readPublicKey(text: string): ReadPublicKey {
  const content = text.trim();
  if (Buffer.byteLength(content) > CONTENT_BYTES_MAX)
    return invalid("SSH public key content is too long");
  const line = toLine(content);
  if (typeof line !== "string") return line;
  const [first = "", second, comment = ""] = splitLine(line);
  const [word, base64] = second === undefined ? [undefined, first] : [first, second];
  if (base64.length > BASE64_LENGTH_MAX) return invalid("SSH public key base64 is too long");
  const blob = fromBase64(base64);
  const type = blob && readString(blob, 0)?.toString("latin1");
  if (blob === undefined || type === undefined || !/^[\x21-\x7e]{1,64}$/.test(type))
    return invalid("the key is not base64 of a public key");
  if (word !== undefined && word !== type)
    return invalid(`key type and content does not match: ${word} - ${type}`);
  const fault = findFault(type, blob);
  if (fault !== undefined) return fault;
  return {
    kind: "key",
    content: `${type} ${blob.toString("base64")} ${comment}`.trim(),
    fingerprint: `SHA256:${createHash("sha256").update(blob).digest("base64").replace(/=+$/, "")}`,
  };
}

/** Returns the text as one OpenSSH line. */
function toLine(content: string): string | ReadPublicKey {
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(content))
    return invalid("the provided key is a private key");
  if (content.startsWith("-----BEGIN")) return fromPem(content);
  if (content.startsWith("---- BEGIN SSH2 PUBLIC KEY ----")) return fromRfc4716(content);
  if (/[\r\n]/.test(content)) return invalid("only a single line with a single key please");
  return content;
}

function fromPem(content: string): string | ReadPublicKey {
  try {
    return parseKey(content, "pem").toString("ssh").split(" ", 2).join(" ");
  } catch {
    return invalid("the PEM text is not a public key");
  }
}

function fromRfc4716(content: string): string | ReadPublicKey {
  const lines = content.split(/\r?\n/).map((each) => each.trim());
  const end = lines.indexOf("---- END SSH2 PUBLIC KEY ----");
  if (end === -1) return invalid("the SSH2 text has no end");
  // Headers have a colon, which base64 never has; a backslash continues one on the next line.
  let inHeader = false;
  const body = lines.slice(1, end).filter((line) => {
    const isHeader = inHeader || line.includes(":");
    inHeader = isHeader && line.endsWith("\\");
    return !isHeader;
  });
  return body.join("");
}

function findFault(type: string, blob: Buffer): ReadPublicKey | undefined {
  if (type === "ssh-dss") return invalid("key type is not allowed: dsa");
  if (securityKeyFields.has(type)) return findSecurityKeyFault(type, blob);
  if (!/^(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521))$/.test(type))
    return { kind: "refused", message: "Unable to verify key content" };
  const key = parseBlob(blob);
  if (key === undefined) return invalid("the key is damaged");
  if (type === "ssh-rsa" && key.size < RSA_BITS_MIN)
    return invalid(`key length is not enough: got ${key.size}, needs ${RSA_BITS_MIN}`);
  return undefined;
}

/** Returns the key if the blob is its canonical encoding. Other encodings would let one key be registered twice. */
function parseBlob(blob: Buffer): Key | undefined {
  try {
    const key = parseKey(blob, "rfc4253");
    if (!key.toBuffer("rfc4253").equals(blob)) return undefined;
    // Refuses points that are not on their curve.
    createPublicKey(key.toString("pkcs8"));
    return key;
  } catch {
    return undefined;
  }
}

/** Fields after the type word of hardware-token keys, which the library does not parse, by length in bytes. */
const securityKeyFields = new Map<string, readonly (number | "text" | "nistp256")[]>([
  ["sk-ssh-ed25519@openssh.com", [SECURITY_KEY_BITS / 8, "text"]],
  ["sk-ecdsa-sha2-nistp256@openssh.com", ["nistp256", 65, "text"]],
]);

function findSecurityKeyFault(type: string, blob: Buffer): ReadPublicKey | undefined {
  let offset = 4 + type.length;
  for (const expected of securityKeyFields.get(type) ?? []) {
    const field = readString(blob, offset);
    if (field === undefined || !fitsField(field, expected)) return invalid("the key is damaged");
    offset += 4 + field.length;
  }
  return offset === blob.length ? undefined : invalid("the key is damaged");
}

function fitsField(field: Buffer, expected: number | "text" | "nistp256"): boolean {
  if (expected === "text") return field.length > 0;
  if (expected === "nistp256") return field.toString("latin1") === "nistp256";
  return field.length === expected && (expected !== 65 || field[0] === 4);
}

function splitLine(line: string): string[] {
  const [type = "", base64, ...comment] = line.split(/[ \t]+/);
  return base64 === undefined ? [type] : [type, base64, comment.join(" ")];
}

function fromBase64(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64").replace(/=+$/, "") === text.replace(/=+$/, "")
    ? bytes
    : undefined;
}

/** Reads a string of the SSH wire format (RFC 4251, 5): its length in four bytes, then its bytes. */
function readString(blob: Buffer, offset: number): Buffer | undefined {
  if (blob.length < offset + 4) return undefined;
  const end = offset + 4 + blob.readUInt32BE(offset);
  return end > blob.length ? undefined : blob.subarray(offset + 4, end);
}

function invalid(reason: string): ReadPublicKey {
  return { kind: "refused", message: `Invalid key content: ${reason}` };
}
