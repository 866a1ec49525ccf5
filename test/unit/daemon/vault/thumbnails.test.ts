import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { crc32, deflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { VaultCaller } from "../../../../daemon/vault/caller.ts";
import { type Bitmap, turn } from "../../../../daemon/vault/thumbnails/drawing/bitmap.ts";
import { draw } from "../../../../daemon/vault/thumbnails/drawing/draw.ts";
import { drawPicture } from "../../../../daemon/vault/thumbnails/drawing/picture.ts";
import { writePng } from "../../../../daemon/vault/thumbnails/drawing/png.ts";
import type { Drawing } from "../../../../daemon/vault/thumbnails/drawing/draw.ts";
import { createThumbnails } from "../../../../daemon/vault/thumbnails/thumbnails.service.ts";
import type { ObjectStore } from "../../../../storage/objects/object-store.ts";
import {
  findDocument,
  insertDocument,
} from "../../../../storage/tables/vault/documents/documents.ts";
import { toAccountId, toDocumentId } from "../../../../storage/tables/vault/ids.ts";
import { insertVaultUser } from "../../../../storage/tables/vault/users.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";
import { PDF } from "../../../support/real-files.ts";
import { png as bitPng, receipt } from "../../../support/scans.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-thumbnails-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function drawFile(content: Uint8Array) {
  const path = join(folder, "file");
  await writeFile(path, content);
  return draw({ path });
}

/** Draws a file, and reads what was drawn. */
async function drawn(content: Uint8Array): Promise<Bitmap> {
  const drawing = await drawFile(content);
  if (drawing.kind !== "drawn") throw new Error(drawing.reason);
  return drawPicture(drawing.png, Infinity);
}

const colorAt = ({ width, data }: Bitmap, x: number, y: number): string =>
  Buffer.from(data.subarray((y * width + x) * 3, (y * width + x) * 3 + 3)).toString("hex");

/** Makes a PNG file of any type; `rows` have their filter bytes. */
function png(
  { width, height, type, bits = 8 }: { width: number; height: number; type: number; bits?: number },
  rows: Buffer,
  ...more: readonly (readonly [string, Buffer])[]
): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([bits, type], 8);
  const chunks = [
    ["IHDR", header],
    ...more,
    ["IDAT", deflateSync(rows)],
    ["IEND", Buffer.alloc(0)],
  ];
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    ...(chunks as [string, Buffer][]).flatMap(([name, content]) => {
      const body = Buffer.concat([Buffer.from(name), content]);
      const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
      length.writeUInt32BE(content.length);
      sum.writeUInt32BE(crc32(body));
      return [length, body, sum];
    }),
  ]);
}

const row = (hex: string, times = 1) => Buffer.from(`00${hex.repeat(times)}`, "hex");

describe("a thumbnail of a picture", () => {
  test("has the colors of the picture, at most 288 pixels a side", async () => {
    const width = 1200;
    const data = Buffer.concat(
      Array.from({ length: 300 }, () =>
        Buffer.from("c80000".repeat(width / 2) + "0000c8".repeat(width / 2), "hex"),
      ),
    );
    const small = await drawn(writePng({ width, height: 300, data }));
    expect([small.width, small.height]).toEqual([288, 72]);
    expect([colorAt(small, 0, 0), colorAt(small, 287, 71)]).toEqual(["c80000", "0000c8"]);
  });

  test("keeps small pictures at their size, however thin", async () => {
    const thin = { width: 1, height: 9_000, data: new Uint8Array(27_000).fill(80) };
    expect(await drawn(writePng(thin))).toMatchObject({ width: 1, height: 288 });
    const dot = { width: 1, height: 1, data: Uint8Array.of(8, 16, 24) };
    expect(await drawn(writePng(dot))).toMatchObject(dot);
  });

  test("reads palettes, grays of 1, 8 and 16 bits, and shows transparency on white", async () => {
    const palette = png({ width: 2, height: 1, type: 3 }, row("0001"), [
      "PLTE",
      Buffer.from("6480c8ff0000", "hex"),
    ]);
    const shown = await drawn(palette);
    expect([colorAt(shown, 0, 0), colorAt(shown, 1, 0)]).toEqual(["6480c8", "ff0000"]);
    const gray = await drawn(png({ width: 1, height: 1, type: 0 }, row("40")));
    expect(colorAt(gray, 0, 0)).toBe("404040");
    const deep = await drawn(png({ width: 1, height: 1, type: 0, bits: 16 }, row("40aa")));
    expect(colorAt(deep, 0, 0)).toBe("404040");
    const clear = await drawn(png({ width: 2, height: 1, type: 6 }, row("00000000ff0000ff")));
    expect([colorAt(clear, 0, 0), colorAt(clear, 1, 0)]).toEqual(["ffffff", "ff0000"]);
    const bits = await drawn(bitPng(receipt));
    expect(bits).toMatchObject({ width: 288 });
    expect(colorAt(bits, 0, 0)).toBe("ffffff");
  });

  test.each([
    [1, "abcdef", 2],
    [2, "badcfe", 2],
    [3, "fedcba", 2],
    [4, "efcdab", 2],
    [5, "acebdf", 3],
    [6, "ecafdb", 3],
    [7, "fdbeca", 3],
    [8, "bdface", 3],
  ])("is turned as orientation %i of Exif says", (orientation, expected, width) => {
    const toBitmap = (text: string, columns: number) => ({
      width: columns,
      height: text.length / columns,
      data: Uint8Array.from([...text].flatMap((letter) => Array(3).fill(letter.charCodeAt(0)))),
    });
    // The rows of the file: ab, cd, ef.
    expect(turn(toBitmap("abcdef", 2), orientation)).toEqual(toBitmap(expected, width));
  });
});

describe("a hostile picture", () => {
  test("of too many pixels is refused before it is decoded", async () => {
    const bomb = png({ width: 100_000, height: 100_000, type: 2 }, row("000000"));
    expect(await drawFile(bomb)).toEqual({ kind: "undrawable", reason: "too_large" });
  });

  test("that ends early, has no pixels or is no picture has no thumbnail", async () => {
    const whole = bitPng(receipt);
    const damaged = { kind: "undrawable", reason: "damaged" };
    expect(await drawFile(whole.subarray(0, whole.length - 200))).toEqual(damaged);
    expect(await drawFile(png({ width: 0, height: 0, type: 2 }, row("")))).toEqual(damaged);
    const text = Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>");
    expect(await drawFile(text)).toEqual({ kind: "undrawable", reason: "unsupported_format" });
    expect(await drawFile(Buffer.alloc(0))).toMatchObject({ kind: "undrawable" });
  });

  test("of a GIF shows the first of its pictures, and none for a frame larger than the screen", async () => {
    const frame = "2c00000000010001000002024c0100";
    const head = "47494638396101000100800000ff00000000ff";
    expect(colorAt(await drawn(Buffer.from(`${head}${frame}${frame}3b`, "hex")), 0, 0)).toMatch(
      /^(?:ff0000|0000ff)$/,
    );
    const huge = "2c00000000ffffffff0002024c0100";
    expect(await drawFile(Buffer.from(`${head}${huge}3b`, "hex"))).toEqual({
      kind: "undrawable",
      reason: "damaged",
    });
  });
});

describe("a thumbnail of a PDF file", () => {
  test("shows its first page, turned and sized as a reader does", async () => {
    const page = await drawn(toPdf("1 0 0 rg 0 0 300 200 re f", "/MediaBox [0 0 600 400]"));
    expect([page.width, page.height]).toEqual([288, 192]);
    // The origin of a page is its lower left corner.
    expect([colorAt(page, 2, 190), colorAt(page, 2, 2)]).toEqual(["ff0000", "ffffff"]);
    const turned = await drawn(
      toPdf("1 0 0 rg 0 0 300 200 re f", "/MediaBox [0 0 600 400] /Rotate 90"),
    );
    expect([turned.width, turned.height]).toEqual([192, 288]);
    expect([colorAt(turned, 2, 2), colorAt(turned, 190, 286)]).toEqual(["ff0000", "ffffff"]);
    expect((await drawn(PDF)).width).toBeGreaterThan(100);
  });

  test("that ends early, is huge or empty, or names itself does not end the process", async () => {
    const whole = toPdf("q", "/MediaBox [0 0 1000000000 1000000000]");
    expect(await drawFile(whole)).toMatchObject({ kind: "drawn" });
    expect(await drawFile(toPdf("q", "/MediaBox [0 0 0 0]"))).toMatchObject({});
    const damaged = { kind: "undrawable", reason: "damaged" };
    expect(await drawFile(Buffer.from("%PDF-1.7\nnothing"))).toEqual(damaged);
    const loop = toPdf("/X Do", "/Resources << /XObject << /X 4 0 R >> >>", "/Subtype /Form");
    expect(await drawFile(loop)).toMatchObject({ kind: "drawn" });
  });
});

test("of one account few files are read at a time, and of another account one more", async () => {
  const db = await openTestDatabase();
  onTestFinished(() => db.close());
  const ids = await db.transaction(async (tx) => {
    for (const handle of ["mira", "noah"])
      await insertVaultUser(tx, {
        ...{ id: toAccountId(handle), handle, email: `${handle}@example.org` },
        ...{ passwordHash: "", role: "user" as const, passwordMustChange: false },
      });
    const made = [];
    for (const owner of [...Array<string>(9).fill("mira"), "noah"])
      made.push(
        await insertDocument(tx, {
          ...{ id: toDocumentId(crypto.randomUUID()), userId: toAccountId(owner) },
          ...{ filename: "a.png", contentType: "image/png", sizeBytes: 1, sha256: "0".repeat(64) },
          ...{ storageBackend: "internal", connectionId: undefined, providerItemId: undefined },
        }),
      );
    return made.map(({ id }) => id);
  });
  const gate = Promise.withResolvers<void>();
  const all = Promise.withResolvers<void>();
  const read: string[] = [];
  const thumbnails = createThumbnails({
    db,
    store: {} as ObjectStore,
    documents: {
      getReadable: async (_caller, id) => {
        const document = await findDocument(db, id);
        if (document === undefined) throw new Error("no document");
        return document;
      },
      open: async () => ({
        ...{ size: 1, etag: undefined, lastModified: undefined },
        open: async () => Readable.from([]),
      }),
    },
    drawer: {
      async draw(content, caller): Promise<Drawing> {
        content.destroy();
        read.push(caller);
        if (caller === toAccountId("noah")) all.resolve();
        await gate.promise;
        return { kind: "undrawable", reason: "damaged" };
      },
    },
  });
  const caller = { userId: toAccountId("mira") } as VaultCaller;
  const answers = ids.map((id) =>
    thumbnails.get(caller, id).catch((error: unknown) => (error as Error).message),
  );
  await all.promise;
  expect(read.filter((each) => each === "mira").length).toBeLessThanOrEqual(4);
  gate.resolve();
  expect(new Set(await Promise.all(answers))).toEqual(
    new Set(["This document has no thumbnail: the file is damaged."]),
  );
  expect(read).toHaveLength(10);
});

/** A PDF file of one page; `more` is in the dictionary of its content. */
function toPdf(content: string, page: string, more = ""): Buffer {
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    `<< /Type /Page /Parent 2 0 R /Contents 4 0 R ${page} >>`,
    `<< /Length ${content.length} ${more} >>\nstream\n${content}\nendstream`,
  ];
  const body = objects.map((each, at) => `${at + 1} 0 obj\n${each}\nendobj\n`).join("");
  return Buffer.from(`%PDF-1.7\n${body}trailer << /Root 1 0 R /Size 5 >>\n%%EOF\n`);
}
