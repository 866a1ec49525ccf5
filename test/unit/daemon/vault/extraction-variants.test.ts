import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { extract } from "../../../../daemon/vault/analysis/extraction/extract.ts";
import { formatNumber } from "../../../../daemon/vault/analysis/extraction/number-format.ts";
import { zip } from "../../../support/zip.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-variants-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(content: string | Uint8Array, filename: string) {
  const path = join(folder, "file");
  await writeFile(path, content);
  return extract({ path, filename, recognizes: false });
}

const textOf = async (content: string | Uint8Array, filename = "file") => {
  const extraction = await read(content, filename);
  return extraction.kind === "text" ? extraction.text : extraction.reason;
};

const RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const links = (...found: readonly (readonly [type: string, target: string])[]) =>
  `<Relationships>${found
    .map(
      ([type, target], index) =>
        `<Relationship Id="r${index}" Type="${RELATION}/${type}" Target="${target}"/>`,
    )
    .join("")}</Relationships>`;
/** A package whose main part has a content type. */
const office = (type: string, main: string, parts: Readonly<Record<string, string>>) =>
  zip({
    "[Content_Types].xml": `<Types><Override PartName="/${main}" ContentType="${type}.main+xml"/></Types>`,
    "_rels/.rels": links(["officeDocument", main]),
    ...parts,
  });
const WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation";
const words = (content: string) => `<w:document><w:body>${content}</w:body></w:document>`;
const run = (text: string) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;
const slide = (text: string) => `<p:sld><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sld>`;

describe("Word documents", () => {
  test("have a main part and notes of any name, in any folder and case", async () => {
    const file = office(WORD, "content/Main.xml", {
      "Content/main.xml": words(run("The body")),
      "content/_rels/Main.xml.rels": links(
        ["footnotes", "/notes/some%20notes.xml"],
        ["header", "top.xml"],
      ),
      "notes/some notes.xml": words(run("A note")),
      "content/top.xml": words(run("A head")),
      "content/left-over.xml": words(run("Unused")),
    });
    expect(await textOf(file)).toBe("The body\nA head\nA note");
  });

  test("are recognized whatever the case of the list of types is", async () => {
    const parts = {
      "[content_types].XML": "<Types/>",
      "_RELS/.rels": links(["officeDocument", "Word/Main.xml"]),
      "word/main.xml": words(run("The body")),
    };
    expect(await read(zip(parts), "file")).toMatchObject({ text: "The body", contentType: WORD });
    const { "word/main.xml": _main, ...others } = parts;
    expect(await read(zip(others), "file")).toMatchObject({
      reason: "unsupported_format",
      contentType: "application/zip",
    });
  });

  test("lack text that was moved or deleted, and how to read a word", async () => {
    const ruby =
      "<w:ruby><w:rt><w:r><w:t>とう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東</w:t></w:r></w:rubyBase></w:ruby>";
    const moved =
      `<w:moveFrom>${run("gone")}</w:moveFrom>${run("Middle")}<w:moveTo>${run("gone")}</w:moveTo>` +
      `<w:p><w:r><w:delText>old</w:delText></w:r>${ruby}<w:r><w:t>京</w:t></w:r></w:p>` +
      `<w:p><w:r><w:t>north</w:t><w:noBreakHyphen/><w:t>east gar\u00adden</w:t></w:r></w:p>`;
    const file = office(WORD, "word/document.xml", { "word/document.xml": words(moved) });
    expect(await textOf(file)).toBe("Middle\ngone\n東京\nnorth‑east garden");
  });

  test.each([
    ["application/vnd.ms-word.document.macroEnabled", "docm"],
    ["application/vnd.openxmlformats-officedocument.wordprocessingml.template", "dotx"],
    ["application/vnd.ms-word.template.macroEnabledTemplate", "dotm"],
  ])("of the type %s are read, too", async (type, extension) => {
    const file = office(type, "word/document.xml", { "word/document.xml": words(run("Letter")) });
    expect(await read(file, `a.${extension}`)).toMatchObject({ kind: "text", text: "Letter" });
  });
});

describe("presentations", () => {
  const presentation = (order: readonly string[]) =>
    `<p:presentation><p:sldIdLst>${order.map((id) => `<p:sldId id="256" r:id="${id}"/>`).join("")}</p:sldIdLst></p:presentation>`;

  test("are read in the order of the show, without deleted slides, each with its own notes", async () => {
    const file = office(SLIDES, "ppt/presentation.xml", {
      "ppt/presentation.xml": presentation(["r1", "r0"]),
      "ppt/_rels/presentation.xml.rels": links(
        ["slide", "slides/slide1.xml"],
        ["slide", "slides/slide3.xml"],
      ),
      "ppt/slides/slide1.xml": slide("Second"),
      "ppt/slides/slide2.xml": slide("Deleted"),
      "ppt/slides/slide3.xml": slide("First"),
      "ppt/slides/_rels/slide3.xml.rels": links(["notesSlide", "../notesSlides/notesSlide1.xml"]),
      "ppt/notesSlides/notesSlide1.xml": slide("Note of the first"),
    });
    expect(await textOf(file)).toBe("First\nNote of the first\nSecond");
  });

  test("have the labels of diagrams and charts, without the numbers of charts", async () => {
    const chart =
      `<c:chartSpace><c:title><a:p><a:r><a:t>Harvest</a:t></a:r></a:p></c:title><c:ser><c:tx><c:strCache><c:pt><c:v>Apples</c:v>` +
      `</c:pt></c:strCache></c:tx><c:val><c:numCache><c:pt><c:v>12.5</c:v></c:pt></c:numCache></c:val></c:ser></c:chartSpace>`;
    const file = office(
      "application/vnd.openxmlformats-officedocument.presentationml.slideshow",
      "ppt/presentation.xml",
      {
        "ppt/presentation.xml": presentation(["r0"]),
        "ppt/_rels/presentation.xml.rels": links(["slide", "slides/slide1.xml"]),
        "ppt/slides/slide1.xml": slide("Year"),
        "ppt/slides/_rels/slide1.xml.rels": links(
          ["diagramData", "../diagrams/data7.xml"],
          ["chart", "../charts/chart9.xml"],
        ),
        "ppt/diagrams/data7.xml":
          "<dgm:dataModel><dgm:t><a:p><a:r><a:t>Sow</a:t></a:r></a:p></dgm:t></dgm:dataModel>",
        "ppt/charts/chart9.xml": chart,
      },
    );
    expect(await textOf(file, "a.ppsx")).toBe("Year\nSow\nHarvest\nApples");
  });
});

describe("workbooks", () => {
  const styles =
    `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="#,##0.00\\ [$€-407]"/></numFmts>` +
    `<cellXfs><xf numFmtId="0"/><xf numFmtId="10"/><xf numFmtId="170"/><xf numFmtId="14"/></cellXfs></styleSheet>`;
  const cell = (value: string, style = 0, type = "n") =>
    `<c s="${style}" t="${type}"><v>${value}</v></c>`;

  test("have the names of their sheets, values as shown, text boxes and comments", async () => {
    const file = office(SHEET, "xl/workbook.xml", {
      "xl/workbook.xml": `<workbook><sheets><sheet name="Boats" r:id="r1"/><sheet name="Empty" r:id="r0"/></sheets></workbook>`,
      "xl/_rels/workbook.xml.rels": links(
        ["worksheet", "worksheets/sheet1.xml"],
        ["worksheet", "/xl/worksheets/ledger.xml"],
        ["styles", "styles.xml"],
        ["sharedStrings", "texts.xml"],
      ),
      "xl/styles.xml": styles,
      "xl/texts.xml": "<sst><si><t>東京</t><rPh><t>トウキョウ</t></rPh></si></sst>",
      "xl/worksheets/sheet1.xml": "<worksheet><sheetData/></worksheet>",
      "xl/worksheets/ledger.xml":
        `<worksheet><sheetData><row>${cell("0", 0, "s")}${cell("0.0725", 1)}${cell("-1180.5", 2)}</row>` +
        `<row>${cell("1", 0, "b")}${cell("0", 0, "b")}${cell("46082", 3)}${cell("0.30000000000000004")}</row></sheetData></worksheet>`,
      "xl/worksheets/_rels/ledger.xml.rels": links(
        ["comments", "../remarks.xml"],
        ["drawing", "../drawings/d.xml"],
        ["threadedComment", "../threads/t.xml"],
      ),
      "xl/remarks.xml":
        "<comments><authors><author>x</author></authors><commentList>" +
        `<comment ref="A1"><text><r><t>Check it</t></r><rPh><t>unread</t></rPh></text></comment>` +
        `<comment ref="B2"><text><t>[Threaded comment] of a newer version</t></text></comment></commentList></comments>`,
      "xl/threads/t.xml": `<ThreadedComments><threadedComment ref="B2"><text>Since when?</text></threadedComment></ThreadedComments>`,
      "xl/drawings/d.xml": "<xdr:wsDr><a:p><a:r><a:t>A box</a:t></a:r></a:p></xdr:wsDr>",
    });
    expect(await textOf(file, "a.xlsx")).toBe(
      "Boats\n東京\t7.25%\t-1,180.50 €\nTRUE\tFALSE\t2026-03-01\t0.3\nA box\nSince when?\nCheck it\nEmpty",
    );
  });

  test.each([
    ["0.5", "0%", "50%"],
    ["1180", '"$"#,##0.00', "$1,180.00"],
    ["-3", "0.0 [$CHF]", "-3.0 CHF"],
    ["-3", "[$¥-411]0;[Red]([$¥-411]0)", "(¥3)"],
    ["1180.5", "#,##0.00", "1180.5"],
    ["12", '0" days"', "12"],
    ["abc", "0%", "abc"],
    ["1e400", "0%", "1e400"],
    ["0.125", "# ?/?", "0.125"],
    ["1067", "00000", "01067"],
    ["1.5", "00000", "1.5"],
    ["-7", "0000", "-0007"],
    ["42", '"No. "0000', "No. 0042"],
    ["5", '"R-"0', "R-5"],
    ["-5", '"a"00;"minus "00', "minus 05"],
    ["123456789", "000\\-00\\-0000", "123-45-6789"],
    ["12345678901", "000\\-00\\-0000", "12345-67-8901"],
    ["5551234567", "\\(000\\)\\ 000\\-0000", "(555) 123-4567"],
  ])("write %s by the pattern %s as %s", (raw, pattern, shown) => {
    expect(formatNumber(raw, pattern)).toBe(shown);
  });
});

describe("mails", () => {
  const mail = (...parts: readonly string[]) =>
    `Subject: S\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${parts.join("\r\n--b\r\n")}\r\n--b--\r\n`;
  const attribute = (id: number, data: Buffer) => {
    const head = Buffer.alloc(9);
    head[0] = 1;
    head.writeUInt32LE(id, 1);
    head.writeUInt32LE(data.length, 5);
    return Buffer.concat([head, data, Buffer.alloc(2)]);
  };
  const property = (type: number, id: number, value: Buffer) => {
    const head = Buffer.alloc(12);
    head.writeUInt16LE(type, 0);
    head.writeUInt16LE(id, 2);
    head.writeUInt32LE(1, 4);
    head.writeUInt32LE(value.length, 8);
    return Buffer.concat([head, value, Buffer.alloc((4 - (value.length % 4)) % 4)]);
  };
  const properties = (...all: readonly Buffer[]) => {
    const count = Buffer.alloc(4);
    count.writeUInt32LE(all.length);
    return Buffer.concat([count, ...all]);
  };
  const tnef = (...attributes: readonly Buffer[]) =>
    Buffer.concat([Buffer.from("789f3e220000", "hex"), ...attributes]);

  test("whose plain part has no text have that of the page", async () => {
    const html = "Content-Type: text/html; charset=utf-8\r\n\r\n<p>The tour</p>";
    for (const blank of [" ", "\u00a0\r\n\u200b"]) {
      const plain = `Content-Type: text/plain; charset=utf-8\r\n\r\n${blank}\r\n`;
      const message = mail(plain, html).replace("mixed", "alternative");
      expect(await textOf(message, "a.eml")).toBe("S\nThe tour");
    }
  });

  test("have body and names of attachments of a winmail.dat, in each of its forms", async () => {
    const [wide, html] = [Buffer.from("Grüße\0", "utf16le"), Buffer.from("<p>From a page</p>")];
    const long = property(0x001f, 0x3707, Buffer.from("long name.txt\0", "utf16le"));
    const file = tnef(
      attribute(0x0006_9003, properties(property(0x001f, 0x1000, wide))),
      attribute(0x0006_9002, Buffer.alloc(14)),
      attribute(0x0001_8010, Buffer.from("LONGNA~1.TXT\0")),
      attribute(0x0006_9005, properties(long)),
    );
    expect(await textOf(file, "winmail.dat")).toBe("Grüße\n\nlong name.txt".replace("\n\n", "\n"));
    const attached = `Content-Type: application/ms-tnef; name=winmail.dat\r\nContent-Transfer-Encoding: base64\r\n\r\n${tnef(
      attribute(0x0006_9003, properties(property(0x0102, 0x1013, html))),
    ).toString("base64")}`;
    expect(await textOf(mail(attached), "a.eml")).toContain("From a page");
    const rtf = Buffer.from("{\\rtf1 From Rich Text}");
    const head = Buffer.alloc(16);
    head.writeUInt32LE(rtf.length + 12, 0);
    head.writeUInt32LE(rtf.length, 4);
    head.write("MELA", 8);
    const rich = property(0x0102, 0x1009, Buffer.concat([head, rtf]));
    expect(await textOf(tnef(attribute(0x0006_9003, properties(rich))), "a")).toBe(
      "From Rich Text",
    );
    // The example of MS-OXRTFCP, 3.1.1.
    const packed = Buffer.from(
      "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0",
      "hex",
    );
    const compressed = property(0x0102, 0x1009, packed);
    expect(await textOf(tnef(attribute(0x0006_9003, properties(compressed))), "a")).toBe(
      "hello world",
    );
    expect(await textOf(file.subarray(0, 30), "cut")).toBe("no_text");
  });

  test("of a saved page are its title and text", async () => {
    const page =
      "From: <Saved by Browser>\r\nSubject: A page\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n" +
      "--b\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<p>Gr=C3=BC=C3=9Fe</p>\r\n" +
      "--b\r\nContent-Type: image/png\r\nContent-Location: x.png\r\n\r\nPNG\r\n--b--\r\n";
    expect(await textOf(page.replace("text/html", "text/html; charset=utf-8"), "a.mht")).toBe(
      "A page\nGrüße",
    );
  });
});

describe("calendars, contacts and JSON", () => {
  test("of a calendar have texts and dates, without time zones and alarms", async () => {
    const calendar = [
      "BEGIN:VCALENDAR",
      "BEGIN:VTIMEZONE",
      "TZID:Europe/Berlin",
      "X-LIC-LOCATION:Berlin",
      "END:VTIMEZONE",
      "BEGIN:VEVENT",
      "UID:1@example.org",
      "SUMMARY:Meeting\\, with ca",
      " ke",
      "DESCRIPTION:One\\nTwo",
      "DTSTART;TZID=Europe/Berlin:20261128T100000",
      'ORGANIZER;CN="Mira, M.":mailto:mira@example.org',
      "END:VEVENT",
      "END:VCALENDAR",
    ].join("\r\n");
    expect(await read(calendar, "a.ics")).toMatchObject({
      contentType: "text/calendar",
      text: "Meeting, with cake\nOne\nTwo\n2026-11-28 10:00\nMira, M. mira@example.org",
    });
  });

  test("of contacts have names and addresses, without pictures", async () => {
    const card = [
      "BEGIN:VCARD",
      "VERSION:2.1",
      "N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Gr=C3=BCn;Jo=",
      "hn;;;",
      "item1.TEL;TYPE=cell:+49 30 1",
      "ADR:;;Lane 7;Town;;123;",
      "PHOTO;ENCODING=BASE64;TYPE=JPEG:AAAA",
      "END:VCARD",
    ].join("\n");
    expect(await textOf(card, "a.vcf")).toBe("Grün John\n+49 30 1\nLane 7 Town 123");
  });

  test("of JSON lines have the characters that were escaped", async () => {
    expect(
      await textOf('{"a":"Gr\\u00fc\\u00dfe\\nund \\"mehr\\" C:\\\\new"}\n{"b":1}\n', "a.jsonl"),
    ).toBe('{"a":"Grüße\nund "mehr" C:\\new"}\n{"b":1}');
  });

  test("of a book have chapters whose names have percent signs", async () => {
    const book = zip({
      mimetype: "application/epub+zip",
      "META-INF/container.xml": `<container><rootfile full-path="book.opf"/></container>`,
      "book.opf":
        `<package><manifest><item id="a" href="100%25.xhtml"/><item id="b" href="50%.xhtml"/></manifest>` +
        `<spine><itemref idref="a"/><itemref idref="b"/></spine></package>`,
      "100%.xhtml": "<p>All of it</p>",
      "50%.xhtml": "<p>Half of it</p>",
    });
    expect(await textOf(book, "a.epub")).toBe("All of it\n\nHalf of it".replace("\n\n", "\n"));
  });
});
