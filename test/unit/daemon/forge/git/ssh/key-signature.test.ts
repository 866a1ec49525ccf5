import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  isSignedByKey,
  type KeyProof,
} from "../../../../../../daemon/forge/git/ssh/key-signature.ts";

const message = Buffer.from("session and request");
const APPLICATION = Buffer.from("ssh:");

function string(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

const text = (word: string) => string(Buffer.from(word));
const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest();
const rawOf = (key: KeyObject) => Buffer.from(String(key.export({ format: "jwk" }).x), "base64url");

/** The bytes that a device signs, with its flags and counter. */
const toSigned = (flags: number, counter = 7) => {
  const tail = Buffer.from([flags, 0, 0, 0, counter]);
  return { tail, bytes: Buffer.concat([sha256(APPLICATION), tail, sha256(message)]) };
};

/** A proof as a security key of type ed25519 makes it. */
function proveEd25519(flags = 1): KeyProof {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const type = "sk-ssh-ed25519@openssh.com";
  const { tail, bytes } = toSigned(flags);
  return {
    type,
    key: Buffer.concat([text(type), string(rawOf(publicKey)), string(APPLICATION)]),
    message,
    signature: Buffer.concat([sign(null, bytes, privateKey), tail]),
    hash: undefined,
  };
}

/** A proof as a security key of type ecdsa makes it. */
function proveEcdsa(): KeyProof {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const point = [Buffer.from([4]), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")];
  const type = "sk-ecdsa-sha2-nistp256@openssh.com";
  const { tail, bytes } = toSigned(1);
  const raw = sign("sha256", bytes, { key: privateKey, dsaEncoding: "ieee-p1363" });
  // Numbers of the wire format are signed: a high first bit gets a zero in front.
  const numbers = [raw.subarray(0, 32), raw.subarray(32)].map((number) =>
    string((number[0] ?? 0) > 127 ? Buffer.concat([Buffer.alloc(1), number]) : number),
  );
  return {
    type,
    key: Buffer.concat([
      text(type),
      text("nistp256"),
      string(Buffer.concat(point)),
      string(APPLICATION),
    ]),
    message,
    signature: Buffer.concat([...numbers, tail]),
    hash: undefined,
  };
}

describe("security keys", () => {
  test.each([
    ["ed25519", () => proveEd25519()],
    ["ecdsa", proveEcdsa],
  ])("accepts a signature by an %s key", (_name, prove) => {
    for (let round = 0; round < 20; round += 1) expect(isSignedByKey(prove())).toBe(true);
  });

  test("refuses a signature of a security key without a touch", () => {
    expect(isSignedByKey(proveEd25519(0))).toBe(false);
  });

  test.each([
    ["ed25519", () => proveEd25519()],
    ["ecdsa", proveEcdsa],
  ])(
    "refuses a changed message, counter, application or signature of an %s key",
    (_name, prove) => {
      const proof = prove();
      expect(isSignedByKey({ ...proof, message: Buffer.from("another") })).toBe(false);
      for (const at of [0, 10, proof.signature.length - 1]) {
        const signature = Buffer.from(proof.signature);
        signature[at] = (signature[at] ?? 0) ^ 1;
        expect(isSignedByKey({ ...proof, signature })).toBe(false);
      }
      const key = Buffer.from(proof.key);
      key[key.length - 1] = 0x2f;
      expect(isSignedByKey({ ...proof, key })).toBe(false);
      expect(isSignedByKey({ ...proof, key: proof.key.subarray(0, 40) })).toBe(false);
      expect(isSignedByKey({ ...proof, signature: Buffer.alloc(3) })).toBe(false);
    },
  );
});

test("refuses a signature of an RSA key with SHA-1", () => {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 3072 });
  const { n = "", e = "" } = publicKey.export({ format: "jwk" });
  const modulus = Buffer.concat([Buffer.alloc(1), Buffer.from(n, "base64url")]);
  const key = Buffer.concat([
    text("ssh-rsa"),
    string(Buffer.from(e, "base64url")),
    string(modulus),
  ]);
  const proof = (hash: string | undefined) => ({
    type: "ssh-rsa",
    key,
    message,
    signature: sign(hash ?? "sha1", message, privateKey),
    hash,
  });
  expect(isSignedByKey(proof("sha256"))).toBe(true);
  expect(isSignedByKey(proof("sha512"))).toBe(true);
  expect(isSignedByKey(proof(undefined))).toBe(false);
});
