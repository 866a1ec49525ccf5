import { Readable } from "node:stream";
import { expect, test } from "vitest";
import type { Transport } from "../../../../../storage/cloud/transport.ts";
import { createDavClient } from "../../../../../storage/cloud/webdav/client.ts";
import {
  createDigest,
  findDigest,
  parseChallenges,
  type HeaderText,
} from "../../../../../storage/cloud/webdav/digest.ts";

test("parses several challenges, even joined in one header", () => {
  expect(
    parseChallenges(
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
  expect(parseChallenges(undefined)).toEqual([]);
});

test("uses the strongest known hash, and no unknown one", () => {
  const md5 = 'Digest realm="r", nonce="1", qop="auth", algorithm=MD5';
  const sha = 'Digest realm="r", nonce="2", qop="auth", algorithm=SHA-256';
  expect(findDigest(parseChallenges(`${md5}, ${sha}`))?.hash).toBe("sha256");
  for (const header of [
    'Digest realm="r", nonce="1", algorithm=SHA-512-256',
    'Digest realm="r", nonce="1", qop="auth-int"',
    'Digest realm="r"',
    'Basic realm="r"',
  ])
    expect(findDigest(parseChallenges(header))).toBeUndefined();
});

test("computes the example of RFC 7616, 3.9.1", () => {
  const cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";
  const parts =
    'realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"';
  for (const [algorithm, response] of [
    ["MD5", "8ca523f5e9506fed4657c9700eebdbec"],
    ["SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"],
  ] as const) {
    const digest = createDigest("Mufasa", "Circle of Life", () => cnonce);
    expect(digest.sign("GET", "/dir/index.html")).toBeUndefined();
    expect(digest.learn(parseChallenges(`Digest ${parts}, algorithm=${algorithm}`))).toBe(true);
    const signed = digest.sign("GET", "/dir/index.html");
    expect(signed).toContain(`response="${response}"`);
    expect(signed).toContain("nc=00000001");
    expect(digest.sign("GET", "/dir/index.html")).toContain("nc=00000002");
  }
});

test("a hostile WWW-Authenticate header is read a bounded number of times a character", () => {
  for (const unit of ["a", "a ", 'a="', '\\"', 'a="\\', "=", ",", "a=", '"', "a=a ", " ", "é"])
    for (const length of [1_000, 16_000]) {
      const text = `Digest ${unit.repeat(length / unit.length)}`;
      let read = 0;
      const counted: HeaderText = {
        length: text.length,
        charAt(at) {
          read += 1;
          return text.charAt(at);
        },
        slice(start = 0, end = text.length) {
          read += end - start;
          return text.slice(start, end);
        },
      };
      expect(parseChallenges(counted)).toEqual(parseChallenges(text));
      expect({ unit, perCharacter: Math.ceil(read / 2 / text.length) }).toEqual({
        unit,
        perCharacter: expect.toSatisfy((count: number) => count <= 8),
      });
    }
});

/** A server that forgets its nonces without saying `stale`, as dufs does when it is restarted. */
function startForgetfulServer(acceptsPassword: boolean) {
  const nonces: string[] = ["first"];
  const requests: { method: string; nonce: string | undefined }[] = [];
  const transport: Transport = {
    async send({ method, headers, body }) {
      const nonce = /nonce="([^"]*)"/.exec(headers?.["authorization"] ?? "")?.[1];
      requests.push({ method, nonce });
      if (body instanceof Readable) body.destroy();
      const isAccepted = acceptsPassword && nonce === nonces.at(-1);
      return {
        kind: "answered",
        status: isAccepted ? 207 : 401,
        headers: { "www-authenticate": `Digest realm="r", nonce="${nonces.at(-1)}", qop="auth"` },
        text: async () => ({ kind: "ok", text: "" }),
        stream: () => Readable.from([]),
        discard: () => undefined,
      };
    },
  };
  const client = createDavClient({
    base: { origin: "http://127.0.0.1", segments: [] },
    username: "anna",
    password: "secret",
    signing: "digest",
    newId: () => "id",
    transport,
    clock: () => 0,
    usesPathDestination: false,
  });
  const place = { segments: ["a"], isFolder: false };
  const { signal } = new AbortController();
  const send = async (body?: Readable) => {
    const request = { method: "PUT", place, signal };
    const answer = await client.send(body === undefined ? request : { ...request, body });
    return answer.kind === "answered" ? answer.status : answer;
  };
  return { send, requests, forget: () => nonces.push(`nonce-${nonces.length}`) };
}

test("a new nonce that is not marked stale is tried once before the password is taken for wrong", async () => {
  const server = startForgetfulServer(true);
  expect(await server.send()).toBe(207);
  server.forget();
  server.requests.length = 0;
  expect(await server.send()).toBe(207);
  expect(server.requests.map(({ nonce }) => nonce)).toEqual(["first", "nonce-1"]);
});

test("an upload whose nonce is dead asks to be repeated, and does not ask for a new password", async () => {
  const server = startForgetfulServer(true);
  expect(await server.send()).toBe(207);
  server.forget();
  const upload = () => server.send(Readable.from([Buffer.from("x")]));
  expect(await upload()).toEqual({ kind: "offline", sent: false, note: "nonce_expired" });
  expect(await upload()).toBe(207);
});

test("a wrong password is refused after one try with each challenge", async () => {
  const server = startForgetfulServer(false);
  expect(await server.send()).toBe(401);
  expect(server.requests).toHaveLength(2);
  server.forget();
  expect(await server.send(Readable.from([Buffer.from("x")]))).toBe(401);
  expect(server.requests).toHaveLength(4);
});
