import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { AppError } from "../../daemon/errors.ts";
import {
  parseDigest,
  parsePageSize,
  parseReference,
} from "../../daemon/forge/packages/containers/references.ts";
import { isSameVersion, modifiedSince } from "../../daemon/http/conditional.ts";
import { extract } from "../../daemon/vault/analysis/extraction/extract.ts";
import { parseIf } from "../../daemon/vault/dav/if-header.ts";
import { DavRefusal } from "../../daemon/vault/dav/refusals.ts";
import { toDavPath } from "../../daemon/vault/dav/target.ts";
import { parseXml, writeXml } from "../../daemon/vault/dav/xml.ts";
import { ExpressionError } from "../../daemon/workflows/expressions/values.ts";
import { parseExpression } from "../../daemon/workflows/expressions/parse.ts";
import { parseWorkflow } from "../../daemon/workflows/workflow.ts";
import { WorkflowError } from "../../daemon/workflows/yaml-source.ts";
import { hostileText } from "../support/fuzz/hostile-values.ts";
import { cases } from "../support/property.ts";
import { createStepCounter } from "../support/steps.ts";
import { docx } from "../support/zip.ts";

// Parsers of bytes from outside: they return what they read, or refuse it in the words of their protocol.

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

/** Returns the value, or undefined when it is refused by one of the given errors. Any other error is a defect. */
function readOrRefuse<T>(read: () => T, ...refusals: readonly (new (...args: never[]) => Error)[]) {
  try {
    return read();
  } catch (error) {
    if (refusals.some((refusal) => error instanceof refusal)) return undefined;
    throw error;
  }
}

const check = <T>(texts: fc.Arbitrary<T>, look: (text: T) => void, usual = 500) =>
  fc.assert(
    fc.property(texts, (text) => {
      look(text);
    }),
    cases(usual),
  );

test("the If header of WebDAV is read or refused", () => {
  const headers = wordsOf(
    "<",
    ">",
    "(",
    ")",
    "[",
    "]",
    '"a"',
    "W/",
    "Not ",
    "urn:uuid:1",
    " ",
    "/dav/a",
  );
  check(headers, (text) => readOrRefuse(() => parseIf(text), DavRefusal));
});

test("the XML of WebDAV is read or refused, and what is written is read again as the same", () => {
  const bodies = wordsOf(
    "<a>",
    "</a>",
    '<D:propfind xmlns:D="DAV:">',
    "</D:propfind>",
    "<D:prop/>",
    "<D:allprop/>",
    "&lt;",
    "&#x0;",
    "&x;",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<?xml version='1.0'?>",
    "<!DOCTYPE a>",
    ' xmlns="x"',
    "text",
  );
  check(bodies, (text) => {
    const read = readOrRefuse(() => parseXml(Buffer.from(text)), DavRefusal);
    if (read === undefined) return;
    const written = writeXml(read);
    expect(writeXml(parseXml(Buffer.from(written)))).toBe(written);
  });
  check(fc.uint8Array(), (bytes) => readOrRefuse(() => parseXml(bytes), DavRefusal));
});

test("addresses of WebDAV are read without ways out, or refused", () => {
  const paths = wordsOf("/", "dav", "..", ".", "%2f", "%2e", "%00", "%", "//", "\\", "a", "%ff");
  check(paths, (text) => {
    const path = readOrRefuse(() => toDavPath(`/dav/${text}`), DavRefusal);
    for (const segment of path ?? []) {
      expect(segment).not.toMatch(/^\.{0,2}$|[/\0]/);
    }
  });
});

test("references, digests and page sizes of a registry are read or refused", () => {
  const texts = wordsOf(
    "sha256:",
    "sha512:",
    "a".repeat(64),
    "0",
    "latest",
    ":",
    "@",
    "-",
    ".",
    "A",
    "/",
  );
  check(texts, (text) => {
    for (const parse of [parseReference, parseDigest, parsePageSize])
      readOrRefuse(() => parse(text), AppError);
  });
});

test("conditions of requests never fail", () => {
  const texts = wordsOf('"', "W/", "*", ",", "x", "Thu, 01 Jan 1970 00:00:00 GMT", " ");
  const validators = { etag: '"x"', lastModified: new Date(0) };
  check(texts, (text) => {
    isSameVersion(text, validators);
    modifiedSince({ "if-modified-since": text });
  });
});

test("expressions of workflows are read or refused", () => {
  const texts = wordsOf(
    "github",
    ".",
    "ref",
    "(",
    ")",
    "[",
    "]",
    "'a'",
    "''",
    "&&",
    "||",
    "!",
    "==",
    "<",
    "1",
    "0x1f",
    "1e9",
    "*",
    ",",
    "format(",
    "hashFiles(",
    "null",
    " ",
  );
  check(texts, (text) => readOrRefuse(() => parseExpression(text), ExpressionError));
});

test("files of workflows are read or refused", () => {
  const texts = wordsOf(
    "on: push\n",
    "on:\n",
    "  push:\n",
    "    branches: [main]\n",
    "jobs:\n",
    "  one:\n",
    "    runs-on: x\n",
    "    steps:\n",
    "      - run: echo\n",
    "      - uses: a/b@v1\n",
    "    strategy:\n",
    "      matrix:\n",
    "        a: [1, 2]\n",
    "    needs: [one]\n",
    "    if: ${{ always() }}\n",
    "&a ",
    "*a",
    "<<: *a\n",
    "? ",
    "- ",
    "{",
    "}",
    "[",
    "|\n",
    "---\n",
    "\t",
    "!!binary ",
  );
  check(
    texts,
    (text) => readOrRefuse(() => parseWorkflow(text), WorkflowError, ExpressionError),
    300,
  );
});

const PDF = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj
4 0 obj<</Length 37>>stream
BT /F 12 Tf 20 100 Td (a text) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R/Size 6>>
%%EOF
`;
const RTF = "{\\rtf1\\ansi{\\fonttbl{\\f0 Arial;}}\\f0 a \\'e9\\u233? {\\b text}\\par\\bin3 abc}";

test("text is read from damaged archives, mails, PDF and RTF, or the file is said to be unreadable", async () => {
  const folder = await mkdtemp(join(tmpdir(), "croft-parsers-"));
  const whole = [
    docx(
      "<w:document xmlns:w='w'><w:body><w:p><w:r><w:t>text</w:t></w:r></w:p></w:body></w:document>",
    ),
    Buffer.from(
      "Subject: =?utf-8?q?a?=\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Transfer-Encoding: base64\r\n\r\neA==\r\n--b--\r\n",
    ),
    Buffer.from(PDF),
    Buffer.from(RTF),
  ];
  const changes = fc.array(fc.record({ at: fc.nat(), byte: fc.nat({ max: 255 }) }), {
    minLength: 1,
    maxLength: 12,
  });
  try {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...whole), changes, fc.nat(), async (bytes, edits, cut) => {
        const damaged = Buffer.from(bytes);
        for (const { at, byte } of edits) damaged[at % damaged.length] = byte;
        const path = join(folder, "file");
        const length = cut % 3 === 0 ? cut % damaged.length : damaged.length;
        await writeFile(path, damaged.subarray(0, length));
        const { kind } = await extract({ path, filename: "file", recognizes: false });
        expect(kind).toBeOneOf(["text", "unreadable"]);
      }),
      cases(150),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

const ignoring =
  (parse: (text: string) => unknown, ...refusals: (new (...args: never[]) => Error)[]) =>
  (text: string) =>
    readOrRefuse(() => parse(text), ...refusals);

test.each<[name: string, parse: (text: string) => unknown, units: readonly string[]]>([
  ["the If header", ignoring(parseIf, DavRefusal), ["(<a>)", "<a> ", '(["x"])', "(Not ", "(", "<"]],
  [
    "XML of WebDAV",
    ignoring((text) => parseXml(Buffer.from(`<a>${text}</a>`)), DavRefusal),
    ["<b/>", "<b>", "&lt;", "<![CDATA[x]]>", "<!--x-->", "text ", "<b xmlns='x'/>", "<b c='d' "],
  ],
  [
    "an expression",
    ignoring(parseExpression, ExpressionError),
    ["(", "a.", "a[", "!", "a && ", "'x' ", "f(", "a, ", "1 ", "''"],
  ],
  [
    "a workflow",
    ignoring(
      (text) => parseWorkflow(`on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n${text}`),
      WorkflowError,
      ExpressionError,
    ),
    ["      - run: x\n", "      - &a x\n", "      - *a\n", "# c\n", "      - {", "      - [", "? "],
  ],
])(
  "%s of repeated parts is read in steps that grow with its length",
  async (_name, parse, units) => {
    await using steps = await createStepCounter((url) =>
      /\/daemon\/|\/node_modules\/(?:yaml|saxes)\//.test(url),
    );
    const stepsOf = (unit: string, length: number) =>
      steps.count(async () => parse(unit.repeat(Math.ceil(length / unit.length))));
    for (const unit of units) {
      await stepsOf(unit, 500);
      const [short, long] = [await stepsOf(unit, 2_000), await stepsOf(unit, 8_000)];
      // Quadratic work would take 16 times as many.
      expect([unit, long / short < 8], `${short} and ${long} steps`).toEqual([unit, true]);
    }
  },
);
