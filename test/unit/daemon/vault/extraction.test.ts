import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { extract } from "../../../../daemon/vault/analysis/extraction/extract.ts";
import { extractPdf } from "../../../../daemon/vault/analysis/extraction/pdf.ts";
import { createTextSink } from "../../../../daemon/vault/analysis/extraction/text-sink.ts";
import { FULL_PAGE, pdfOf, PICTURE_PAGE, textPage } from "../../../support/real-files.ts";
import { docx, zip } from "../../../support/zip.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-extract-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(content: string | Uint8Array, filename: string) {
  const path = join(folder, "file");
  await writeFile(path, content);
  return extract({ path, filename, recognizes: false });
}

const unreadable = (reason: string) => ({ kind: "unreadable", reason });
const paragraph = (text: string) =>
  `<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>${text}</w:t></w:r></w:p></w:body></w:document>`;

describe("text of readable files", () => {
  test("reads the paragraphs of a Word document", async () => {
    expect(await read(docx(paragraph("Grüße aus Köln")), "a.docx")).toMatchObject({
      kind: "text",
      text: "Grüße aus Köln",
    });
  });

  test("recognizes a Word document by its bytes, not by its name", async () => {
    expect(await read(docx(paragraph("hidden in plain sight")), "a.txt")).toMatchObject({
      text: "hidden in plain sight",
    });
  });

  test("reads text in UTF-8, UTF-16 and Windows-1252, without control characters", async () => {
    expect(await read(`a\u0007b${" word".repeat(30)}`, "a.txt")).toMatchObject({
      text: `a b${" word".repeat(30)}`,
    });
    const utf16 = Buffer.from("\ufeffGröße", "utf16le");
    expect(await read(utf16, "a.txt")).toMatchObject({ text: "Größe" });
    expect(await read(Buffer.from("Gr\xf6\xdfe", "latin1"), "a.txt")).toMatchObject({
      text: "Größe",
    });
  });

  test("reads the visible text of HTML and no script", async () => {
    const html = "<!doctype html><title>T</title><script>evil()</script><p>One<p>Two";
    expect(await read(html, "page")).toMatchObject({
      text: "T\n\nOne\n\nTwo".replace(/\n\n/g, "\n"),
    });
  });

  test("reads subject, addresses and body of a mail, and only names of attachments", async () => {
    const mail = [
      "From: Mira <mira@example.org>",
      "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=",
      "MIME-Version: 1.0",
      'Content-Type: multipart/mixed; boundary="x"',
      "",
      "--x",
      "Content-Type: text/plain",
      "",
      "The body",
      "--x",
      'Content-Type: application/pdf; name="bill.pdf"',
      'Content-Disposition: attachment; filename="bill.pdf"',
      "",
      "%PDF-1.7 secret",
      "--x--",
    ].join("\r\n");
    const outcome = await read(mail, "a.eml");
    expect(outcome).toMatchObject({ kind: "text" });
    const { text } = outcome as { text: string };
    expect(text).toContain("Grüße");
    expect(text).toContain("The body");
    expect(text).toContain("bill.pdf");
    expect(text).not.toContain("secret");
  });
});

describe("files without a text have a reason", () => {
  test.each([
    ["an empty file", "", "a.txt", "no_text"],
    ["a file of spaces", "  \n ", "a.txt", "no_text"],
    ["a picture", Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"), "a.txt", "ocr_off"],
    [
      "random bytes",
      Buffer.from(Array.from({ length: 512 }, (_, i) => (i * 7919) % 256)),
      "a",
      "unsupported_format",
    ],
    ["a cut PDF", "%PDF-1.7\n1 0 obj\n<< /Type /Cat", "a.pdf", "damaged"],
    ["a cut Word document", docx(paragraph("text")).subarray(0, 300), "a.docx", "damaged"],
    ["broken XML", docx("<w:document xmlns:w='w'><w:p>"), "a.docx", "damaged"],
    ["a ZIP file of anything", zip({ "a.txt": "x" }), "a.zip", "unsupported_format"],
  ] as const)("states why a file has no text: %s", async (_name, content, filename, reason) => {
    expect(await read(content, filename)).toMatchObject(unreadable(reason));
  });
});

describe("hostile files", () => {
  test("an archive bomb is refused before it is unpacked", async () => {
    const bomb = docx(paragraph("0".repeat(64 * 1024 * 1024)));
    expect(bomb.length).toBeLessThan(200_000);
    expect(await read(bomb, "a.docx")).toMatchObject(unreadable("too_complex"));
  });

  test("an entry that is larger than its header declares is refused", async () => {
    const lying = docx({ content: paragraph("0".repeat(8 * 1024 * 1024)), size: 1_000 });
    expect(await read(lying, "a.docx")).toMatchObject(unreadable("damaged"));
  });

  test("declared XML entities are refused and never expanded", async () => {
    const laughs = `<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>${paragraph("&b;")}`;
    expect(await read(docx(laughs), "a.docx")).toMatchObject(unreadable("too_complex"));
    const external = `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>${paragraph("&a;")}`;
    expect(await read(docx(external), "a.docx")).toMatchObject(unreadable("too_complex"));
  });

  test("elements that nest too deep are refused", async () => {
    const deep = "<a>".repeat(10_000) + "</a>".repeat(10_000);
    expect(await read(docx(deep), "a.docx")).toMatchObject(unreadable("too_complex"));
  });

  test("an archive of too many entries is refused", async () => {
    const entries = Object.fromEntries(
      Array.from({ length: 10_001 }, (_, index) => [`word/${index}.xml`, ""]),
    );
    const many = zip({
      "[Content_Types].xml": "x",
      "word/document.xml": paragraph("x"),
      ...entries,
    });
    expect(await read(many, "a.docx")).toMatchObject({ kind: "unreadable" });
  });

  test("text beyond the limit is cut, and the outcome reports it", async () => {
    const outcome = await read("word ".repeat(300_000), "a.txt");
    expect((outcome as { text: string }).text.length).toBeLessThanOrEqual(1_000_000);
    expect(outcome).toMatchObject({ missing: "too_large" });
    const cut = await read(docx(paragraph("word ".repeat(300_000))), "a.docx");
    expect(cut).toMatchObject({ missing: "too_large" });
    expect(await read(`${"w".repeat(1_000_000)} \n`, "a.txt")).toMatchObject({
      missing: undefined,
    });
    const page = `<!doctype html><p>text<script>${"x".repeat(17 * 1024 * 1024)}</script>`;
    expect(await read(page, "a.html")).toMatchObject({ text: "text", missing: "too_large" });
  });
});

describe("pages of a PDF", () => {
  test("are read to the last one", async () => {
    const pages = Array.from({ length: 5_500 }, (_, index) => textPage(`page ${index + 1}`));
    const outcome = await read(pdfOf(pages), "a.pdf");
    expect(outcome).toMatchObject({ kind: "text", missing: undefined });
    expect((outcome as { text: string }).text.split("\n").at(-1)).toBe("page 5500");
  });

  test("beyond the limit of characters are missing, and the outcome reports it", async () => {
    const pages = Array.from({ length: 11 }, () => FULL_PAGE);
    expect(await read(pdfOf(pages), "a.pdf")).toMatchObject({ missing: "too_large" });
  });

  test("beyond the time are missing, and the text of the pages before them is kept", async () => {
    const path = join(folder, "file");
    await writeFile(path, pdfOf([textPage("first"), textPage("second")]));
    const sink = createTextSink();
    const clock = [0, 0, 46_000];
    expect(await extractPdf(path, sink, false, () => clock.shift() ?? 46_000)).toBe("timed_out");
    expect(sink.text()).toBe("first");
  });

  test("that cannot be read are missing, and the text of the others is kept", async () => {
    const whole = pdfOf(["one", "two", "three"].map(textPage)).toString("latin1");
    const outcome = await read(Buffer.from(whole.replace("7 0 R", "99 0 R"), "latin1"), "a.pdf");
    expect(outcome).toMatchObject({ kind: "text", missing: "damaged" });
    expect((outcome as { text: string }).text).toMatch(/^one/);
  });

  test("in a tree that contains itself are read once", async () => {
    const whole = pdfOf(["one", "two"].map(textPage)).toString("latin1");
    const loop = whole.replace("/Kids[5 0 R 7 0 R]", "/Kids[5 0 R 7 0 R 4 0 R 2 0 R]");
    expect(loop).not.toBe(whole);
    expect(await read(Buffer.from(loop, "latin1"), "a.pdf")).toMatchObject({ text: "one\ntwo" });
  });

  test("that were scanned are missing, blank ones are not", async () => {
    const text = textPage("text");
    expect(await read(pdfOf([text, "", text]), "a.pdf")).toMatchObject({
      text: "text\ntext",
      missing: undefined,
    });
    expect(await read(pdfOf([text, PICTURE_PAGE]), "a.pdf")).toMatchObject({
      text: "text",
      missing: "ocr_off",
    });
    expect(await read(pdfOf([""]), "a.pdf")).toMatchObject(unreadable("no_text"));
    expect(await read(pdfOf(["", PICTURE_PAGE]), "a.pdf")).toMatchObject(unreadable("ocr_off"));
  });
});
