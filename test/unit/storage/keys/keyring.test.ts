import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createKeyring, SealError, toCheckValue } from "../../../../storage/keys/keyring.ts";

const first = { version: 1, bytes: Buffer.alloc(32, 1) };
const second = { version: 2, bytes: Buffer.alloc(32, 2) };
const ring = createKeyring([first], randomBytes);

describe("sealing", () => {
  test("opens sealed texts and bytes, empty ones too", () => {
    for (const text of ["", "secret", "ünïcode 🔑", "x".repeat(100_000)]) {
      expect(ring.openText("totp", ring.seal("totp", text, "users/1"), "users/1")).toBe(text);
    }
    const bytes = randomBytes(300);
    expect(ring.open("totp", ring.seal("totp", bytes, "users/1"), "users/1")).toEqual(bytes);
  });

  test("never seals to the same text twice and does not reveal the plaintext", () => {
    const sealed = ring.seal("totp", "hunter2hunter2", "users/1");
    expect(sealed).toMatch(/^k1\.[\w-]+$/);
    expect(sealed).not.toBe(ring.seal("totp", "hunter2hunter2", "users/1"));
    expect(Buffer.from(sealed.slice(3), "base64url").toString("latin1")).not.toContain("hunter2");
  });

  test("opens under the same purpose, row and key only", () => {
    const sealed = ring.seal("totp", "secret", "users/1");
    const others = createKeyring([{ version: 1, bytes: Buffer.alloc(32, 9) }], randomBytes);
    expect(() => ring.open("cloud", sealed, "users/1")).toThrow(SealError);
    expect(() => ring.open("totp", sealed, "users/2")).toThrow(SealError);
    expect(() => others.open("totp", sealed, "users/1")).toThrow(SealError);
  });

  test("notices a change of any byte and any cut", () => {
    const sealed = ring.seal("totp", "secret", "users/1");
    const body = Buffer.from(sealed.slice(3), "base64url");
    for (let index = 0; index < body.length; index++) {
      const changed = Buffer.from(body);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(() => ring.open("totp", `k1.${changed.toString("base64url")}`, "users/1")).toThrow(
        SealError,
      );
      const cut = `k1.${body.subarray(0, index).toString("base64url")}`;
      expect(() => ring.open("totp", cut, "users/1")).toThrow(SealError);
    }
  });

  test.each(["", "k1.", "k0.AAAA", "k1", "plain text", "k2.AAAA", "k1.AA=="])(
    "sealing is not fooled by %j",
    (text) => {
      expect(() => ring.open("totp", text, "users/1")).toThrow(SealError);
    },
  );
});

describe("rotation", () => {
  const rotated = createKeyring([second, first], randomBytes);

  test("opens old values and seals with the newest key", () => {
    const old = ring.seal("totp", "secret", "users/1");
    expect(rotated.openText("totp", old, "users/1")).toBe("secret");
    const fresh = rotated.seal("totp", "secret", "users/1");
    expect(() => ring.open("totp", fresh, "users/1")).toThrow("master key 2");
  });

  test("a version cannot be relabelled", () => {
    const sealed = rotated.seal("totp", "secret", "users/1");
    expect(() => rotated.open("totp", sealed.replace("k2.", "k1."), "users/1")).toThrow(SealError);
  });

  test("a key opens values that it sealed under another number", () => {
    const elsewhere = createKeyring([{ version: 7, bytes: second.bytes }, first], randomBytes);
    const sealed = elsewhere.seal("totp", "secret", "users/1");
    expect(rotated.openText("totp", sealed, "users/1")).toBe("secret");
    expect(() => ring.open("totp", sealed, "users/1")).toThrow("master key 7");
  });

  test("retired keys open, and neither seal nor sign", () => {
    const after = createKeyring([second], randomBytes, [first]);
    expect(after.openText("totp", ring.seal("totp", "secret", "u"), "u")).toBe("secret");
    expect(after.seal("totp", "secret", "u")).toMatch(/^k2\./);
    expect(after.deriveAll("jwt")).toEqual([rotated.derive("jwt")]);
  });

  test("derived keys are stable, differ by purpose and key, and the old ones stay known", () => {
    expect(ring.derive("jwt")).toEqual(createKeyring([first], randomBytes).derive("jwt"));
    expect(ring.derive("jwt")).toHaveLength(32);
    expect(ring.derive("jwt")).not.toEqual(ring.derive("reset"));
    expect(rotated.derive("jwt")).not.toEqual(ring.derive("jwt"));
    expect(rotated.deriveAll("jwt")).toEqual([rotated.derive("jwt"), ring.derive("jwt")]);
  });

  test("a check value distinguishes keys and is not the key", () => {
    expect(toCheckValue(first.bytes)).toMatch(/^[0-9a-f]{32}$/);
    expect(toCheckValue(first.bytes)).not.toBe(toCheckValue(second.bytes));
  });
});
