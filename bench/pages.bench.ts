import { createPageBrowser } from "../test/support/vault/page-browser.ts";
import { sendRequest } from "../test/support/send-request.ts";
import { makeHome, PASSWORD } from "./daemon.ts";
import { atMost, median, report } from "./measure.ts";
import { call, registerUser } from "./vault-client.ts";

// Pages on the built daemon: a folder, a pull request, the documents of the vault, and searches.

const FILES = 100;
const COMMENTS = 30;
const ISSUES = 200;
const DOCUMENTS = 200;
const ROUNDS = 25;

await using home = await makeHome();
await using daemon = await home.serve();
const token = `token ${home.token}`;
const post = <T>(path: string, body: object) =>
  call<T>(`${daemon.url}/api/v1${path}`, "POST", body, token);

await measureForge();
await measureVault();

async function measureForge(): Promise<void> {
  await post("/user/repos", { name: "kiln", auto_init: true });
  await post("/repos/keeper/kiln/contents", {
    new_branch: "topic",
    files: Array.from({ length: FILES }, (_, at) => ({
      operation: "create",
      path: `glazes/glaze-${at}.md`,
      content: Buffer.from(`# Glaze ${at}\n\nFired at ${1_000 + at} degrees.\n`).toString("base64"),
    })),
  });
  const pull = { head: "topic", base: "main", title: "Glazes" };
  const { number } = await post<{ number: number }>("/repos/keeper/kiln/pulls", pull);
  for (let at = 0; at < COMMENTS; at += 1)
    await post(`/repos/keeper/kiln/issues/${number}/comments`, {
      body: `Comment ${at} with \`code\` and [a link](https://example.org/${at}).`,
    });
  for (let at = 0; at < ISSUES; at += 1)
    await post("/repos/keeper/kiln/issues", {
      title: `Cracked shelf ${at}`,
      body: "After firing.",
    });
  const get = (path: string) => timesOf(path, { headers: { Authorization: token } });
  const page = await get(`/keeper/kiln/pulls/${number}`);
  const changes = await get(`/keeper/kiln/pulls/${number}/files`);
  const folder = await get("/keeper/kiln/src/branch/topic/glazes");
  const bare = await get("/api/v1/version");
  const search = await get("/api/v1/repos/issues/search?q=cracked&limit=50");
  report(
    "Pages of the forge",
    "A person waits for a page, and a page of lists costs tens of the cheapest request, which pays for the connection and the limits.",
    [
      { label: "GET /api/v1/version, one after the other", value: show(bare) },
      atMost(`page of a folder of ${FILES} files`, median(folder), 60, "ms"),
      atMost(`page of a pull request with ${COMMENTS} comments`, median(page), 60, "ms"),
      atMost(`page of its ${FILES} changed files`, median(changes), 100, "ms"),
      atMost(`search that finds 50 of ${ISSUES} issues`, median(search), 30, "ms"),
    ],
  );
}

async function measureVault(): Promise<void> {
  const bearer = await registerUser(daemon.url, "mira");
  for (let at = 0; at < DOCUMENTS; at += 1) {
    const body = new FormData();
    body.set("file", new File([`Invoice ${at} of the pottery, due soon.`], `invoice-${at}.txt`));
    const answer = await fetch(`${daemon.url}/api/documents/upload`, {
      method: "POST",
      headers: { Authorization: bearer, "User-Agent": "curl", "Accept-Language": "" },
      body,
    });
    if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  }
  const browser = createPageBrowser(
    { url: daemon.url, request: (path, init) => sendRequest(daemon.url, path, init) },
    "127.0.0.1",
  );
  await browser.submit("/vault/sign-in", { email: "mira@example.org", password: PASSWORD });
  const list = await timesOfPages(browser, "/vault");
  const search = await timesOfPages(browser, "/vault?q=invoice");
  const found = await timesOf("/api/search?q=invoice", {
    headers: { Authorization: bearer, "User-Agent": "curl", "Accept-Language": "" },
  });
  report(
    "Pages of the vault",
    "A person waits for a page; it asks the API in process for its documents, topics and counts.",
    [
      atMost(`page of ${DOCUMENTS} documents`, median(list), 60, "ms"),
      atMost("page of a search", median(search), 60, "ms"),
      atMost("search through the API", median(found), 30, "ms"),
    ],
  );
}

async function timesOf(path: string, init: RequestInit): Promise<number[]> {
  return repeat(async () => {
    const answer = await fetch(daemon.url + path, init);
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
  });
}

async function timesOfPages(
  browser: ReturnType<typeof createPageBrowser>,
  path: string,
): Promise<number[]> {
  return repeat(async () => {
    const { status, text } = await browser.open(path);
    if (status !== 200 || !text.includes("invoice-1"))
      throw new Error(`${path} answered ${status} without the documents`);
  });
}

/** Milliseconds of each call, after three that load and compile. */
async function repeat(work: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let round = -3; round < ROUNDS; round += 1) {
    const startedAt = performance.now();
    await work();
    if (round >= 0) times.push(performance.now() - startedAt);
  }
  return times;
}

function show(times: readonly number[]): string {
  return `${median(times).toFixed(1)} ms`;
}
