import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { extract } from "../../../../daemon/vault/analysis/extraction/extract.ts";

// Files as Word, LibreOffice 7.4, pandoc 2.17 and WordPad write them, cut down to what matters.

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-rtf-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(content: string | Uint8Array, filename = "a.rtf") {
  const path = join(folder, "file");
  await writeFile(path, typeof content === "string" ? Buffer.from(content, "latin1") : content);
  return extract({ path, filename, recognizes: false });
}

async function textOf(content: string | Uint8Array): Promise<string> {
  const outcome = await read(content);
  if (outcome.kind !== "text") throw new Error(outcome.reason);
  expect(outcome).toMatchObject({ contentType: "application/rtf", missing: undefined });
  return outcome.text;
}

describe("text of a Rich Text file", () => {
  test("is that of paragraphs, cells and typographic characters", async () => {
    const rtf =
      String.raw`{\rtf1\ansi\ansicpg1252\deff0 Invoice\par One\tab two\line \ldblquote three\rdblquote` +
      String.raw`\endash\'e4\~5\_6 soft\-hyphen \{braces\} \\\par\trowd a\cell b\cell\row}`;
    expect(await textOf(rtf)).toBe("Invoice\nOne\ttwo\n“three”–ä 5‑6 softhyphen {braces} \\\na\tb");
  });

  test("has nothing for control words that it does not know, also by the names of members of objects", async () => {
    expect(await textOf(String.raw`{\rtf1 a\constructor b\toString c\valueOf d\odd e}`)).toBe(
      "abcde",
    );
  });

  test("is Unicode where the file has it, without the characters for old readers", async () => {
    expect(
      await textOf(String.raw`{\rtf1 \u1052?\u1080\'3f\u1088 {\uc2\u26085\'93\'fa\u26412{}ab}}`),
    ).toBe("Мир日本ab");
    expect(await textOf(String.raw`{\rtf1\uc0 party \u55356\u57225  done\u-10179\u-8704}`)).toBe(
      "party 🎉 done😀",
    );
    expect(await textOf(String.raw`{\rtf1 lone \u-10179? half}`)).toBe("lone \ufffd half");
  });

  test("is decoded by the font's character set, then by the file's code page", async () => {
    const fonts = String.raw`{\fonttbl{\f0\fnil Arial;}{\f1\fcharset204 Arial Cyr;}{\f2\fcharset128 MS Mincho;}}`;
    expect(
      await textOf(
        String.raw`{\rtf1\ansi\ansicpg1250\deff0${fonts}\'e8{\f1\'cc\'e8\'f0} {\f2\'93\'fa\'83e}\'e8}`,
      ),
    ).toBe("čМир 日テč");
    expect(await textOf(String.raw`{\rtf1\ansi\ansicpg1251 ` + "\xcc\xe8\xf0}")).toBe("Мир");
    expect(await textOf(String.raw`{\rtf1\ansi\ansicpg99999 \'e4}`)).toBe("ä");
  });

  test("has notes, comments, headers, text boxes and results of fields", async () => {
    const rtf =
      String.raw`{\rtf1{\header Acme Ltd\par}Price{\super\chftn}{\*\footnote\pard rhubarb} paid` +
      String.raw`{\*\annotation too dear}{\shp{\*\shpinst{\sp{\sn name}{\sv value}}{\shptxt boxed\par}}` +
      String.raw`{\shprslt boxed again}}{\field{\*\fldinst HYPERLINK "http://e.org"}{\fldrslt link}}}`;
    expect((await textOf(rtf)).split(/\s+/)).toEqual([
      ...["Acme", "Ltd", "Price", "rhubarb", "paid", "too", "dear", "boxed", "link"],
    ]);
  });

  test("has no style names, pictures, objects, hidden or deleted characters", async () => {
    const rtf =
      String.raw`{\rtf1{\fonttbl{\f0 Arial;}}{\colortbl;\red0;}{\stylesheet{\s1 Heading;}}{\info{\author Mira}}` +
      String.raw`{\*\generator Writer;}{\pict\pngblip 89504e47}{\*\unknown secret}{\v hidden}{\deleted gone}` +
      String.raw`{\v one\v0 two\v three\plain four}}`;
    expect(await textOf(rtf)).toBe("twofour");
  });

  test("continues after raw bytes that look like syntax", async () => {
    expect(await textOf(String.raw`{\rtf1 a{\pict\bin6 }}}{\\}b}`)).toBe("ab");
    expect(await textOf(String.raw`{\rtf1 a} {\rtf1 b`)).toBe("a");
  });
});

describe("hostile and broken Rich Text files", () => {
  test("a file that was cut off keeps its text and is reported as damaged", async () => {
    expect(await read(String.raw`{\rtf1 one\par two{\b thr`)).toMatchObject({
      kind: "text",
      text: "one\ntwothr",
      missing: "damaged",
    });
    for (const cut of [
      String.raw`{\rtf1`,
      String.raw`{\rtf1 \'`,
      String.raw`{\rtf1 \u`,
      String.raw`{\rtf1{\pict\bin99999999999999999999 x`,
    ])
      expect(await read(cut)).toMatchObject({ kind: "unreadable", reason: "damaged" });
  });

  test("groups that nest too deep end the text", async () => {
    expect(
      await read(`{\\rtf1 text${"{".repeat(100_000)}deep${"}".repeat(100_001)}`),
    ).toMatchObject({
      text: "text",
      missing: "too_complex",
    });
  });

  test("more closing braces than opening ones end the document", async () => {
    expect(await textOf(`{\\rtf1 text${"}".repeat(100_000)}more`)).toBe("text");
  });

  test("control words of any length and number are read once", async () => {
    const long = `\\${"a".repeat(1_000_000)}${"9".repeat(1_000_000)} `;
    expect(await textOf(`{\\rtf1${long}\\u99999999999999999999?\\f-5\\uc-3\\ucx text}`)).toContain(
      "text",
    );
  });

  test("text beyond the limit is cut, and the outcome reports it", async () => {
    expect(await read(`{\\rtf1 ${"word ".repeat(300_000)}}`)).toMatchObject({
      kind: "text",
      missing: "too_large",
    });
  });
});

describe("old Office files", () => {
  const compound = (stream: string) => {
    const file = Buffer.alloc(1_536);
    file.set([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);
    file.writeUInt16LE(9, 30);
    file.writeUInt32LE(1, 48);
    file.write("Root Entry", 1_024, "utf16le");
    file.write(stream, 1_152, "utf16le");
    return file;
  };

  test.each([
    ["WordDocument", "legacy_format"],
    ["Workbook", "legacy_format"],
    ["PowerPoint Document", "legacy_format"],
    ["EncryptedPackage", "encrypted"],
    ["Catalog", "unsupported_format"],
  ])("a compound file with the stream %s is %s", async (stream, reason) => {
    expect(await read(compound(stream), "a.doc")).toMatchObject({ kind: "unreadable", reason });
  });

  test("a compound file that ends in its header is damaged", async () => {
    expect(await read(compound("Workbook").subarray(0, 100))).toEqual({
      kind: "unreadable",
      reason: "damaged",
    });
  });
});
