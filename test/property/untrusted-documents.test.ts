import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { AppError } from "../../daemon/errors.ts";
import { parseAnswer } from "../../daemon/forge/imports/json-answers.ts";
import { RemoteUnusable } from "../../daemon/forge/imports/remotes.ts";
import { parsePointer } from "../../daemon/forge/large-files/pointer.ts";
import { readImageConfig, readManifest } from "../../daemon/forge/packages/containers/manifest.ts";
import { beginsAt } from "../../daemon/forge/packages/containers/uploads.service.ts";
import { createDocumentScanner } from "../../daemon/forge/packages/npm/attachment-scanner.ts";
import { compactNpmDocument } from "../../daemon/forge/packages/npm/compact-document.ts";
import { toPypiMetadata } from "../../daemon/forge/packages/pypi/metadata.ts";
import { readUploadForm } from "../../daemon/forge/packages/pypi/upload-form.ts";
import { parseOwners } from "../../daemon/forge/reviews/code-owners.ts";
import { rangeOf } from "../../daemon/http/bytes.ts";
import { sizeOf } from "../../daemon/vault/analysis/extraction/ocr.ts";
import { Unreadable } from "../../daemon/vault/analysis/extraction/outcome.ts";
import { toSafeName } from "../../daemon/vault/links/receipts.service.ts";
import { containerTypes } from "../../daemon/contract/forge/packages/containers.ts";
import { createGit } from "../../storage/git/git.ts";
import { unquotePath } from "../../storage/git/quoted-path.ts";
import { readSubmodules } from "../../storage/git/submodules.ts";
import type { ObjectStore } from "../../storage/objects/object-store.ts";
import { hostileText } from "../support/fuzz/hostile-values.ts";
import { toPng } from "../support/png.ts";
import { cases } from "../support/property.ts";
import { createStepCounter } from "../support/steps.ts";

// Documents of packages, images, large files and repositories as strangers send them: they are read as they were written, or
// refused in the words of their protocol, in steps that grow with their length.

/** Returns the value, or undefined when it is refused by the given error. Any other error is a defect. */
function readOrRefuse<T>(read: () => T, refusal: new (...args: never[]) => Error): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof refusal) return undefined;
    throw error;
  }
}

const check = <T>(values: fc.Arbitrary<T>, look: (value: T) => void, usual = 300) =>
  fc.assert(
    fc.property(values, (value) => {
      look(value);
    }),
    cases(usual),
  );

/** Texts of a grammar: its own words in any order, and hostile texts between them. */
const wordsOf = (...words: readonly string[]) =>
  fc
    .array(
      fc.oneof(
        { weight: 6, arbitrary: fc.constantFrom(...words) },
        { weight: 1, arbitrary: hostileText },
      ),
      { maxLength: 30 },
    )
    .map((parts) => parts.join(""));

/** JSON values with some of the given names of members. */
const jsonOf = (...names: readonly string[]) =>
  fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.oneof(
        hostileText,
        fc.constantFrom(...names),
        fc.double(),
        fc.boolean(),
        fc.constant(null),
      ),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(fc.oneof(fc.constantFrom(...names), hostileText), tie("value"), { maxKeys: 5 }),
    ),
  })).value;

const sha256 = fc.stringMatching(/^[0-9a-f]{64}$/);
const digest = sha256.map((hex) => `sha256:${hex}`);

test("a pointer of Git LFS is read as it was written, and any other file is none", () => {
  check(fc.tuple(sha256, fc.nat(), fc.boolean()), ([oid, size, isFirst]) => {
    const lines = [`oid sha256:${oid}`, `size ${size}`];
    const text = [
      "version https://git-lfs.github.com/spec/v1",
      ...(isFirst ? lines : lines.reverse()),
    ];
    expect(parsePointer(Buffer.from(`${text.join("\n")}\n`))).toEqual({ oid, size });
  });
  const texts = wordsOf(
    "version https://git-lfs.github.com/spec/v1\n",
    "oid sha256:",
    "a".repeat(64),
    "size ",
    "12",
    "-1",
    "1e3",
    " ",
    "\r\n",
    "\n",
  );
  check(texts, (text) => {
    const found = parsePointer(Buffer.from(text));
    if (found !== undefined) expect([found.oid.length, found.size >= 0]).toEqual([64, true]);
  });
});

test("a manifest of an image is read as it was written, or refused with a reason", () => {
  const descriptor = fc.record({
    mediaType: fc.constantFrom("application/vnd.oci.image.layer.v1.tar", "text/plain"),
    digest,
    size: fc.nat(),
  });
  check(fc.tuple(descriptor, fc.array(descriptor, { maxLength: 5 })), ([config, layers]) => {
    const text = JSON.stringify({ schemaVersion: 2, config, layers });
    const read = readManifest.run({ text, mediaType: containerTypes.image });
    const digests = new Set([config, ...layers].map((each) => each.digest));
    expect(read).toMatchObject({ kind: "manifest", manifest: { blobs: [...digests] } });
  });
  const any = jsonOf(
    ...["schemaVersion", "config", "layers", "manifests", "subject", "annotations", "platform"],
    ...["mediaType", "digest", "size", "os", "architecture", "Labels", "artifactType"],
  );
  const texts = fc.oneof(
    any.map((value) => JSON.stringify(value)),
    any.map((value) => JSON.stringify({ schemaVersion: 2, config: value, layers: [value] })),
    hostileText,
  );
  check(fc.tuple(texts, fc.constantFrom(...Object.values(containerTypes))), ([text, mediaType]) => {
    const read = readManifest.run({ text, mediaType });
    if (read.kind === "invalid") expect(read.reason).not.toBe("");
    else for (const name of read.manifest.blobs) expect(name).toMatch(/^sha\d+:[0-9a-f]+$/);
    readImageConfig.run(text);
  });
});

test("ranges of an upload and of a download lie within the bytes, or are refused", () => {
  const texts = wordsOf(
    "bytes=",
    "bytes ",
    "0",
    "5",
    "12",
    "-",
    ",",
    "/",
    "*",
    "99999999999999999999",
  );
  check(fc.tuple(texts, fc.nat({ max: 20 })), ([text, size]) => {
    readOrRefuse(() => beginsAt(text, size, 5), AppError);
    const range = rangeOf({ method: "GET", headers: { range: text } }, size, {
      etag: undefined,
      lastModified: undefined,
    });
    if (range === undefined || range === "unsatisfiable") return;
    expect(range.start).toBeGreaterThanOrEqual(0);
    expect(range.end).toBeGreaterThanOrEqual(range.start);
    expect(range.end).toBeLessThan(size);
  });
  check(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 1_000 })), ([from, length]) => {
    expect(beginsAt(`${from}-${from + length - 1}`, from, length)).toBe(true);
  });
});

/** A store in memory, which counts the objects that were not discarded. */
function createStore() {
  const kept = new Set<object>();
  const store = {
    async create() {
      const chunks: Buffer[] = [];
      const writer = {
        size: 0,
        async write(bytes: Buffer) {
          chunks.push(Buffer.from(bytes));
          writer.size += bytes.length;
        },
        seal: async () => ({ sha256: Buffer.concat(chunks).toString("base64"), size: writer.size }),
        publish: async () => undefined,
        discard: async () => void kept.delete(writer),
      };
      kept.add(writer);
      return writer;
    },
  } as unknown as ObjectStore;
  return { store, kept };
}

const inPieces = (bytes: Buffer, size: number) =>
  Readable.from(
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    ),
    { objectMode: false },
  );

const headers = { "content-type": "multipart/form-data; boundary=B" };

test("the form of an upload to PyPI is read as it was sent, in any pieces", async () => {
  const text = fc.string({ unit: "grapheme", maxLength: 30 });
  const name = fc.stringMatching(/^[a-z_]{1,12}$/);
  const whole = fc.record({
    fields: fc.array(fc.tuple(name, text), { maxLength: 8 }),
    content: fc.uint8Array({ maxLength: 200 }),
    size: fc.integer({ min: 1, max: 50 }),
  });
  await fc.assert(
    fc.asyncProperty(whole, async ({ fields, content, size }) => {
      const part = (head: string, bytes: Uint8Array | string) =>
        Buffer.concat([
          Buffer.from(`--B\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
          Buffer.from(bytes as string),
          Buffer.from("\r\n"),
        ]);
      const form = Buffer.concat([
        ...fields.map(([field, value]) => part(`name="${field}"`, value)),
        part(`name="content"; filename="a-1.zip"`, content),
        Buffer.from("--B--\r\n"),
      ]);
      const { store, kept } = createStore();
      const upload = await readUploadForm(store, { headers, stream: inPieces(form, size) }, 1_000);
      const read = [...upload.fields].flatMap(([field, values]) =>
        values.map((one) => [field, one]),
      );
      expect(read.toSorted()).toEqual(fields.toSorted());
      expect(upload.received.digests.sha256).toBe(Buffer.from(content).toString("base64"));
      for (const values of Object.values(toPypiMetadata(upload.fields)))
        expect(JSON.stringify(values).isWellFormed()).toBe(true);
      await upload.received.discard();
      expect(kept.size).toBe(0);
    }),
    cases(100),
  );
});

test("a form for PyPI of any bytes is read or refused, and leaves no object", async () => {
  const bodies = wordsOf(
    "--B\r\n",
    "--B--\r\n",
    "--B",
    "\r\n",
    "\r\n\r\n",
    'Content-Disposition: form-data; name="content"; filename="a.zip"\r\n\r\n',
    'Content-Disposition: form-data; name="name"\r\n\r\n',
    "Content-Type: ",
    "Content-Transfer-Encoding: base64\r\n",
    "x",
    "\0",
  );
  await fc.assert(
    fc.asyncProperty(bodies, fc.integer({ min: 1, max: 40 }), async (text, size) => {
      const { store, kept } = createStore();
      const stream = inPieces(Buffer.from(text), size);
      try {
        const upload = await readUploadForm(store, { headers, stream }, 100);
        await upload.received.discard();
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
      }
      expect(kept.size).toBe(0);
    }),
    cases(300),
  );
});

/** Scans a document in pieces of a size. Returns its text without the attachments, and their content. */
async function scan(bytes: Buffer, size: number) {
  const attachments: { readonly name: string; readonly chunks: Uint8Array[] }[] = [];
  const scanner = createDocumentScanner(
    {
      begin: async (name) => void attachments.push({ name, chunks: [] }),
      write: async (chunk) => void attachments.at(-1)?.chunks.push(Uint8Array.from(chunk)),
      end: async () => undefined,
    },
    16 * 1024 * 1024,
  );
  for (let at = 0; at < bytes.length; at += size) await scanner.push(bytes.subarray(at, at + size));
  return {
    text: scanner.text(),
    attachments: attachments.map(({ name, chunks }) => [name, Buffer.concat(chunks)] as const),
  };
}

const packument = jsonOf(
  "_attachments",
  "data",
  "versions",
  "dist-tags",
  "name",
  "readme",
  "length",
);

test("a document of npm is read as it was sent, in any pieces, and its attachments apart", async () => {
  const sent = fc.record({
    other: fc.dictionary(hostileText, packument, { maxKeys: 4 }),
    // A longer name is refused later.
    name: hostileText.filter((text) => text.length < 300),
    content: fc.uint8Array({ maxLength: 100 }),
    size: fc.integer({ min: 1, max: 60 }),
  });
  await fc.assert(
    fc.asyncProperty(sent, async ({ other, name, content, size }) => {
      const { _attachments: _, ...rest } = other;
      const toDocument = (data: string) => ({ ...rest, _attachments: { [name]: { data } } });
      const document = JSON.stringify(toDocument(Buffer.from(content).toString("base64")));
      const { text, attachments } = await scan(Buffer.from(document), size);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(toDocument(""))));
      const key = Object.keys(JSON.parse(document)._attachments)[0] ?? "";
      expect(attachments).toEqual([[key, Buffer.from(content)]]);
    }),
    cases(200),
  );
});

test("a document of npm of any text is read or refused", async () => {
  const texts = fc.oneof(
    packument.map((value) => JSON.stringify(value)),
    wordsOf(
      '{"',
      '"',
      ":",
      ",",
      "}",
      "[",
      "]",
      "_attachments",
      '"data":"',
      "QUJD",
      "=",
      "\\",
      "\\/",
      "1",
    ),
  );
  await fc.assert(
    fc.asyncProperty(texts, fc.integer({ min: 1, max: 60 }), async (document, size) => {
      try {
        const { text } = await scan(Buffer.from(document), size);
        expect(compactNpmDocument.run(text).kind).toBeOneOf(["document", "invalid", "too_large"]);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
      }
    }),
    cases(300),
  );
});

test("the names of members of a document of npm cost steps that grow with their length", async () => {
  await using steps = await createStepCounter((url) => url.includes("/packages/npm/"));
  const ofLength = (length: number) => Buffer.from(`{"${"\\n".repeat(length / 2)}":1}`.repeat(20));
  const stepsOf = (length: number) => steps.count(() => scan(ofLength(length), 65_536));
  await stepsOf(128);
  const [short, long] = [await stepsOf(128), await stepsOf(1_024)];
  expect(long / short).toBeLessThan(10);
});

test("the header of a picture is read or refused, whatever its bytes are", () => {
  const gif = Buffer.from("GIF89a\x10\0\x08\0\0\0\0", "latin1");
  const bmp = Buffer.concat([Buffer.from("BM"), Buffer.alloc(60)]);
  const jpeg = Buffer.from(
    "ffd8ffe000104a46494600010100000100010000ffc0000b080010001001011100",
    "hex",
  );
  const tiff = Buffer.from(
    "49492a00080000000200000104000100000010000000010104000100000010000000",
    "hex",
  );
  const webp = Buffer.concat([Buffer.from("RIFF\x20\0\0\0WEBPVP8X", "latin1"), Buffer.alloc(30)]);
  const svg = Buffer.from("<svg width='10' height='10' viewBox='0 0 10 10'/>");
  const whole = fc.constantFrom(toPng(16, 8), gif, bmp, jpeg, tiff, webp, svg);
  const edits = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 12 });
  check(
    fc.tuple(whole, edits, fc.nat()),
    ([bytes, changes, cut]) => {
      const damaged = Buffer.from(bytes);
      for (const [at, byte] of changes) damaged[at % damaged.length] = byte;
      const read = readOrRefuse(
        () => sizeOf(damaged.subarray(0, cut % 4 === 0 ? cut % damaged.length : undefined)),
        Unreadable,
      );
      if (read !== undefined)
        expect([typeof read.width, typeof read.height]).toEqual(["number", "number"]);
    },
    2_000,
  );
  expect(sizeOf(toPng(16, 8))).toMatchObject({ width: 16, height: 8 });
});

test("submodules are read from a file of any text, with addresses of other servers alone", async () => {
  const directory = await mkdtemp(join(tmpdir(), "croft-submodules-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const git = createGit({ searchPath: process.env["PATH"] ?? "" });
  const run = (input: string, ...args: readonly string[]) =>
    execFileSync("git", ["-C", directory, ...args], { input, encoding: "utf8" }).trim();
  run("", "init", "-q", "--bare");
  const commitOf = (text: string) => {
    const blob = run(text, "hash-object", "-w", "--stdin");
    return run(`100644 blob ${blob}\t.gitmodules\n`, "mktree");
  };
  const texts = wordsOf(
    '[submodule "a"]\n',
    '[submodule "b\\"c"]\n',
    "[include]\n",
    "path = x\n",
    "url = https://example.org/x.git\n",
    "url = ext::sh -c id\n",
    "url = --upload-pack=x\n",
    "url = file:///etc\n",
    "url = ../x\n",
    "\tpath = y",
    "\n",
    "=",
    "[",
  );
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      const found = await readSubmodules(git, commitOf(text), { directory });
      for (const address of found.values())
        expect(address).toMatch(/^(?:https?:|ssh:|git:|\.|[\w.-]+@)/);
    }),
    cases(40),
  );
  const modules = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,8}$/), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(modules, async (paths) => {
      const urlOf = (path: string) => `https://example.org/${path}.git`;
      const text = paths.map(
        (path) => `[submodule "${path}"]\n\tpath = ${path}\n\turl = ${urlOf(path)}\n`,
      );
      const found = await readSubmodules(git, commitOf(text.join("")), { directory });
      expect([...found]).toEqual(paths.map((path) => [path, urlOf(path)]));
    }),
    cases(15),
  );
});

test("the owners of code are read as they were written, from any text", () => {
  const owner = fc.stringMatching(/^[a-z]{1,8}(?:\/[a-z]{1,8})?$/);
  const rule = fc.record({
    pattern: fc.stringMatching(/^[a-z.*/]{1,10}$/),
    isNegative: fc.boolean(),
    owners: fc.array(owner, { minLength: 1, maxLength: 3 }),
  });
  check(fc.array(rule, { maxLength: 10 }), (rules) => {
    const lines = rules.map(
      ({ pattern, isNegative, owners }) =>
        `${isNegative ? "!" : ""}${pattern}\t${owners.map((name) => `@${name}`).join("  ")} # note`,
    );
    expect(parseOwners(["# comment", "", ...lines].join("\n"))).toEqual(rules);
  });
  check(wordsOf("*", " ", "\t", "@a", "@o/t", "#", "!", "\\#", "\n", "\r\n", "src/.*"), (text) => {
    for (const { pattern, owners } of parseOwners(text)) {
      expect(pattern).not.toMatch(/\s/);
      expect(owners.length).toBeGreaterThan(0);
    }
  });
});

test("the answer of a server that is imported is read, or refused in words", () => {
  check(fc.json(), (text) => expect(parseAnswer(Buffer.from(text))).toEqual(JSON.parse(text)));
  check(fc.uint8Array(), (bytes) =>
    readOrRefuse(() => parseAnswer(Buffer.from(bytes)), RemoteUnusable),
  );
  for (const many of [
    `[${"0,".repeat(400_001)}0]`,
    "[".repeat(400_001),
    `{${'"\\"":{'.repeat(400_001)}`,
  ])
    expect(() => parseAnswer(Buffer.from(many))).toThrow("answers with too much at once");
});

test("a path that git quotes is read as it is", () => {
  const quote = (path: string) =>
    `"${[...Buffer.from(path)]
      .map((byte) => {
        const character = String.fromCharCode(byte);
        if (character === '"' || character === "\\") return `\\${character}`;
        const isPlain = byte >= 0x20 && byte < 0x7f;
        return isPlain ? character : `\\${byte.toString(8).padStart(3, "0")}`;
      })
      .join("")}"`;
  check(fc.string({ unit: "grapheme" }), (path) => expect(unquotePath(quote(path))).toBe(path));
  check(wordsOf('"', "\\", "\\303", "\\8", "\\n", "a", "\\"), (text) => unquotePath(text));
});

test("a file that a visitor sends gets a name that a document may have", () => {
  check(
    fc.oneof(hostileText, wordsOf("/", "\\", "..", ".", " ", "\0", "é", "\u{1f600}".repeat(80))),
    (sent) => {
      const name = toSafeName(sent);
      expect(name).not.toMatch(/^\.{0,2}$|[/\\]|\p{Cc}/u);
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
      expect(name.isWellFormed()).toBe(true);
      expect(toSafeName(name)).toBe(name);
    },
  );
});
