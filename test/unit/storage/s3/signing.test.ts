import { describe, expect, test } from "vitest";
import {
  EMPTY_HASH,
  encodePath,
  encodeQuery,
  sha256,
  sign,
  toCanonicalRequest,
  type Signable,
} from "../../../../storage/s3/signing.ts";

// The examples of the public documentation of Signature Version 4 for S3, with its keys, bucket and time.
const keys = {
  accessKeyId: "AKIAIOSFODNN7EXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  sessionToken: undefined,
};
const NOW = Date.UTC(2013, 4, 24);
const example: Signable = {
  method: "GET",
  host: "examplebucket.s3.amazonaws.com",
  path: "/",
  query: "",
  headers: {},
  payloadHash: EMPTY_HASH,
};

function signatureOf(request: Partial<Signable>): string {
  const headers = sign({ ...example, ...request }, keys, "us-east-1", NOW);
  return /Signature=([0-9a-f]{64})$/.exec(headers["authorization"] ?? "")?.[1] ?? "";
}

describe("the published examples", () => {
  test("signs the published example of a range of an object", () => {
    expect(signatureOf({ path: "/test.txt", headers: { range: "bytes=0-9" } })).toBe(
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    );
  });

  test("an upload, whose name has a dollar sign", () => {
    expect(
      signatureOf({
        method: "PUT",
        path: encodePath("/test$file.text"),
        headers: {
          date: "Fri, 24 May 2013 00:00:00 GMT",
          "x-amz-storage-class": "REDUCED_REDUNDANCY",
        },
        payloadHash: sha256("Welcome to Amazon S3."),
      }),
    ).toBe("98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  });

  test("signs the published example of a query without a value", () => {
    expect(signatureOf({ query: encodeQuery({ lifecycle: "" }) })).toBe(
      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    );
  });

  test("signs the published example of a listing", () => {
    expect(signatureOf({ query: encodeQuery({ prefix: "J", "max-keys": "2" }) })).toBe(
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    );
  });
});

describe("the canonical request", () => {
  test("paths keep their slashes and lose nothing", () => {
    expect(encodePath("/b/a b+c%41#?&='()*!~/ä/😀//./..")).toBe(
      "/b/a%20b%2Bc%2541%23%3F%26%3D%27%28%29%2A%21~/%C3%A4/%F0%9F%98%80//./..",
    );
  });

  test("queries are sorted by their encoded form", () => {
    expect(encodeQuery({ prefix: "a/b c", "list-type": "2", "a[": "1", aa: "2" })).toBe(
      "a%5B=1&aa=2&list-type=2&prefix=a%2Fb%20c",
    );
  });

  test("header values are trimmed, runs of spaces made one, names put in order", () => {
    const { text, signedHeaders } = toCanonicalRequest({
      ...example,
      headers: { "x-b": "  two   spaces ", "x-a": "1" },
    });
    expect(signedHeaders).toBe("host;x-a;x-b");
    expect(text).toContain("host:examplebucket.s3.amazonaws.com\nx-a:1\nx-b:two spaces\n");
  });

  test("a session token is sent and signed", () => {
    const headers = sign(example, { ...keys, sessionToken: "token" }, "eu-central-1", NOW);
    expect(headers["x-amz-security-token"]).toBe("token");
    expect(headers["authorization"]).toContain(
      "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,",
    );
    expect(headers["authorization"]).toContain("/20130524/eu-central-1/s3/aws4_request,");
  });
});
