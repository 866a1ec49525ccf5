import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { deflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { extract } from "../../../../daemon/vault/analysis/extraction/extract.ts";
import { extractPdf } from "../../../../daemon/vault/analysis/extraction/pdf.ts";
import { openPdf } from "../../../../daemon/vault/analysis/extraction/pdf-js.ts";
import { drawScannedPage } from "../../../../daemon/vault/analysis/extraction/scanned-page.ts";
import { createTextSink } from "../../../../daemon/vault/analysis/extraction/text-sink.ts";
import { PostponedJobError } from "../../../../daemon/jobs/job-kind.ts";
import { createProcessorShares } from "../../../../daemon/jobs/processor-shares.ts";
import { createTextExtractor } from "../../../../daemon/vault/analysis/text-extractor.ts";
import { PDF } from "../../../support/real-files.ts";
import { jbig2 } from "../../../support/jbig2.ts";
import {
  type Bitmap,
  png,
  receipt,
  receiptJpeg2000,
  scannedPdf,
  tiff,
} from "../../../support/scans.ts";
import { toAccountId } from "../../../../storage/tables/vault/ids.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-recognition-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function recognize(content: Uint8Array) {
  const path = join(folder, "file");
  await writeFile(path, content);
  return extract({ path, filename: "file", recognizes: true });
}

const unreadable = (reason: string) => ({ kind: "unreadable", reason });

describe("recognition of pictures", () => {
  test("reads the print of a picture", async () => {
    expect(await recognize(png(receipt))).toMatchObject({ text: "Rent receipt March" });
  });

  test("finds no text in a picture without any", async () => {
    const white = { ...receipt, rows: Buffer.alloc(receipt.rows.length, 255) };
    expect(await recognize(png(white))).toMatchObject(unreadable("no_text"));
  });

  test("reports a picture that ends early as damaged", async () => {
    const whole = png(receipt);
    expect(await recognize(whole.subarray(0, whole.length - 200))).toMatchObject(
      unreadable("damaged"),
    );
    expect(await recognize(whole.subarray(0, 12))).toMatchObject({ kind: "unreadable" });
  });

  test("refuses a picture of too many pixels before it is decoded", async () => {
    const bomb = png({ width: 100_000, height: 100_000, rows: Buffer.alloc(12_500) });
    expect(await recognize(bomb)).toMatchObject(unreadable("too_large"));
  });
});

describe("recognition of a TIFF file", () => {
  const page = { picture: receipt };
  const white = { picture: { ...receipt, rows: Buffer.alloc(receipt.rows.length, 255) } };

  test.each(["II", "MM"] as const)(
    "reads every page in order %s, without thumbnails",
    async (order) => {
      const file = tiff([page, { ...page, isThumbnail: true }, white, page], order);
      expect(await recognize(file)).toMatchObject({
        text: "Rent receipt March\nRent receipt March",
        contentType: "image/tiff",
        missing: undefined,
      });
    },
  );

  test("reports that pages after the twentieth are missing", async () => {
    const dot = { picture: { width: 8, height: 8, rows: Buffer.alloc(8, 255) } };
    const pages = (count: number) => [page, ...Array.from({ length: count - 1 }, () => dot)];
    expect(await recognize(tiff(pages(20)))).toMatchObject({ missing: undefined });
    expect(await recognize(tiff(pages(21)))).toMatchObject({ missing: "too_large" });
  });

  test("keeps the text of the pages before a damaged one", async () => {
    const file = tiff([page, page]);
    // Within the strip of the second page: the file ends before its directory.
    expect(await recognize(file.subarray(0, file.length - 400))).toMatchObject({
      text: "Rent receipt March",
      missing: "damaged",
    });
  });

  test("reports that a page of too many pixels is missing", async () => {
    const bomb = { picture: { width: 100_000, height: 100_000, rows: Buffer.alloc(8) } };
    expect(await recognize(tiff([page, bomb]))).toMatchObject({
      text: "Rent receipt March",
      missing: "too_large",
    });
  });

  test("ends at directories that form a loop", async () => {
    const file = tiff([page, page]);
    file.writeUInt32LE(8 + receipt.rows.length, file.length - 4);
    expect(await recognize(file)).toMatchObject({
      text: "Rent receipt March\nRent receipt March",
    });
  });
});

describe("recognition of scanned pages", () => {
  test("reads the print of a scanned page", async () => {
    expect(await recognize(scannedPdf(receipt))).toEqual({
      kind: "text",
      text: "Rent receipt March",
      contentType: "application/pdf",
      missing: undefined,
    });
  });

  test("reads a stencil, and a page that was scanned sideways and is shown upright", async () => {
    const { width, height } = receipt;
    expect(await recognize(scannedPdf(receipt, { isMask: true }))).toMatchObject({
      text: "Rent receipt March",
    });
    const sideways = scannedPdf(receipt, { matrix: [0, width, -height, 0, height, 0], rotate: 90 });
    expect(await recognize(sideways)).toMatchObject({ text: "Rent receipt March" });
  });

  test("leaves out pages after the twentieth scanned one", async () => {
    const white: Bitmap = { width: 8, height: 8, rows: Buffer.alloc(8, 255) };
    const path = join(folder, "pages");
    await writeFile(path, scannedPdf(white, { pages: 20 }));
    expect(await extractPdf(path, createTextSink(), true)).toBe(undefined);
    await writeFile(path, scannedPdf(white, { pages: 21 }));
    expect(await extractPdf(path, createTextSink(), true)).toBe("too_large");
  });

  test("reports a page whose picture has too many pixels as too large, not as one without text", async () => {
    const bomb = { width: 8_000, height: 8_000, rows: Buffer.alloc(8) };
    const path = join(folder, "huge");
    await writeFile(path, scannedPdf(bomb));
    for (const recognizes of [false, true])
      expect(await extract({ path, filename: "scan.pdf", recognizes })).toMatchObject(
        unreadable("too_large"),
      );
    await writeFile(path, Buffer.concat([PDF, Buffer.from("<< /Width 9 /Height 900000000 >>")]));
    expect(await extractPdf(path, createTextSink(), false)).toBe(undefined);
  });

  test("reads scans of offices, whose pictures are in JBIG2 or JPEG 2000", async () => {
    const scans = [
      scannedPdf({ ...receipt, rows: jbig2(receipt) }, { encoding: "/Filter/JBIG2Decode" }),
      scannedPdf({ ...receipt, rows: receiptJpeg2000 }, { encoding: "/Filter/JPXDecode" }),
    ];
    for (const scan of scans)
      expect(await recognize(scan)).toMatchObject({
        text: "Rent receipt March",
        missing: undefined,
      });
  });

  test.each(["JBIG2Decode", "JPXDecode"])(
    "reports that a scan whose pictures are broken %s is damaged",
    async (filter) => {
      const scan = { width: 8, height: 8, rows: Buffer.from("no such picture") };
      const encoding = `/Filter/${filter}`;
      expect(await recognize(scannedPdf(scan, { encoding }))).toMatchObject(unreadable("damaged"));
    },
  );

  test("keeps the text of a page that has text", async () => {
    expect(await recognize(PDF)).toMatchObject({ text: "Hello from croft", missing: undefined });
  });
});

describe("drawing of a scanned page", () => {
  /** An L of three by three pixels in the first byte of each row. */
  const letter: Bitmap = { width: 3, height: 3, rows: Uint8Array.of(0b01111111, 0b01111111, 0) };

  async function draw(pdf: Uint8Array): Promise<string[]> {
    await using document = await openPdf(pdf);
    const drawn = await drawScannedPage(await document.openPage(1));
    if (drawn === "undecodable") return [drawn];
    const [, columns = "", pixels = ""] =
      /^P5 (\d+) \d+ 255\n(.*)$/s.exec(Buffer.from(drawn ?? []).toString("latin1")) ?? [];
    const dots = pixels.replaceAll("\u0000", "#").replaceAll("\u00ff", ".");
    return dots.match(new RegExp(`.{${columns}}`, "gs")) ?? [];
  }

  test("draws an image as it lies on the page", async () => {
    expect(await draw(scannedPdf(letter))).toEqual(["#..", "#..", "###"]);
  });

  test("draws an image that is turned on the page, or with it", async () => {
    expect(await draw(scannedPdf(letter, { rotate: 90 }))).toEqual(["###", "#..", "#.."]);
    expect(await draw(scannedPdf(letter, { matrix: [0, 3, -3, 0, 3, 0] }))).toEqual([
      "..#",
      "..#",
      "###",
    ]);
    expect(await draw(scannedPdf(letter, { matrix: [3, 0, 0, -3, 0, 3] }))).toEqual([
      "###",
      "#..",
      "#..",
    ]);
  });

  test("draws a fax (CCITT group 4)", async () => {
    // Four white and four black pixels by their run lengths, then a row without a change (ITU-T T.6).
    const bits = `0011011011${"11"}${"000000000001".repeat(2)}`.padEnd(40, "0");
    const rows = Buffer.from(bits.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? []);
    const encoding = "/Filter/CCITTFaxDecode/DecodeParms<</K -1/Columns 8/Rows 2>>";
    expect(await draw(scannedPdf({ width: 8, height: 2, rows }, { encoding }))).toEqual([
      "....####",
      "....####",
    ]);
  });

  test("paints the zero bits of a stencil", async () => {
    expect(await draw(scannedPdf(letter, { isMask: true }))).toEqual(["#..", "#..", "###"]);
  });
});

describe("text extractor", () => {
  async function extractWith(recognizesText: boolean, content: Uint8Array) {
    const extractor = createTextExtractor({
      tmp: folder,
      newId: () => "one",
      program: [process.execPath],
      recognizesText,
      clock: Date.now,
    });
    try {
      return await extractor.extract({
        content: Readable.from([content]),
        filename: "scan",
        userId: toAccountId("ann"),
        signal: new AbortController().signal,
      });
    } finally {
      await extractor.close();
    }
  }

  test("reports for pictures and scans that recognition is off", async () => {
    expect(await extractWith(false, png(receipt))).toEqual({
      ...unreadable("ocr_off"),
      contentType: "image/png",
    });
    expect(await extractWith(false, scannedPdf(receipt))).toMatchObject(unreadable("ocr_off"));
  });

  test("recognizes the text of a scan in its thread when recognition is on", async () => {
    expect(await extractWith(true, scannedPdf(receipt))).toMatchObject({
      text: "Rent receipt March",
    });
  });

  /** The picture in JPEG 2000 that declares another size (ITU-T T.800, A.5.1). */
  function oversizedJpeg2000(side: number): Buffer {
    const bytes = Buffer.from(receiptJpeg2000);
    const size = bytes.indexOf(Buffer.from([0xff, 0x51]));
    for (const offset of [6, 10, 22, 26]) bytes.writeUInt32BE(side, size + offset);
    return bytes;
  }

  test("hostile pictures and streams in a PDF cost their process no more than its bounds", async () => {
    const jbig2Bomb = jbig2(receipt, { width: 0xffffffff, height: 0xffffffff });
    const scan = (rows: Uint8Array, filter: string) =>
      extractWith(true, scannedPdf({ ...receipt, rows }, { encoding: `/Filter/${filter}` }));
    expect(await scan(jbig2Bomb, "JBIG2Decode")).toMatchObject(unreadable("damaged"));
    expect(await scan(oversizedJpeg2000(60_000), "JPXDecode")).toMatchObject(unreadable("damaged"));
    const bomb = deflateSync(deflateSync(Buffer.alloc(400_000_000, 32), { level: 1 }));
    const stream = { width: 1, height: 1, rows: bomb };
    const twice = "/Filter[/FlateDecode/FlateDecode]";
    expect(await extractWith(true, scannedPdf(stream, { encoding: twice }))).toMatchObject({
      kind: "unreadable",
    });
  });

  test("a document is read while six scans of another user are recognized or wait for it", async () => {
    let files = 0;
    const extractor = createTextExtractor({
      tmp: folder,
      newId: () => `turn-${(files += 1)}`,
      program: [process.execPath],
      recognizesText: true,
      clock: Date.now,
    });
    const ended: string[] = [];
    const read = async (user: string, content: Uint8Array) => {
      const { signal } = new AbortController();
      const file = { content: Readable.from([content]), filename: "file", signal };
      const extraction = await extractor.extract({ ...file, userId: toAccountId(user) });
      ended.push(user);
      return extraction;
    };
    try {
      const scan = scannedPdf(receipt, { pages: 6 });
      const scans = Promise.allSettled(Array.from({ length: 6 }, () => read("ann", scan)));
      const text = await read("bob", Buffer.from("A letter to read."));
      expect(text).toMatchObject({ kind: "text", text: "A letter to read." });
      expect(ended).toEqual(["bob"]);
      await extractor.close();
      await scans;
    } finally {
      await extractor.close();
    }
  });

  test("a scan is postponed while another one of its owner is recognized, and beyond the share of its owner", async () => {
    let files = 0;
    const now = 1_000_000;
    const clock = () => now;
    const shares = createProcessorShares({ clock, shareMs: 1, periodMs: 60_000 });
    const extractor = createTextExtractor({
      tmp: folder,
      newId: () => `share-${(files += 1)}`,
      program: [process.execPath],
      recognizesText: true,
      clock,
      shares,
    });
    const read = (user: string) =>
      extractor.extract({
        content: Readable.from([png(receipt)]),
        filename: "scan",
        userId: toAccountId(user),
        signal: new AbortController().signal,
      });
    const waitOf = (reading: Promise<unknown>) =>
      reading.then(
        () => 0,
        (error: unknown) => (error instanceof PostponedJobError ? error.waitMs : Number.NaN),
      );
    try {
      const waits = await Promise.all([read("ann"), read("ann"), read("ann")].map(waitOf));
      // One is recognized; the others take turns of their own.
      expect(waits.toSorted((one, other) => one - other)).toEqual([0, 5_000, 10_000]);
      // What the first one took is more than the share.
      expect(await waitOf(read("ann"))).toBeGreaterThan(60_000);
      expect(await waitOf(read("bob"))).toBe(0);
    } finally {
      await extractor.close();
    }
  });
});
