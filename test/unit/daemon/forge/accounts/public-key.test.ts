import { createHash, generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import sshpk from "sshpk";
import { describe, expect, test } from "vitest";
import { readPublicKey } from "../../../../../daemon/forge/accounts/public-key.ts";
import { cases } from "../../../../support/property.ts";

// Every key is generated here; no key is in use anywhere.

function toLine(pem: string): string {
  return sshpk.parseKey(pem, "pem").toString("ssh").split(" ").slice(0, 2).join(" ");
}
const pemOf = (pair: {
  publicKey: { export(o: { type: "spki"; format: "pem" }): string | Buffer };
}) => String(pair.publicKey.export({ type: "spki", format: "pem" }));

const pems = {
  ed25519: pemOf(generateKeyPairSync("ed25519")),
  p256: pemOf(generateKeyPairSync("ec", { namedCurve: "P-256" })),
  p384: pemOf(generateKeyPairSync("ec", { namedCurve: "P-384" })),
  p521: pemOf(generateKeyPairSync("ec", { namedCurve: "P-521" })),
  rsa3072: pemOf(generateKeyPairSync("rsa", { modulusLength: 3072 })),
  rsa2048: pemOf(generateKeyPairSync("rsa", { modulusLength: 2048 })),
};
const lines = Object.fromEntries(
  Object.entries(pems).map(([name, pem]) => [name, toLine(pem)]),
) as Record<keyof typeof pems, string>;

const field = (bytes: string | Uint8Array) => {
  const body = Buffer.from(bytes);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length, body]);
};
const lineOf = (type: string, ...fields: (string | Uint8Array)[]) =>
  `${type} ${Buffer.concat([field(type), ...fields.map(field)]).toString("base64")}`;

const securityKeys = {
  ed25519: lineOf("sk-ssh-ed25519@openssh.com", new Uint8Array(32).fill(7), "ssh:"),
  ecdsa: lineOf(
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "nistp256",
    Buffer.concat([Buffer.from([4]), new Uint8Array(64)]),
    "ssh:",
  ),
};

function refusal(text: string): string | undefined {
  const read = readPublicKey(text);
  return read.kind === "refused" ? read.message : undefined;
}

describe("accepted keys", () => {
  const accepted = [
    ...(["ed25519", "p256", "p384", "p521", "rsa3072"] as const).map((name) => lines[name]),
    ...Object.values(securityKeys),
  ];

  test.each(accepted)(
    "a key of type %s keeps its content and has OpenSSH's fingerprint",
    (line) => {
      const blob = Buffer.from(line.split(" ")[1] ?? "", "base64");
      expect(readPublicKey(`  ${line} me@home \n`)).toEqual({
        kind: "key",
        content: `${line} me@home`,
        fingerprint: `SHA256:${createHash("sha256").update(blob).digest("base64").replace("=", "")}`,
      });
    },
  );

  test.each(accepted)("a key of type %s is accepted as bare base64", (line) => {
    expect(readPublicKey(line.split(" ")[1] ?? "")).toMatchObject({ kind: "key", content: line });
  });

  test.each(["p256", "p384", "p521", "rsa3072"] as const)(
    "a key of type %s is accepted as PEM",
    (name) => {
      expect(readPublicKey(pems[name])).toMatchObject({ kind: "key", content: lines[name] });
    },
  );

  test("an RSA key is accepted as PKCS#1", () => {
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 3072 });
    const pem = publicKey.export({ type: "pkcs1", format: "pem" });
    expect(readPublicKey(String(pem))).toMatchObject({ kind: "key" });
  });

  test("an RFC 4716 key may have headers, also continued ones", () => {
    const body = (lines.rsa3072.split(" ")[1] ?? "").replace(/.{70}/g, "$&\r\n");
    const text = [
      "---- BEGIN SSH2 PUBLIC KEY ----",
      'Comment: "a comment that goes \\',
      'on here"',
      body,
      "---- END SSH2 PUBLIC KEY ----",
    ].join("\r\n");
    expect(readPublicKey(text)).toMatchObject({ kind: "key", content: lines.rsa3072 });
  });
});

describe("refused keys", () => {
  test("refuses RSA keys below 3071 bits", () =>
    expect(refusal(lines.rsa2048)).toBe(
      "Invalid key content: key length is not enough: got 2048, needs 3071",
    ));

  test("refuses DSA keys", () =>
    expect(refusal(lineOf("ssh-dss", "p", "q", "g", "y"))).toBe(
      "Invalid key content: key type is not allowed: dsa",
    ));

  test("refuses a key of an unknown algorithm", () =>
    expect(refusal(lineOf("ssh-future", "x"))).toBe("Unable to verify key content"));

  test("refuses a private key", () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const pem = String(privateKey.export({ type: "pkcs8", format: "pem" }));
    expect(refusal(pem)).toBe("Invalid key content: the provided key is a private key");
    expect(
      refusal("-----BEGIN OPENSSH PRIVATE KEY-----\nx\n-----END OPENSSH PRIVATE KEY-----"),
    ).toBe("Invalid key content: the provided key is a private key");
  });

  test("refuses a type word that differs from the content", () =>
    expect(refusal(lines.ed25519.replace("ssh-ed25519", "ssh-rsa"))).toBe(
      "Invalid key content: key type and content does not match: ssh-rsa - ssh-ed25519",
    ));

  test("refuses several keys at once", () =>
    expect(refusal(`${lines.ed25519}\n${lines.p256}`)).toBe(
      "Invalid key content: only a single line with a single key please",
    ));

  test("refuses content and base64 that are too long", () => {
    expect(refusal(`${lines.ed25519} ${"x".repeat(9557)}`)).toBe(
      "Invalid key content: SSH public key content is too long",
    );
    expect(refusal(`ssh-ed25519 ${"A".repeat(5462)}`)).toBe(
      "Invalid key content: SSH public key base64 is too long",
    );
  });

  test("refuses options of an authorized_keys line", () =>
    expect(refusal(`command="sh" ${lines.ed25519}`)).toMatch(/^Invalid key content/));

  test("refuses another encoding of a known key, which would pass as a second one", () => {
    const blob = Buffer.from(lines.ed25519.split(" ")[1] ?? "", "base64");
    const longer = Buffer.concat([blob, Buffer.from([0])]).toString("base64");
    expect(refusal(`ssh-ed25519 ${longer}`)).toBe("Invalid key content: the key is damaged");
    const rsa = Buffer.from(lines.rsa3072.split(" ")[1] ?? "", "base64");
    const padded = Buffer.concat([
      field("ssh-rsa"),
      field(Uint8Array.of(0, 1, 0, 1)),
      rsa.subarray(11 + 7),
    ]);
    expect(refusal(`ssh-rsa ${padded.toString("base64")}`)).toBe(
      "Invalid key content: the key is damaged",
    );
    const securityKey = Buffer.from(securityKeys.ed25519.split(" ")[1] ?? "", "base64");
    expect(refusal(Buffer.concat([securityKey, Buffer.from([0])]).toString("base64"))).toBe(
      "Invalid key content: the key is damaged",
    );
  });

  test("refuses a point that is not on its curve", () => {
    const blob = Buffer.from(lines.p256.split(" ")[1] ?? "", "base64");
    blob.writeUInt8((blob.at(-1) ?? 0) ^ 1, blob.length - 1);
    expect(refusal(blob.toString("base64"))).toBe("Invalid key content: the key is damaged");
  });

  test("refuses any other text without an exception", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => {
        expect(refusal(text)).toBeTypeOf("string");
      }),
      cases(),
    );
  });

  test("refuses any truncated or changed key without an exception, unless it is still a key of that type", () => {
    const blob = Buffer.from(lines.p256.split(" ")[1] ?? "", "base64");
    fc.assert(
      fc.property(fc.nat(blob.length - 1), fc.nat(255), (at, value) => {
        const changed = Buffer.from(blob);
        changed[at] = value;
        const cut = blob.subarray(0, at);
        if (value !== blob[at]) expect(refusal(changed.toString("base64"))).toBeTypeOf("string");
        expect(refusal(cut.toString("base64"))).toBeTypeOf("string");
      }),
      cases(),
    );
  });
});
