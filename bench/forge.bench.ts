import { randomInt, randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { join } from "node:path";
import type { Transaction } from "../storage/engine/database.ts";
import { openSqlite } from "../storage/engine/sqlite.ts";
import { insertEmail } from "../storage/tables/forge/accounts/emails.ts";
import {
  insertDelivery,
  insertPayload,
  recordAttempt,
} from "../storage/tables/forge/hooks/deliveries.ts";
import { type HookId, toUserId } from "../storage/tables/forge/ids.ts";
import { insertHook } from "../storage/tables/forge/hooks/hooks.ts";
import { insertVersion, openPackage } from "../storage/tables/forge/packages/packages.ts";
import { insertRepository } from "../storage/tables/forge/repositories/repositories.ts";
import { insertUser, type NewForgeUser } from "../storage/tables/forge/accounts/users.ts";
import { makeHome } from "./daemon.ts";
import { atMost, findProgram, load, median, report } from "./measure.ts";
import type { Figure } from "./results.ts";
import { newRepositoryRow, newUserRow } from "../test/support/forge/forge-rows.ts";

// Lists with 1,000 and with 100,000 entries: a list must not get slower as the server fills. Requests go one by one over
// one connection; each figure is the median of many.

const FEW = 1_000;
const MANY = 100_000;
const RATIO_AIM = 3;
const ROUNDS = 60;

/** The measured lists; `deep` is the page that is furthest from both ends. */
const lists: readonly { readonly path: string; readonly query: string; readonly deep: boolean }[] =
  [
    ...both("/admin/users", ""),
    ...both("/admin/users", "sort=created&order=desc"),
    { path: "/admin/users", query: "sort=updated", deep: true },
    { path: "/admin/users", query: "sort=id", deep: true },
    ...both("/admin/users", "is_active=true"),
    ...both("/admin/users", "is_active=false&sort=created"),
    ...both("/admin/users", "visibility=private&is_2fa_enabled=true&sort=updated&order=desc"),
    { path: "/admin/users", query: "q=user000042", deep: false },
    ...both("/admin/emails", ""),
    { path: "/admin/emails/search", query: "q=user000042", deep: false },
    ...both("/admin/orgs", ""),
    ...both("/admin/packages", ""),
    ...both("/admin/packages", "type=npm"),
    { path: "/admin/packages", query: "q=tool-00042", deep: false },
    ...both("/user/repos", ""),
    ...both("/admin/hooks/1/deliveries", ""),
    ...both("/admin/hooks/1/deliveries", "state=failed"),
  ];

function both(path: string, query: string) {
  return [
    { path, query, deep: false },
    { path, query, deep: true },
  ];
}

const few = await measure(FEW);
const many = await measure(MANY);
report(
  `lists of ${MANY} entries against ${FEW}`,
  "A list must not get slower as the server fills: a hundred times the entries may cost three times, for deeper indexes.",
  lists.flatMap(({ path, query, deep }, index): Figure[] => {
    const [small = Number.NaN, large = Number.NaN] = [few.times[index], many.times[index]];
    const name = `${path} ${query}, ${deep ? "page in the middle" : "page 1"}`;
    return [
      { label: name, value: `${small.toFixed(2)} ms -> ${large.toFixed(2)} ms` },
      atMost(`${name}, ratio`, large / small, RATIO_AIM, ""),
    ];
  }),
);
if (few.rate === undefined) console.log("\nRequests per second: skipped, wrk is not installed");
else
  report("GET /admin/users?limit=50", "The list of an administrator, beside its size.", [
    { label: `${FEW} accounts`, value: `${few.rate.toFixed(0)} req/s` },
    { label: `${MANY} accounts`, value: `${many.rate?.toFixed(0)} req/s` },
  ]);

async function measure(accounts: number): Promise<{ times: number[]; rate: number | undefined }> {
  await using home = await makeHome();
  await fill(join(home.home, "croft.db"), accounts);
  const daemon = await home.serve();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const get = (path: string, query: string) =>
    fetchOnce(agent, `${daemon.url}/api/v1${path}?limit=50&${query}`, home.token);
  const times: number[] = [];
  for (const { path, query, deep } of lists) {
    const total = (await get(path, query)).total;
    const page = deep ? Math.ceil(total / 100) : 1;
    const samples: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const startedAt = performance.now();
      const { rows } = await get(path, `${query}&page=${page}`);
      samples.push(performance.now() - startedAt);
      if (rows === 0) throw new Error(`nothing on page ${page} of ${path} ${query}`);
    }
    times.push(median(samples));
  }
  const headers = { Authorization: `token ${home.token}` };
  const rate =
    (await findProgram("wrk")) === undefined
      ? undefined
      : await load(`${daemon.url}/api/v1/admin/users?limit=50`, { headers });
  agent.destroy();
  await daemon.end("SIGTERM");
  return { times, rate };
}

/** Adds accounts whose names, times and states are spread. */
async function fill(path: string, accounts: number): Promise<void> {
  const db = openSqlite({ path, clock: Date.now });
  const chunk = 5_000;
  for (let start = 0; start < accounts; start += chunk)
    await db.transaction(async (tx) => {
      for (let index = start; index < Math.min(start + chunk, accounts); index += 1) {
        const { id, email } = await insertUser(tx, makeUser(index));
        await insertEmail(tx, { userId: id, email, isVerified: true, isPrimary: true });
        await insertUser(tx, { ...makeUser(index), kind: "organization", name: `org${index}` });
        await fillOthers(tx, index);
      }
    });
  await db.close();
}

/** One of everything else that is listed. The first account, who asks, owns the repositories and packages. */
async function fillOthers(tx: Transaction, index: number): Promise<void> {
  const number = String(index).padStart(6, "0");
  const type = index % 3 === 0 ? "generic" : "npm";
  const name = `tool-${number}`;
  const opened = await openPackage(tx, { ownerId: toUserId(1), type, name });
  await insertVersion(tx, opened, { version: "1.0.0", creatorId: toUserId(1), metadata: "{}" });
  await insertRepository(
    tx,
    newRepositoryRow({ id: toUserId(1), name: "keeper" }, `r${number}`, {
      isPrivate: index % 2 === 0,
    }),
  );
  if (index === 0)
    await insertHook(
      tx,
      {
        scope: "system",
        repositoryId: undefined,
        ownerId: undefined,
        kind: "gitea",
        name: "",
        contentType: "json",
        events: ["push"],
        branchFilter: "",
        slack: undefined,
        isActive: false,
      },
      () => "",
    );
  const id = await insertDelivery(tx, {
    hookId: 1 as HookId,
    uuid: randomUUID(),
    event: "push",
    payloadId: await insertPayload(tx, "{}"),
    isRedelivery: false,
  });
  await recordAttempt(tx, id, {
    state: index % 4 === 0 ? "failed" : "delivered",
    attempts: 1,
    attemptedAt: tx.now,
    nextAttemptAt: undefined,
    durationMs: 1,
    requestHeaders: {},
    responseStatus: 204,
    responseHeaders: {},
    responseBody: "",
    error: undefined,
  });
}

function makeUser(index: number): NewForgeUser {
  const now = Date.now();
  return newUserRow(`user${String(index).padStart(6, "0")}`, {
    fullName: `Person Number ${index}`,
    email: `user${index}@example.org`,
    isActive: index % 10 !== 0,
    isRestricted: index % 50 === 0,
    prohibitLogin: index % 100 === 3,
    twoFactorEnabled: index % 3 === 0,
    visibility: (["public", "public", "limited", "private"] as const)[index % 4] ?? "public",
    avatarHash: "0".repeat(32),
    createdAt: now - randomInt(1_000_000_000),
    updatedAt: now - randomInt(1_000_000_000),
  });
}

function fetchOnce(
  agent: Agent,
  url: string,
  token: string,
): Promise<{ rows: number; total: number }> {
  return new Promise((resolve, reject) => {
    request(url, { agent, headers: { Authorization: `token ${token}` } }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        if (response.statusCode !== 200)
          reject(new Error(`${url} answered ${response.statusCode}`));
        const rows = (JSON.parse(Buffer.concat(chunks).toString()) as unknown[]).length;
        resolve({ rows, total: Number(response.headers["x-total-count"]) });
      });
    })
      .on("error", reject)
      .end();
  });
}
