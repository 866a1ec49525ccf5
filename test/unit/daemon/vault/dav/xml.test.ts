import { expect, test } from "vitest";
import { childrenOf, escapeText, parseXml, writeXml } from "../../../../../daemon/vault/dav/xml.ts";

const written = (text: string): string => {
  const [element] = childrenOf(parseXml(Buffer.from(`<r xmlns:n="urn:n">${text}</r>`)));
  return element === undefined ? "" : writeXml(element);
};

test("writes elements with their own namespaces, attributes, languages and mixed content", () => {
  expect(written(`<n:a k="1&lt;" n:b="2">x<n:c/>y &amp; z</n:a>`)).toBe(
    `<a xmlns="urn:n" k="1&lt;" xmlns:a1="urn:n" a1:b="2">x<c xmlns="urn:n"/>y &amp; z</a>`,
  );
  expect(written("<a/>")).toBe(`<a xmlns=""/>`);
  expect(written(`<a xml:lang="de"><![CDATA[<b>]]></a>`)).toBe(
    `<a xmlns="" xml:lang="de">&lt;b&gt;</a>`,
  );
  expect(written(`<D:a xmlns:D="DAV:"/>`)).toBe("<D:a/>");
});

test("what it writes is read again as the same", () => {
  const text = `<n:a n:b="&quot;&#10;">\u{1F600} &#13;<n:c xml:lang="fr">d</n:c></n:a>`;
  const once = written(text);
  expect(written(once)).toBe(once);
});

test("replaces characters that XML cannot have", () => {
  expect(escapeText("a\u0000b\u0008c\uD800d\uFFFEe<\r")).toBe(
    "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe&lt;&#13;",
  );
});

test.each([
  ["<a", 400],
  ["<a></b>", 400],
  ["<!DOCTYPE a><a/>", 400],
  ["<a>&b;</a>", 400],
  ["", 400],
  ["<a>".repeat(33) + "</a>".repeat(33), 413],
  [`<a>${"<b/>".repeat(5_000)}</a>`, 413],
  [`<a xmlns="urn:${"n".repeat(30_000)}">${"<b/>".repeat(4_000)}</a>`, 413],
  [`<D:a xmlns:D="DAV:" xml:lang="${"n".repeat(30_000)}">${"<D:b/>".repeat(4_000)}</D:a>`, 413],
  [`<a xmlns:n="urn:${"n".repeat(30_000)}">${'<b n:c=""/>'.repeat(4_000)}</a>`, 413],
])("refuses %j", (text, status) => {
  expect(() => parseXml(Buffer.from(text))).toThrow(expect.objectContaining({ status }));
});

test("refuses bytes that are no UTF-8", () => {
  expect(() => parseXml(Buffer.from([0x3c, 0x61, 0xff, 0x2f, 0x3e]))).toThrow(
    expect.objectContaining({ status: 400 }),
  );
});
