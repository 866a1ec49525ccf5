import { join } from "node:path";
import { openSqlite } from "../storage/engine/sqlite.ts";
import { insertDocument } from "../storage/tables/vault/documents/documents.ts";
import { insertTopic, setDocumentTopics } from "../storage/tables/vault/documents/topics.ts";
import { trashDocument } from "../storage/tables/vault/documents/trash.ts";
import { type AccountId, toAccountId, toDocumentId } from "../storage/tables/vault/ids.ts";
import { insertLink } from "../storage/tables/vault/links.ts";
import { putSearchEntry } from "../storage/tables/vault/search-entries.ts";
import { createPageBrowser } from "../test/support/vault/page-browser.ts";
import { sendRequest } from "../test/support/send-request.ts";
import { type BenchHome, makeHome, PASSWORD } from "./daemon.ts";
import { atMost, median, processorSeconds, report } from "./measure.ts";
import type { Figure } from "./results.ts";
import { call, registerUser } from "./vault-client.ts";

// The lists of the vault's pages on the built daemon, for a person with many documents, topics and links.

const DOCUMENTS = 20_000;
const TRASHED = 20_000;
const LINKS = 5_000;
const TOPICS = 20;
const LAST_PAGE = DOCUMENTS / 50;
/** Links of one page, which are made through the API: their addresses are sealed. */
const SHOWN = 50;
const WORDS = 40;
const BATCH = 1_000;
const ROUNDS = 25;
const WARM_UP = 5;

await using home = await makeHome();
const id = await registerMira(home);
await fill(join(home.home, "croft.db"), id);
await using daemon = await home.serve();
await makeLinks();
const browser = createPageBrowser(
  { url: daemon.url, request: (path, init) => sendRequest(daemon.url, path, init) },
  "127.0.0.1",
);
await browser.submit("/vault/sign-in", { email: "mira@example.org", password: PASSWORD });

report(
  `Lists of a vault of ${DOCUMENTS} documents, ${TRASHED} deleted ones and ${LINKS} links`,
  "A person waits for a page of 50, however many there are.",
  [
    ...(await figuresOf("first page", "/vault", "document-")),
    ...(await figuresOf("last page", `/vault?page=${LAST_PAGE}`, "document-")),
    ...(await figuresOf("by name, middle", `/vault?sort=name&page=${LAST_PAGE / 2}`, "document-")),
    ...(await figuresOf("largest first, as tiles", "/vault?sort=largest&view=tiles", "document-")),
    ...(await figuresOf("one topic", "/vault?topic=Topic+3", "document-")),
    ...(await figuresOf("without a topic", "/vault?topic=-", "document-")),
    ...(await figuresOf("search of a name", "/vault?q=document-12345", "document-12345")),
    ...(await figuresOf("search of a common word", "/vault?q=w1", "found")),
    ...(await figuresOf("search within a topic", "/vault?q=w1&topic=Topic+3", "found")),
    ...(await figuresOf("trash, first page", "/vault/trash", "trashed-")),
    ...(await figuresOf("trash, last page", `/vault/trash?page=${TRASHED / 50}`, "trashed-")),
    ...(await figuresOf("links, first page", "/vault/links", "/s/")),
    ...(await figuresOf("links, last page", `/vault/links?page=${LINKS / 50}`, "document-")),
    ...(await figuresOf("one document", `/vault/d/${toId(DOCUMENTS - 1)}`, "document-")),
  ],
);

async function figuresOf(label: string, path: string, shows: string): Promise<Figure[]> {
  const times: number[] = [];
  let before = 0;
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    if (round === 0) before = processorSeconds(daemon.pid);
    const startedAt = performance.now();
    const { status, text } = await browser.open(path);
    times.push(performance.now() - startedAt);
    if (status !== 200 || !text.includes(shows)) throw new Error(`${path} answered ${status}`);
  }
  const processor = ((processorSeconds(daemon.pid) - before) / ROUNDS) * 1_000;
  return [
    atMost(label, median(times.slice(WARM_UP)), 100, "ms"),
    { label: `${label}: processor time`, value: `${processor.toFixed(1)} ms` },
  ];
}

/** Registers an account, on a daemon that ends before the database is filled. */
async function registerMira(at: BenchHome): Promise<AccountId> {
  await using first = await at.serve();
  const bearer = await registerUser(first.url, "mira");
  const me = await call<{ id: string }>(`${first.url}/api/auth/me`, "GET", undefined, bearer);
  await first.end("SIGTERM");
  return toAccountId(me.id);
}

function toId(at: number): string {
  return `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`;
}

/** Words with the frequencies of language. */
function textOf(seed: number): string {
  let next = seed + 1;
  return Array.from({ length: WORDS }, () => {
    next = (next * 1_103_515_245 + 12_345) % 2_147_483_648;
    return `w${Math.floor(Math.exp(((next % 1_000) / 1_000) * Math.log(20_000)))}`;
  }).join(" ");
}

async function fill(path: string, userId: AccountId): Promise<void> {
  let now = Date.now() - DOCUMENTS - TRASHED;
  const db = openSqlite({ path, clock: () => (now += 1) });
  await db.transaction(async (tx) => {
    for (let at = 0; at < TOPICS; at += 1)
      await insertTopic(tx, {
        ...{ id: toId(at), userId, name: `Topic ${at}`, nameKey: `topic ${at}`, description: "" },
      });
  });
  for (let from = 0; from < DOCUMENTS + TRASHED; from += BATCH)
    await db.transaction(async (tx) => {
      for (let at = from; at < from + BATCH; at += 1) {
        const documentId = toDocumentId(toId(at));
        const isTrashed = at >= DOCUMENTS;
        const filename = `${isTrashed ? "trashed" : "document"}-${at}.txt`;
        await insertDocument(tx, {
          ...{ id: documentId, userId, filename, contentType: "text/plain" },
          ...{ sizeBytes: (at * 7_919) % 1_000_003, sha256: String(at).padStart(64, "0") },
          ...{ storageBackend: "internal", connectionId: undefined, providerItemId: undefined },
        });
        if (at % 5 !== 0)
          await setDocumentTopics(tx, documentId, [toId(at % TOPICS), toId((at * 3) % TOPICS)]);
        await putSearchEntry(tx, {
          ...{ userId, source: { documentId }, title: filename, body: textOf(at) },
          ...{ contentType: "text/plain", connectionId: undefined },
        });
        if (isTrashed) await trashDocument(tx, documentId);
      }
    });
  await db.transaction(async (tx) => {
    for (let at = 0; at < LINKS - SHOWN; at += 1)
      await insertLink(tx, {
        ...{ id: toId(at), ownerId: userId, kind: "download", name: "" },
        ...{ documentId: toDocumentId(toId(at)), itemId: undefined, passwordHash: undefined },
        ...{ secretHash: String(at).padStart(64, "0"), sealedSecret: "", expiresAt: undefined },
        ...{ maxDownloads: undefined, maxFiles: undefined, maxBytes: undefined },
        ...{ message: undefined, documentIds: [], topicIds: [] },
      });
  });
  await db.close();
}

async function makeLinks(): Promise<void> {
  const { access_token: token } = await call<{ access_token: string }>(
    `${daemon.url}/api/auth/login`,
    "POST",
    { email: "mira@example.org", password: PASSWORD },
  );
  for (let at = 0; at < SHOWN; at += 1)
    await call(`${daemon.url}/api/links`, "POST", { document_id: toId(at) }, `Bearer ${token}`);
}
