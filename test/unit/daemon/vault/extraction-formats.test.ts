import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { extract } from "../../../../daemon/vault/analysis/extraction/extract.ts";
import { docx, zip } from "../../../support/zip.ts";

// Files as LibreOffice 7.4, pandoc 2.17 and mail programs write them, cut down to what matters.

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-formats-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function textOf(content: string | Uint8Array, filename: string): Promise<string> {
  const path = join(folder, "file");
  await writeFile(path, content);
  const outcome = await extract({ path, filename, recognizes: false });
  if (outcome.kind !== "text") throw new Error(outcome.reason);
  return outcome.text;
}

const xml = '<?xml version="1.0" encoding="UTF-8"?>';
const openDocument = (type: string, body: string, styles = "") =>
  zip({
    mimetype: `application/vnd.oasis.opendocument.${type}`,
    "META-INF/manifest.xml": "<manifest/>",
    "content.xml":
      `${xml}<office:document-content><office:automatic-styles><number:text>-</number:text>` +
      `</office:automatic-styles><office:body>${body}</office:body></office:document-content>`,
    "styles.xml": `${xml}<office:document-styles>${styles}</office:document-styles>`,
  });

describe("OpenDocument", () => {
  test("keeps the number and text of a footnote apart from the word before it", async () => {
    const body =
      "<text:p>Ein Zeichen<text:note><text:note-citation>1</text:note-citation><text:note-body>" +
      "<text:p>rhubarb</text:p></text:note-body></text:note> steht</text:p>";
    expect((await textOf(openDocument("text", body), "a.odt")).split(/\s+/)).toEqual([
      "Ein",
      "Zeichen",
      "1",
      "rhubarb",
      "steht",
    ]);
  });

  test("leaves out indentation, deleted text and text of number formats", async () => {
    const body =
      "<text:tracked-changes><text:changed-region><text:deletion><text:p>secret</text:p>" +
      "</text:deletion></text:changed-region></text:tracked-changes>\n" +
      "   <text:p>\n      One\n      word</text:p>\n   <text:h>Two</text:h>";
    expect(await textOf(openDocument("text", body), "a.odt")).toBe("One word\nTwo");
  });

  test("reads headers and footers of texts, and no placeholders of spreadsheets", async () => {
    const styles = "<style:footer><text:p>Acme Ltd</text:p></style:footer>";
    const body = "<text:p>Body</text:p>";
    expect(await textOf(openDocument("text", body, styles), "a.odt")).toBe("Body\nAcme Ltd");
    expect(await textOf(openDocument("spreadsheet", body, styles), "a.ods")).toBe("Body");
  });
});

describe("documents in one XML file", () => {
  const flat = (type: string, body: string, more = "") =>
    `${xml}<!-- made by hand -->\n<office:document xmlns:office="o" office:mimetype="application/vnd.oasis.` +
    `opendocument.${type}"><office:automatic-styles/><office:master-styles><text:p>Acme Ltd</text:p>` +
    `</office:master-styles><office:body>${body}</office:body>${more}</office:document>`;

  test("of OpenDocument have text instead of markup, and no pictures", async () => {
    const picture = "<draw:image><office:binary-data>aGVsbG8=</office:binary-data></draw:image>";
    const body = `<text:p>One ${picture}word</text:p><text:h>Two</text:h>`;
    expect(await textOf(flat("text", body), "a.fodt")).toBe("Acme Ltd\nOne word\nTwo");
    const cells = "<table:table-cell><text:p>3</text:p></table:table-cell>";
    expect(await textOf(flat("spreadsheet", cells), "a.xml")).toBe("3");
  });

  test("of FictionBook have title, author and text, in the declared encoding", async () => {
    const book =
      '<?xml version="1.0" encoding="windows-1251"?><FictionBook><description><title-info><author><first-name>' +
      "Mira</first-name><last-name>\xcc</last-name></author><book-title>T</book-title></title-info>" +
      "<document-info><author><nickname>maker</nickname></author></document-info></description><body>" +
      '<p>word<a type="note">1</a>,\n <emphasis>next</emphasis></p></body><binary>aGVsbG8=</binary></FictionBook>';
    expect(await textOf(Buffer.from(book, "latin1"), "a.fb2")).toBe("Mira\tМ\nT\nword\t1, next");
  });

  test("keep the text before an error, and the outcome reports it", async () => {
    const path = join(folder, "file");
    await writeFile(path, flat("text", "<text:p>One</text:p><text:p>Two").slice(0, -40));
    expect(await extract({ path, filename: "a.fodt", recognizes: false })).toMatchObject({
      contentType: "application/vnd.oasis.opendocument.text-flat-xml",
      text: "Acme Ltd\nOne",
      missing: "damaged",
    });
    await writeFile(path, `<!DOCTYPE x [<!ENTITY a "b">]>${flat("text", "&a;").slice(38)}`);
    expect(await extract({ path, filename: "a.fodt", recognizes: false })).not.toMatchObject({
      contentType: "application/vnd.oasis.opendocument.text-flat-xml",
    });
  });

  test("of other formats keep their markup", async () => {
    expect(await textOf(`${xml}<document a="b">x</document>`, "a.xml")).toContain("<document a=");
  });
});

describe("Word documents", () => {
  test("reads a text box once, and lines that are broken by hand", async () => {
    const box = "<w:p><w:r><w:t>Boxed</w:t></w:r></w:p>";
    const document =
      "<w:document><w:body><w:p><w:r><mc:AlternateContent><mc:Choice>" +
      `${box}</mc:Choice><mc:Fallback>${box}</mc:Fallback></mc:AlternateContent></w:r></w:p>` +
      "<w:p><w:r><w:t>one</w:t><w:cr/><w:t>two</w:t></w:r></w:p></w:body></w:document>";
    expect(await textOf(docx(document), "a.docx")).toBe("Boxed\none\ntwo");
  });
});

describe("Excel workbooks", () => {
  const workbook = (rows: string, properties = "") =>
    zip({
      "[Content_Types].xml":
        `<Types><Override ContentType="application/vnd.openxmlformats-officedocument.` +
        `spreadsheetml.sheet.main+xml" PartName="/xl/workbook.xml"/></Types>`,
      "xl/workbook.xml": `${xml}<workbook><workbookPr ${properties}/></workbook>`,
      "xl/styles.xml":
        `${xml}<styleSheet><numFmts><numFmt numFmtId="164" formatCode="General"/>` +
        `<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd"/>` +
        `<numFmt numFmtId="166" formatCode="0.00&quot; days&quot;[Red]"/></numFmts>` +
        `<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="164"/>` +
        `<xf numFmtId="165"/><xf numFmtId="22"/><xf numFmtId="20"/><xf numFmtId="166"/></cellXfs></styleSheet>`,
      "xl/sharedStrings.xml": `${xml}<sst><si><t>Datum</t></si></sst>`,
      "xl/worksheets/sheet1.xml": `${xml}<worksheet><sheetData>${rows}</sheetData></worksheet>`,
    });
  const cell = (style: number, value: string, type = "n") =>
    `<c s="${style}" t="${type}"><v>${value}</v></c>`;

  test("writes dates as dates, and other numbers as they are", async () => {
    const rows =
      `<row>${cell(1, "0", "s")}${cell(0, "46082")}${cell(4, "46082")}</row>` +
      `<row>${cell(1, "46082")}${cell(2, "46082.5")}${cell(3, "0.75")}</row>` +
      `<row>${cell(1, "9999999")}${cell(1, "-1")}${cell(1, "text")}</row>`;
    expect(await textOf(workbook(rows), "a.xlsx")).toBe(
      "Datum\t46082\t46082\n2026-03-01\t2026-03-01 12:00\t18:00\n9999999\t-1\ttext",
    );
  });

  test("counts days from 1904 where the workbook declares it", async () => {
    const rows = `<row>${cell(1, "44620")}</row>`;
    expect(await textOf(workbook(rows, 'date1904="1"'), "a.xlsx")).toBe("2026-03-01");
  });
});

const slides = zip({
  "[Content_Types].xml":
    `<Types><Override PartName="/ppt/presentation.xml" ContentType="application/vnd.openxmlformats-` +
    `officedocument.presentationml.presentation.main+xml"/></Types>`,
  "ppt/presentation.xml": `${xml}<p:presentation/>`,
  "ppt/slides/slide10.xml": `${xml}<p:sld><a:p><a:r><a:t>Ten</a:t></a:r></a:p></p:sld>`,
  "ppt/slides/slide2.xml": `${xml}<p:sld><a:p><a:r><a:t>Two</a:t></a:r></a:p></p:sld>`,
  "ppt/notesSlides/notesSlide2.xml": `${xml}<p:notes><a:p><a:r><a:t>Note</a:t></a:r></a:p></p:notes>`,
});
const book = zip({
  mimetype: "application/epub+zip",
  "META-INF/container.xml": `${xml}<container><rootfile full-path="OPS/book.opf"/></container>`,
  "OPS/book.opf":
    `${xml}<package><manifest><item id="a" href="a%20b.xhtml"/><item id="z" href="z.xhtml"/></manifest>` +
    `<spine><itemref idref="z"/><itemref idref="a"/></spine></package>`,
  "OPS/a b.xhtml": "<html><body><p>Chapter two</p></body></html>",
  "OPS/z.xhtml": "<html><body><p>Chapter one</p></body></html>",
});

test("a presentation is read slide by slide with its notes", async () => {
  expect(await textOf(slides, "a.pptx")).toBe("Two\nNote\nTen");
});

test("a book is read in the order of its spine", async () => {
  expect(await textOf(book, "a.epub")).toBe("Chapter one\nChapter two");
});

test.each([
  ["a presentation", slides, "a.pptx"],
  ["a book", book, "a.epub"],
  ["a text document", openDocument("text", "<text:p>Body</text:p>"), "a.odt"],
])("%s that is cut off anywhere has a reason and no text", async (_what, whole, filename) => {
  const path = join(folder, "file");
  for (let length = 100; length < whole.length; length += 97) {
    await writeFile(path, whole.subarray(0, length));
    const outcome = await extract({ path, filename, recognizes: false });
    expect(outcome.kind, `${length} bytes`).toBe("unreadable");
  }
});

describe("encodings", () => {
  const page = (charset: string, text: number[]) =>
    Buffer.concat([
      Buffer.from(`<html><head><meta charset="${charset}"></head><body>`),
      Buffer.from(text),
      Buffer.from("</body></html>"),
    ]);

  test.each([
    ["windows-1251", [0xcc, 0xee, 0xf1, 0xea, 0xe2, 0xe0], "Москва"],
    ["Shift_JIS", [0x93, 0xfa, 0x96, 0x7b], "日本"],
    ["iso-2022-jp", [0x1b, 0x24, 0x42, 0x46, 0x7c, 0x4b, 0x5c, 0x1b, 0x28, 0x42], "日本"],
    ["gb2312", [0xb1, 0xb1, 0xbe, 0xa9], "北京"],
    ["iso-8859-15", [0xa4], "€"],
    ["no-such-encoding", [0x80], "€"],
    ["iso-8859-1", [0xc3, 0xa4], "ä"],
  ])("decodes a page that declares %s", async (charset, bytes, expected) => {
    expect(await textOf(page(charset, bytes), "a.html")).toBe(expected);
  });

  test("finds the encoding in the older form of the declaration, and in that of XML", async () => {
    const old =
      '<html><head><meta http-equiv="Content-Type" content="text/html; charset=koi8-r"></head><body>';
    expect(await textOf(Buffer.from(`${old}\xf0\xf2</body></html>`, "latin1"), "a.html")).toBe(
      "ПР",
    );
    const declared = '<?xml version="1.0" encoding="windows-1251"?><a>\xcc</a>';
    expect(await textOf(Buffer.from(declared, "latin1"), "a.xml")).toContain("<a>М</a>");
  });

  test("reads UTF-16 without a byte order mark", async () => {
    const table = "Name;Preis\r\nBrötchen;0,45\r\n";
    const little = Buffer.from(table, "utf16le");
    expect(await textOf(little, "a.csv")).toBe(table.replaceAll("\r\n", "\n").trim());
    expect(await textOf(Buffer.from(little).swap16(), "a.csv")).toContain("Brötchen;0,45");
  });

  test("reads UTF-32 with and without a byte order mark", async () => {
    const text = "Größe 🎉\n";
    const units = [...text].map((character) => character.codePointAt(0) ?? 0);
    for (const mark of [[0xfeff], []])
      for (const isLittle of [true, false]) {
        const bytes = Buffer.alloc((mark.length + units.length) * 4);
        const view = new DataView(bytes.buffer, bytes.byteOffset);
        for (const [index, unit] of [...mark, ...units].entries())
          view.setUint32(index * 4, unit, isLittle);
        expect(await textOf(bytes, "a.txt")).toBe(text.trim());
      }
    const invalid = Buffer.from("fffe0000" + "41000000" + "00d80000" + "ffffffff" + "42", "hex");
    expect(await textOf(invalid, "a.txt")).toBe("A\ufffd\ufffd");
  });

  test("does not take small numbers of 32 bits for text", async () => {
    const numbers = Buffer.alloc(4_000);
    for (let at = 0; at < numbers.length; at += 4) numbers.writeUInt32LE((at / 4) % 300, at);
    await expect(textOf(numbers, "a.raw")).rejects.toThrow("unsupported_format");
  });

  test("does not take small numbers of 16 bits for text", async () => {
    const numbers = Buffer.alloc(2_000);
    for (let at = 0; at < numbers.length; at += 2) numbers.writeUInt16LE((at / 2) % 100, at);
    await expect(textOf(numbers, "a.raw")).rejects.toThrow("unsupported_format");
  });

  test("reads letters that JSON has escaped", async () => {
    expect(await textOf('{"city":"Z\\u00fcrich"}', "a.json")).toBe('{"city":"Zürich"}');
  });
});

test("the number of a footnote in HTML is a word of its own, the exponent of a unit is not", async () => {
  const html =
    '<!doctype html><p>word<sup><a href="#1">1</a></sup> next<a href="#2"><sup>2</sup></a> 5 m<sup>2</sup></p>';
  expect(await textOf(html, "a.html")).toBe("word 1 next 2 5 m2");
});

test("reads a mail that is attached to a mail, to a depth of three", async () => {
  const attach = (inner: string, subject: string) =>
    [
      `Subject: ${subject}`,
      "MIME-Version: 1.0",
      `Content-Type: multipart/mixed; boundary="${subject}"`,
      "",
      `--${subject}`,
      "Content-Type: text/plain",
      "",
      `body of ${subject}`,
      `--${subject}`,
      "Content-Type: message/rfc822",
      "Content-Disposition: attachment",
      "",
      inner,
      `--${subject}--`,
      "",
    ].join("\r\n");
  const mail = ["four", "three", "two", "one", "top"].reduce(attach, "Subject: five\r\n\r\nend");
  const text = await textOf(mail, "a.eml");
  for (const subject of ["top", "one", "two", "three"])
    expect(text).toContain(`body of ${subject}`);
  expect(text).not.toContain("body of four");
});
