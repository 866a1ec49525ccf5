import { randomBytes } from "node:crypto";
import { stat, truncate, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import Database from "better-sqlite3";
import { docx, zip } from "../test/support/zip.ts";
import { makeHome, type BenchHome } from "./daemon.ts";
import { atLeast, atMost, median, report, residentMiB } from "./measure.ts";
import { call, copyDurably, curl, registerUser, signIn, watchMemory } from "./vault-client.ts";

// Documents on the built daemon: uploads beside a plain copy, other requests while a long PDF is read, many files at once,
// and the export of a long audit log.

const MIB = 1024 ** 2;
const UPLOAD_BYTES = 1024 * MIB;
const UPLOADS = 3;
const PDF_PAGES = 300;
const FILES = 1_000;
/** Uploads that wait for an answer at the same time. */
const UPLOADERS = 4;
const AUDIT_ROWS = 1_000_000;
const OTHER_PAUSE_MS = 5;
const POLL_MS = 100;

const settings = {
  CROFT_ACCESS_TOKEN_SECONDS: "86400",
  CROFT_DEFAULT_QUOTA_BYTES: String(16 * 1024 * MIB),
};

await using home = await makeHome();
await measureUploads(home);
await measureExtraction(home);
await measureAudit(home);

async function measureUploads({ home: folder, serve }: BenchHome): Promise<void> {
  await using daemon = await serve(settings);
  const bearer = await registerUser(daemon.url, "uma");
  const source = join(folder, "upload.bin");
  await writeFile(source, "");
  await truncate(source, UPLOAD_BYTES);
  const rounds: { readonly plain: number; readonly croft: number }[] = [];
  let growth = 0;
  for (let round = 0; round < UPLOADS; round++) {
    // Other bytes each time: equal bytes would be stored once.
    await writeFile(source, randomBytes(16), { flag: "r+" });
    const copy = join(folder, "copy.bin");
    const plain = await copyDurably(source, copy);
    await unlink(copy);
    const idle = await residentMiB(daemon.pid);
    const memory = watchMemory(daemon.pid);
    const croft = await curl([
      ...["-H", `Authorization: ${bearer}`, "-F", `filename=${round}.bin`, "-F", `file=@${source}`],
      ...["-o", join(folder, "answer.json"), `${daemon.url}/api/documents/upload`],
    ]);
    growth = Math.max(growth, (await memory.stop()) - idle);
    rounds.push({ plain, croft });
  }
  report(
    "Upload of 1 GiB through POST /api/documents/upload",
    "The bytes are written and synced once, and hashed: most of the speed of a plain durable copy, without keeping them in memory.",
    [
      {
        label: "plain durable copy, upload",
        value: rounds
          .map(({ plain, croft }) => `${plain.toFixed(1)} and ${croft.toFixed(1)} s`)
          .join(", "),
      },
      atLeast("speed", median(rounds.map(({ plain, croft }) => plain / croft)), 0.6),
      atMost("memory above idle", growth, 64, "MiB"),
    ],
  );
  await unlink(source);
}

async function measureExtraction({ serve }: BenchHome): Promise<void> {
  await using daemon = await serve(settings);
  const bearer = await registerUser(daemon.url, "xenia");
  const upload = async (name: string, bytes: Uint8Array<ArrayBuffer>) => {
    const form = new FormData();
    form.set("file", new File([bytes], name));
    const answer = await fetch(`${daemon.url}/api/documents/upload`, {
      method: "POST",
      headers: { Authorization: bearer, "User-Agent": "curl", "Accept-Language": "" },
      body: form,
    });
    if (!answer.ok) throw new Error(`an upload was answered ${answer.status}`);
  };
  const count = async (status: string): Promise<number> => {
    const address = `${daemon.url}/api/documents?status=${status}&per_page=1`;
    return (await call<{ total: number }>(address, "GET", undefined, bearer)).total;
  };
  const untilRead = async (expected: number) => {
    while ((await count("ready")) < expected) {
      if ((await count("classification_failed")) > 0) throw new Error("a file was not read");
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };

  const times: number[] = [];
  const long = makePdf(PDF_PAGES, 0);
  const idle = await timesOfOthers(
    daemon.url,
    bearer,
    () => Promise.resolve(times.length < 300),
    times,
  );
  await upload("long.pdf", long);
  const startedAt = performance.now();
  const busy = await timesOfOthers(daemon.url, bearer, async () => (await count("ready")) < 1, []);
  const seconds = (performance.now() - startedAt) / 1000;
  report(
    `Requests while a PDF of ${PDF_PAGES} pages is read`,
    "Text is read in a process of its own, so people who work meanwhile should not notice.",
    [
      { label: "seconds until its text was found", value: seconds.toFixed(1) },
      { label: "p99 before", value: `${percentile(idle).toFixed(1)} ms` },
      atMost("p99 meanwhile", percentile(busy), 50, "ms"),
    ],
  );

  const files = Array.from({ length: FILES }, (_, index) => makeFile(index));
  const begunAt = performance.now();
  const waiting = [...files];
  const uploader = async () => {
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop())
      await upload(file.name, file.bytes);
  };
  await Promise.all(Array.from({ length: UPLOADERS }, uploader));
  const uploadedAt = performance.now();
  await untilRead(FILES + 1);
  const minutes = (performance.now() - begunAt) / 60_000;
  report(
    `${FILES} files of ten kinds`,
    "A thousand files a minute keep up with a scanner or a first upload of a home.",
    [
      { label: "uploaded in", value: `${((uploadedAt - begunAt) / 1000).toFixed(1)} s` },
      atLeast("uploaded, read and classified", FILES / minutes / 60, 17, "/s"),
    ],
  );
}

/** Times of small requests, one after the other, until `isRunning` says no. */
async function timesOfOthers(
  url: string,
  bearer: string,
  isRunning: () => Promise<boolean>,
  times: number[],
): Promise<readonly number[]> {
  while (await isRunning()) {
    const begunAt = performance.now();
    await call(`${url}/api/auth/me`, "GET", undefined, bearer);
    times.push(performance.now() - begunAt);
    await new Promise((resolve) => setTimeout(resolve, OTHER_PAUSE_MS));
  }
  return times;
}

async function measureAudit({ home: folder, serve }: BenchHome): Promise<void> {
  const raw = new Database(join(folder, "croft.db"));
  raw
    .prepare(
      `INSERT INTO vault_audit (event_type, user_id, actor_id, resource_id, ip_address, metadata, created_at)
       WITH RECURSIVE row(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM row WHERE number < ?)
       SELECT 'document.uploaded', user.id, user.id, printf('doc-%d', number), '198.51.100.7',
         json_object('filename', printf('bill %d.pdf', number), 'size_bytes', number), 1700000000000 + number
       FROM row CROSS JOIN (SELECT id FROM vault_users LIMIT 1) AS user`,
    )
    .run(AUDIT_ROWS);
  raw.close();
  await using daemon = await serve(settings);
  const bearer = await signIn(daemon.url, "keeper@example.org");
  const target = join(folder, "audit.csv");
  const download = async (query: string) => {
    const memory = watchMemory(daemon.pid);
    const address = `${daemon.url}/api/admin/audit/export?${query}`;
    const seconds = await curl(["-H", `Authorization: ${bearer}`, "-o", target, address]);
    return { seconds, peak: await memory.stop() };
  };
  const tenth = new Date(1_700_000_000_000 + AUDIT_ROWS / 10).toISOString();
  const part = await download(`to=${tenth}`);
  const whole = await download("");
  const { size } = await stat(target);
  report(
    `Audit log of ${AUDIT_ROWS.toLocaleString("en")} records as CSV`,
    "A large export is streamed: fast, and with the memory of a small one.",
    [
      { label: "size", value: `${Math.round(size / MIB)} MiB` },
      atLeast("records", AUDIT_ROWS / whole.seconds, 50_000, "/s"),
      { label: "memory meanwhile", value: `${Math.round(whole.peak)} MiB` },
      atMost("memory above that for a tenth of it", whole.peak - part.peak, 64, "MiB"),
    ],
  );
}

function percentile(times: readonly number[], part = 0.99): number {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** Some 3,000 characters, about as many as a dense page has. */
function toText(seed: number): string {
  const word = (at: number) => ["tax", "rent", "bill", "house", "water"][(seed * 7 + at * 3) % 5];
  return Array.from({ length: 45 }, (_, line) =>
    Array.from({ length: 11 }, (_word, at) => `${word(line + at)}${(seed + line * at) % 97}`).join(
      " ",
    ),
  ).join("\n");
}

/** A file of one of ten kinds. */
function makeFile(index: number): {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
} {
  const text = toText(index);
  const lines = text.split("\n");
  const plain = (name: string, content: string) => ({ name, bytes: Buffer.from(content) });
  const words = lines.map((line) => `<w:p><w:r><w:t>${line}</w:t></w:r></w:p>`).join("");
  const rows = lines
    .map((line) => `<row><c t="inlineStr"><is><t>${line}</t></is></c></row>`)
    .join("");
  const slides = `<p:sld xmlns:p="p" xmlns:a="a">${lines.map((line) => `<a:p><a:t>${line}</a:t></a:p>`).join("")}</p:sld>`;
  switch (index % 10) {
    case 0:
      return { name: `${index}.pdf`, bytes: makePdf(3, index) };
    case 1:
      return {
        name: `${index}.docx`,
        bytes: docx(`<w:document xmlns:w="w"><w:body>${words}</w:body></w:document>`),
      };
    case 2:
      return {
        name: `${index}.xlsx`,
        bytes: office("spreadsheetml.sheet", {
          "xl/workbook.xml": "<workbook/>",
          "xl/worksheets/sheet1.xml": `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
        }),
      };
    case 3:
      return {
        name: `${index}.pptx`,
        bytes: office("presentationml.presentation", {
          "ppt/presentation.xml": "<presentation/>",
          "ppt/slides/slide1.xml": slides,
        }),
      };
    case 4:
      return plain(`${index}.html`, `<!doctype html><p>${lines.join("</p><p>")}</p>`);
    case 5:
      return plain(`${index}.md`, `# File ${index}\n\n${text}`);
    case 6:
      return plain(`${index}.csv`, lines.map((line) => line.replaceAll(" ", ",")).join("\n"));
    case 7:
      return plain(`${index}.json`, JSON.stringify({ lines }));
    case 8:
      return plain(`${index}.eml`, `From: a@example.org\r\nSubject: ${index}\r\n\r\n${text}`);
    default:
      return plain(`${index}.txt`, text);
  }
}

function office(kind: string, parts: Readonly<Record<string, string>>): Buffer<ArrayBuffer> {
  const [name = ""] = Object.keys(parts);
  return zip({
    "[Content_Types].xml": `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
      <Override PartName="/${name}" ContentType="application/vnd.openxmlformats-officedocument.${kind}.main+xml"/></Types>`,
    ...parts,
  });
}

/** A PDF with a dense page of text for each number. */
function makePdf(pages: number, seed: number): Buffer<ArrayBuffer> {
  const kids = Array.from({ length: pages }, (_, page) => `${4 + page * 2} 0 R`).join(" ");
  const objects: Buffer[] = [
    Buffer.from("%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"),
    Buffer.from(`2 0 obj<</Type/Pages/Kids[${kids}]/Count ${pages}>>endobj\n`),
    Buffer.from("3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n"),
  ];
  for (let page = 0; page < pages; page++) {
    const lines = toText(seed + page)
      .split("\n")
      .map((line) => `(${line}) Tj T*`);
    const drawing = deflateSync(`BT /F1 10 Tf 14 TL 40 800 Td ${lines.join("\n")} ET`);
    const id = 4 + page * 2;
    objects.push(
      Buffer.from(
        `${id} 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents ${id + 1} 0 R` +
          "/Resources<</Font<</F1 3 0 R>>>>>>endobj\n" +
          `${id + 1} 0 obj<</Length ${drawing.length}/Filter/FlateDecode>>stream\n`,
      ),
      drawing,
      Buffer.from("\nendstream endobj\n"),
    );
  }
  return Buffer.concat([...objects, Buffer.from("trailer<</Root 1 0 R>>\n%%EOF\n")]);
}
