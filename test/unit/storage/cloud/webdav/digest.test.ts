import { expect, test } from "vitest";
import {
  createDigest,
  findDigest,
  toChallenges,
} from "../../../../../storage/cloud/webdav/digest.ts";

test("challenges are told apart, joined in one header, too", () => {
  expect(
    toChallenges(
      'Basic realm="a, b", Digest realm="dav \\"x\\"", nonce="n=1", qop="auth,auth-int", stale=FALSE, Negotiate',
    ),
  ).toEqual([
    { scheme: "basic", params: { realm: "a, b" } },
    {
      scheme: "digest",
      params: { realm: 'dav "x"', nonce: "n=1", qop: "auth,auth-int", stale: "FALSE" },
    },
    { scheme: "negotiate", params: {} },
  ]);
  expect(toChallenges(undefined)).toEqual([]);
});

test("the stronger hash is taken, and nothing that is not known", () => {
  const md5 = 'Digest realm="r", nonce="1", qop="auth", algorithm=MD5';
  const sha = 'Digest realm="r", nonce="2", qop="auth", algorithm=SHA-256';
  expect(findDigest(toChallenges(`${md5}, ${sha}`))?.hash).toBe("sha256");
  for (const header of [
    'Digest realm="r", nonce="1", algorithm=SHA-512-256',
    'Digest realm="r", nonce="1", qop="auth-int"',
    'Digest realm="r"',
    'Basic realm="r"',
  ])
    expect(findDigest(toChallenges(header))).toBeUndefined();
});

test("the example of RFC 7616, 3.9.1", () => {
  const cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";
  const parts =
    'realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"';
  for (const [algorithm, response] of [
    ["MD5", "8ca523f5e9506fed4657c9700eebdbec"],
    ["SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"],
  ] as const) {
    const digest = createDigest("Mufasa", "Circle of Life", () => cnonce);
    expect(digest.sign("GET", "/dir/index.html")).toBeUndefined();
    expect(digest.learn(toChallenges(`Digest ${parts}, algorithm=${algorithm}`))).toBe(true);
    const signed = digest.sign("GET", "/dir/index.html");
    expect(signed).toContain(`response="${response}"`);
    expect(signed).toContain("nc=00000001");
    expect(digest.sign("GET", "/dir/index.html")).toContain("nc=00000002");
  }
});
