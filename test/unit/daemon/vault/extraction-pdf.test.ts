import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { joinDividedWords } from "../../../../daemon/vault/analysis/extraction/divided-words.ts";
import { extract } from "../../../../daemon/vault/analysis/extraction/extract.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-pdf-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(content: string | Uint8Array, filename = "a.pdf") {
  const path = join(folder, "file");
  await writeFile(path, content);
  return extract({ path, filename, recognizes: false });
}

const textOf = async (content: string | Uint8Array) => {
  const extraction = await read(content);
  return extraction.kind === "text" ? extraction.text : extraction.reason;
};

/** A page with these operators; `more` are members of the page and further objects from number 10 on. */
function pdf(
  operators: string,
  {
    page = "",
    catalog = "",
    font = "/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding",
  } = {},
  objects: readonly string[] = [],
): Buffer {
  return Buffer.from(
    [
      "%PDF-1.7",
      `1 0 obj<</Type/Catalog/Pages 2 0 R${catalog}>>endobj`,
      "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj",
      `3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>${page}>>endobj`,
      `4 0 obj<</Length ${operators.length}>>stream`,
      operators,
      "endstream endobj",
      `5 0 obj<</Type/Font${font}>>endobj`,
      ...objects.map((object, index) => `${index + 10} 0 obj${object}endobj`),
      "trailer<</Root 1 0 R>>",
      "%%EOF",
      "",
    ].join("\n"),
    "latin1",
  );
}

const at = (x: number, y: number, text: string) =>
  `BT /F1 12 Tf 1 0 0 1 ${x} ${y} Tm (${text}) Tj ET`;

describe("fonts with predefined CMaps", () => {
  test.each([
    ["GBK-EUC-H", "GB1", "b5e7b7d1", "电费"],
    ["UniGB-UTF16-V", "GB1", "75358d39", "电费"],
    ["ETen-B5-H", "CNS1", "b971b64f", "電費"],
    ["UniCNS-UCS2-H", "CNS1", "96fb8cbb", "電費"],
    ["EUC-H", "Japan1", "c0c1b5e1bdf1", "請求書"],
    ["UniJIS-UCS2-V", "Japan1", "8acb6c4266f8", "請求書"],
    ["KSCms-UHC-H", "Korea1", "c0fcb1e2", "전기"],
    ["UniKS-UTF16-H", "Korea1", "c804ae30", "전기"],
  ])("are read by %s of Adobe-%s", async (encoding, ordering, codes, expected) => {
    const font = `/Subtype/Type0/BaseFont/F-${encoding}/Encoding/${encoding}/DescendantFonts[10 0 R]`;
    const descendant =
      `<</Type/Font/Subtype/CIDFontType0/BaseFont/F/FontDescriptor 11 0 R/DW 1000` +
      `/CIDSystemInfo<</Registry(Adobe)/Ordering(${ordering})/Supplement 2>>>>`;
    const descriptor =
      "<</Type/FontDescriptor/FontName/F/Flags 6/FontBBox[0 0 1000 880]/Ascent 880/Descent -120>>";
    const page = pdf(`BT /F1 20 Tf 60 760 Td <${codes}> Tj ET`, { font }, [descendant, descriptor]);
    expect((await textOf(page)).replace(/\s/g, "")).toBe(expected);
  });
});

describe("text that was filled in", () => {
  const field = (rest: string) =>
    `<</Type/Annot/Subtype/Widget/Rect[60 700 360 720]/P 3 0 R${rest}>>`;
  const form = (fields: readonly string[], printed = "Application") =>
    textOf(
      pdf(
        at(60, 780, printed),
        {
          page: `/Annots[${fields.map((_, index) => `${index + 10} 0 R`).join(" ")}]`,
          catalog: `/AcroForm<</Fields[${fields.map((_, index) => `${index + 10} 0 R`).join(" ")}]>>`,
        },
        fields,
      ),
    );

  test("has values in UTF-16, of parents and of choices, and no passwords and hidden ones", async () => {
    const parent = "<</FT/Tx/T(street)/V(Lane 7)/Kids[11 0 R]>>";
    const text = await form([
      parent,
      field("/Parent 10 0 R"),
      field("/FT/Tx/T(town)/V<FEFF0141006F006D017C0061>"),
      field("/FT/Ch/T(size)/V(b)/Opt[[(a)(Small hull)][(b)(Large hull)]]"),
      field("/FT/Tx/T(code)/Ff 8192/V(secret)"),
      field("/FT/Tx/T(gone)/F 2/V(invisible)"),
      field("/FT/Btn/T(box)/V/Yes"),
    ]);
    expect(text.split(/\n| (?=L|Ł)/).toSorted()).toEqual([
      "Application",
      "Lane 7",
      "Large hull",
      "Łomża",
    ]);
  });

  test("is taken once if the page shows it, but not for a part of a word", async () => {
    expect(
      await form([field("/FT/Tx/T(a)/V(Mira)"), field("/FT/Tx/T(b)/V(19)")], "Mira 1995"),
    ).toBe("Mira 1995\n19");
  });

  test("stands at its place among the lines of the page", async () => {
    const page = pdf(
      `${at(60, 704, "Name:")} ${at(60, 600, "Signed by hand")}`,
      { page: "/Annots[10 0 R]" },
      ["<</Type/Annot/Subtype/Widget/FT/Tx/T(n)/V(Noor)/Rect[120 700 360 720]>>"],
    );
    expect(await textOf(page)).toBe("Name:\tNoor\nSigned by hand");
  });

  test("has free text and stamps, with and without an appearance, and no hidden ones", async () => {
    const stream = (text: string) => {
      const operators = `BT /F1 12 Tf 2 5 Td (${text}) Tj ET`;
      return `<</Type/XObject/Subtype/Form/BBox[0 0 300 20]/Resources<</Font<</F1 5 0 R>>>>/Length ${operators.length}>>stream\n${operators}\nendstream `;
    };
    const note = (rest: string, y: number) => `<</Type/Annot/Rect[60 ${y} 360 ${y + 20}]${rest}>>`;
    const page = pdf(at(60, 780, "Plan"), { page: "/Annots[10 0 R 11 0 R 12 0 R 13 0 R 16 0 R]" }, [
      note("/Subtype/FreeText/Contents(boiler here)/AP<</N 14 0 R>>", 700),
      note("/Subtype/FreeText/Contents(tap there)", 650),
      note("/Subtype/Stamp/Contents(a remark)/AP<</N 15 0 R>>", 600),
      note("/Subtype/FreeText/F 2/Contents(hidden)", 550),
      stream("boiler here"),
      stream("APPROVED"),
      note("/Subtype/FreeText/RC(<body><p>rich meter</p></body>)", 500),
    ]);
    expect(await textOf(page)).toBe("Plan\nboiler here\ntap there\nAPPROVED\nrich meter");
  });
});

describe("the order of a page", () => {
  test("is from top to bottom and from left to right, whatever was drawn first", async () => {
    const operators = [
      at(150, 700, "dry land"),
      at(60, 640, "last"),
      at(100, 700, "of"),
      at(60, 700, "Parts"),
    ];
    expect(await textOf(pdf(operators.join(" ")))).toBe("Parts of\tdry land\nlast");
  });

  test("reads columns one after the other below a common heading, and tables row by row", async () => {
    const left = [
      "The ferry leaves the island in",
      "the morning and returns when",
      "the tide allows it to land.",
    ];
    const right = [
      "Bicycles travel without a fee,",
      "dogs need a ticket of half the",
      "price, and cats are welcome.",
    ];
    const rows = left.flatMap((text, index) => [
      at(60, 700 - index * 14, text),
      at(320, 700 - index * 14, right[index] ?? ""),
    ]);
    const heading = at(
      60,
      760,
      "A timetable for everyone who wants to cross the water this summer by boat",
    );
    expect(await textOf(pdf([...rows, heading].join(" ")))).toBe(
      [
        "A timetable for everyone who wants to cross the water this summer by boat",
        ...left,
        ...right,
      ].join("\n"),
    );
    const table = [
      ["Rent", "1180"],
      ["Water", "40"],
      ["Heating", "95"],
    ].flatMap(([name = "", price = ""], index) => [
      at(60, 700 - index * 14, name),
      at(320, 700 - index * 14, price),
    ]);
    expect(await textOf(pdf(table.join(" ")))).toBe("Rent\t1180\nWater\t40\nHeating\t95");
    const byColumn = [0, 1].flatMap((column) =>
      ["one", "two", "three"].map((text, index) =>
        at(60 + column * 260, 700 - index * 14, `${text} ${column}`),
      ),
    );
    expect(await textOf(pdf(byColumn.join(" ")))).toBe(
      "one 0\ntwo 0\nthree 0\none 1\ntwo 1\nthree 1",
    );
  });

  test("of a hostile page is found in time, and deep columns end", async () => {
    const cells = Array.from({ length: 9_000 }, (_, index) =>
      at(5 + (index % 3) * 100, 800 - index / 12, `c${index}`),
    );
    const nested = Array.from({ length: 38 }, (_, index) =>
      at(5 + (index >> 1) * 30, 20 + (index & 1) * 5, "deep"),
    );
    const text = await textOf(pdf([...cells, ...nested].join(" ")));
    expect(text.match(/c\d+/g)).toHaveLength(9_000);
    expect(text.match(/deep/g)).toHaveLength(38);
  });

  test("joins words that are divided at the ends of lines, and keeps the hyphens of others", () => {
    expect(joinDividedWords(["The insurance poli-", "cy for a green\u00ad", "house"])).toEqual([
      "The insurance policy for a greenhouse",
    ]);
    expect(joinDividedWords(["a north-", "east wind, a mother-in-", "law"])).toEqual([
      "a north-east wind, a mother-in-law",
    ]);
    expect(joinDividedWords(["a dark-blue boat", "and a dark-", "blue sail"])).toEqual([
      "a dark-blue boat",
      "and a dark-blue sail",
    ]);
    expect(joinDividedWords(["Haus- ", "- a list", "pages 7-", "9"])).toEqual([
      "Haus- ",
      "- a list",
      "pages 7-9",
    ]);
  });
});

describe("bytes before the header of a PDF", () => {
  const page = pdf(at(60, 700, "Receipt for a kayak"));
  const behind = (front: string, back = "") =>
    Buffer.concat([Buffer.from(front, "latin1"), page, Buffer.from(back)]);

  test.each([
    ["headers of HTTP", behind("HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n")],
    [
      "commands of a printer",
      behind("\u001b%-12345X@PJL JOB\r\n@PJL ENTER LANGUAGE=PDF\r\n", "\u001b%-12345X"),
    ],
    ["blank lines", behind("\n\n  \n")],
    ["zeros", behind("\0\0\0\0")],
  ])("are left out: %s", async (_what, content) => {
    expect(await read(content, "receipt")).toEqual({
      kind: "text",
      text: "Receipt for a kayak",
      contentType: "application/pdf",
      missing: undefined,
    });
  });

  test("do not make a PDF of a text about PDF", async () => {
    const lesson = behind("How a file looks:\n\n", "\nThat is all of it.\n");
    expect(await read(lesson, "lesson.txt")).toMatchObject({
      contentType: "text/plain",
      text: expect.stringContaining("That is all of it."),
    });
    expect(await read("It begins with %PDF-1.7 and ends with\n%%EOF\n", "a.txt")).toMatchObject({
      contentType: "text/plain",
    });
  });
});
