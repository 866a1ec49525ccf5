import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { StreamAborted } from "../../../../storage/cloud/outcomes.ts";
import { readXml, XmlStop, type XmlLimits } from "../../../../storage/cloud/xml.ts";

const limits: XmlLimits = { bytesMax: 100_000 };

async function read(
  document: string | Uint8Array,
  options: { readonly limits?: XmlLimits; readonly piece?: number } = {},
) {
  const bytes = Buffer.from(document);
  const piece = options.piece ?? 64 * 1024;
  const chunks = Array.from({ length: Math.ceil(bytes.length / piece) }, (_, at) =>
    bytes.subarray(at * piece, (at + 1) * piece),
  );
  const seen: string[] = [];
  const outcome = await readXml(
    Readable.from(chunks, { objectMode: false }),
    { close: ({ uri, local }, text) => seen.push(`{${uri}}${local}=${text}`) },
    options.limits ?? limits,
  );
  return { outcome, seen };
}

const offline = (note: string) => ({ kind: "offline", sent: true, note });

test("resolves any namespace prefixes", async () => {
  for (const [open, close] of [
    ['<D:a xmlns:D="DAV:"><D:b>1</D:b>', "</D:a>"],
    ['<a xmlns="DAV:"><b>1</b>', "</a>"],
    ['<x:a xmlns:x="DAV:"><y:b xmlns:y="DAV:">1</y:b>', "</x:a>"],
  ]) {
    const { outcome, seen } = await read(`<?xml version="1.0" encoding="utf-8"?>\n${open}${close}`);
    expect(outcome).toEqual({ kind: "ok" });
    expect(seen).toEqual(["{DAV:}b=1", "{DAV:}a="]);
  }
});

test.each([1, 64 * 1024])(
  "empty lines in front are passed over (%i bytes at once)",
  async (piece) => {
    const { outcome, seen } = await read('\n \t\r\n<?xml version="1.0"?>\n<a>1</a>', { piece });
    expect([outcome, seen]).toEqual([{ kind: "ok" }, ["{}a=1"]]);
  },
);

test("texts are complete, even when they arrive byte by byte", async () => {
  const { outcome, seen } = await read(
    "<a>caf\u00e9 &amp; &#x1F600; <![CDATA[<raw>]]><!-- passed over --><?php echo 1 ?></a>",
    { piece: 1 },
  );
  expect(outcome).toEqual({ kind: "ok" });
  expect(seen).toEqual(["{}a=caf\u00e9 & \u{1F600} <raw>"]);
});

test("white space between elements is not text, however long it is", async () => {
  const many = "<b> 1 </b>\n".repeat(70_000);
  const { outcome, seen } = await read(`<a>\n${many}</a>`, {
    limits: { bytesMax: 10_000_000, textMax: 1_000 },
  });
  expect(outcome).toEqual({ kind: "ok" });
  expect([seen.length, seen[0], seen.at(-1)]).toEqual([70_001, "{}b= 1 ", "{}a="]);
  expect((await read("<a> x <b/> y </a>")).seen).toEqual(["{}b=", "{}a= x  y "]);
});

test("elements know their ancestors", async () => {
  const paths: string[] = [];
  await readXml(
    Readable.from([Buffer.from("<a><b><c/></b></a>")]),
    {
      open: (element) =>
        paths.push(`${element.parent?.parent?.local}/${element.parent?.local}/${element.local}`),
    },
    limits,
  );
  expect(paths).toEqual(["undefined/undefined/a", "undefined/a/b", "a/b/c"]);
});

describe("hostile documents", () => {
  test("document types and entities are refused", async () => {
    for (const document of [
      '<!DOCTYPE a [<!ENTITY x "boom">]><a>&x;</a>',
      '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
      '<!DOCTYPE a [<!ENTITY % p SYSTEM "http://127.0.0.1/"> %p;]><a/>',
    ])
      expect((await read(document)).outcome).toEqual(offline("xml_doctype"));
    expect((await read("<a>&x;</a>")).outcome).toEqual(offline("not_xml"));
  });

  test("a document that is not well-formed, such as a truncated one, is rejected", async () => {
    for (const document of [
      "",
      "{{{",
      "<html><body>Back soon<br></body></html>",
      "<a><b>1</b>",
      "<a></b>",
      "<x:a/>",
      "<a/><b/>",
      "x".repeat(50_000),
    ])
      expect((await read(document)).outcome).toEqual(offline("not_xml"));
  });

  test("depth, texts and bytes are bounded", async () => {
    expect((await read("<a>".repeat(1000))).outcome).toEqual(offline("xml_too_deep"));
    expect((await read("<a>x</a>", { limits: { bytesMax: 7 } })).outcome).toEqual(
      offline("answer_too_long"),
    );
    const long = { limits: { bytesMax: 10_000_000 } };
    for (const document of [
      `<a>${"x".repeat(200_000)}</a>`,
      `<a x="${"x".repeat(200_000)}"/>`,
      `<a><!--${"x".repeat(200_000)}--></a>`,
      `<${"x".repeat(200_000)}/>`,
      `<a>${"<![CDATA[xxxxxxxxxx]]>".repeat(10_000)}</a>`,
    ])
      expect((await read(document, long)).outcome).toEqual(offline("xml_too_long"));
  });

  test("other encodings are refused", async () => {
    expect((await read('<?xml version="1.0" encoding="UTF-7"?><a/>')).outcome).toEqual(
      offline("xml_encoding"),
    );
    expect((await read(Buffer.from("<a>\xe9</a>", "latin1"))).outcome).toEqual(offline("not_utf8"));
    expect((await read(Buffer.from("\ufeff<a/>", "utf16le"))).outcome).toEqual(offline("not_utf8"));
  });
});

test("an aborted stream ends with its own failure", async () => {
  const broken = () =>
    Readable.from(
      (async function* () {
        yield Buffer.from("<a>");
        throw new StreamAborted({ kind: "offline", sent: true, note: "shorter_than_said" });
      })(),
    );
  expect(await readXml(broken(), {}, limits)).toEqual(offline("shorter_than_said"));
});

test("a handler can stop the reading; the stream is let go", async () => {
  const stream = Readable.from([Buffer.from("<a><b/>"), Buffer.from("</a>")]);
  const stopping = readXml(
    stream,
    {
      close() {
        throw new XmlStop();
      },
    },
    limits,
  );
  await expect(stopping).rejects.toBeInstanceOf(XmlStop);
  expect(stream.destroyed).toBe(true);
});
