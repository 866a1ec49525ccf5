import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import {
  isWellFormedMachineToken,
  makeMachineToken,
} from "../../../../../daemon/vault/accounts/machine-token-secret.ts";

test("makes tokens of 40 random characters and a checksum", () => {
  const tokens = Array.from({ length: 200 }, () => makeMachineToken(randomBytes));
  for (const token of tokens) {
    expect(token).toMatch(/^crv_[0-9A-Za-z]{46}$/);
    expect(isWellFormedMachineToken(token)).toBe(true);
  }
  expect(new Set(tokens).size).toBe(tokens.length);
  expect(new Set(tokens.flatMap((token) => [...token.slice(4, 44)])).size).toBe(62);
});

test("skips bytes that would make some characters more frequent", () => {
  const batches = [new Uint8Array(40).fill(250), new Uint8Array(40).fill(61)];
  expect(makeMachineToken(() => batches.shift() ?? new Uint8Array(40))).toMatch(/^crv_z{40}/);
});

test("rejects a token with one character changed", () => {
  const token = makeMachineToken(randomBytes);
  for (let index = 0; index < token.length; index += 1) {
    const changed = token[index] === "a" ? "b" : "a";
    const other = `${token.slice(0, index)}${changed}${token.slice(index + 1)}`;
    expect(isWellFormedMachineToken(other), other).toBe(false);
  }
  for (const other of ["", "crv_", `${token}a`, `${token}\n`, token.slice(0, -1)])
    expect(isWellFormedMachineToken(other), other).toBe(false);
});
