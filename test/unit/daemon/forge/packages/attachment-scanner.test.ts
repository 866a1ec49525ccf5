import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createDocumentScanner } from "../../../../../daemon/forge/packages/npm/attachment-scanner.ts";
import { AppError } from "../../../../../daemon/errors.ts";
import { cases } from "../../../../support/property.ts";

/** Scans a text that arrives in pieces of the given length. */
async function scan(text: string | Buffer, pieceLength = 7, bytesMax = 1 << 20) {
  const attachments: { name: string; bytes: Buffer; ended: boolean }[] = [];
  const scanner = createDocumentScanner(
    {
      begin: async (name) => void attachments.push({ name, bytes: Buffer.alloc(0), ended: false }),
      async write(bytes) {
        const last = attachments.at(-1);
        if (last !== undefined) last.bytes = Buffer.concat([last.bytes, bytes]);
      },
      async end() {
        const last = attachments.at(-1);
        if (last !== undefined) last.ended = true;
      },
    },
    bytesMax,
  );
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceLength)
    await scanner.push(Buffer.from(bytes.subarray(at, at + pieceLength)));
  return { document: scanner.finish(), attachments };
}

const refusal = (code: string) => (error: unknown) =>
  error instanceof AppError && error.code === code;

test("a document keeps all but the attachment's content, for any split into chunks", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.json({ maxDepth: 5 }),
      fc.uint8Array({ maxLength: 200 }),
      fc.string(),
      fc.integer({ min: 1, max: 64 }),
      fc.boolean(),
      async (other, bytes, name, pieceLength, isSpaced) => {
        const document = {
          before: JSON.parse(other),
          _attachments: {
            [name]: { content_type: "x", data: Buffer.from(bytes).toString("base64"), length: 1 },
          },
          data: { data: { data: "QUJD" } },
          after: [{ _attachments: { a: { data: "not base64" } } }],
        };
        const text = JSON.stringify(document, undefined, isSpaced ? 2 : undefined);
        const scanned = await scan(text, pieceLength);
        expect(scanned.attachments).toEqual([{ name, bytes: Buffer.from(bytes), ended: true }]);
        const expected = JSON.parse(text);
        expected._attachments[name].data = "";
        expect(scanned.document).toEqual(expected);
      },
    ),
    cases(300),
  );
});

test("member names are decoded as JSON, and slashes may be escaped", async () => {
  const text = String.raw`{"_\u0061ttachments":{"a\"b":{"dat\u0061":"\/\/\/\/"}}}`;
  for (const pieceLength of [1, 2, 3, 100]) {
    const { attachments } = await scan(text, pieceLength);
    expect(attachments).toEqual([
      { name: 'a"b', bytes: Buffer.from([255, 255, 255]), ended: true },
    ]);
  }
});

describe("malformed documents are refused", () => {
  test.each([
    ["nothing", ""],
    ["no JSON", "hello"],
    ["a document that breaks off", '{"name":"x","_attachments":{"a":{"data":"QUJD'],
    ["a text after it", '{"name":"x"} {}'],
    ["brackets that do not fit", '{"_attachments":{"a":{"data":"QUJD"}]}'],
    ["content that is not base64", '{"_attachments":{"a":{"data":"Q!JD"}}}'],
    ["content that breaks off", '{"_attachments":{"a":{"data":"QUJ"}}}'],
    ["content after its padding", '{"_attachments":{"a":{"data":"QQ==QUJD"}}}'],
    ["content with line ends", '{"_attachments":{"a":{"data":"QUJD\\nQUJD"}}}'],
    ["content with an escaped quote", '{"_attachments":{"a":{"data":"QUJD\\""}}}'],
    ["invalid UTF-8", Buffer.from([0x22, 0xc0, 0xae, 0x22])],
    ["nesting without end", "[".repeat(100_000)],
    ["deep objects", '{"a":'.repeat(5000)],
  ])("refuses a malformed document: %s", async (_what, text) => {
    for (const pieceLength of [3, 1 << 16])
      await expect(scan(text, pieceLength)).rejects.toSatisfy(refusal("invalid_argument"));
  });

  test("refuses a document that exceeds the limit", async () => {
    const text = JSON.stringify({ readme: "x".repeat(2000) });
    await expect(scan(text, 100, 1000)).rejects.toSatisfy(refusal("too_large"));
    // The content of an attachment does not count.
    const data = Buffer.alloc(10_000).toString("base64");
    const large = await scan(JSON.stringify({ _attachments: { a: { data } } }), 100, 1000);
    expect(large.attachments[0]?.bytes.length).toBe(10_000);
  });
});
