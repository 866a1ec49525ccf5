import { randomInt } from "node:crypto";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { openSqlite } from "../storage/engine/sqlite.ts";
import { insertEmail } from "../storage/tables/forge/emails.ts";
import { insertUser, type NewForgeUser } from "../storage/tables/forge/users.ts";
import { makeHome } from "./daemon.ts";
import { atMost, findProgram, load, median, report, type Figure } from "./measure.ts";

// Lists of users with 1,000 and with 100,000 accounts: a list must not get slower as the server fills. Requests go one
// by one over one connection; each figure is the median of many.

const FEW = 1_000;
const MANY = 100_000;
const RATIO_AIM = 3;
const ROUNDS = 60;

/** What is measured; `deep` is the page that is furthest from both ends. */
const lists: readonly { readonly query: string; readonly deep: boolean }[] = [
  { query: "", deep: false },
  { query: "", deep: true },
  { query: "sort=created&order=desc", deep: false },
  { query: "sort=created&order=desc", deep: true },
  { query: "sort=updated", deep: true },
  { query: "sort=id", deep: true },
  { query: "is_active=true", deep: false },
  { query: "is_active=true", deep: true },
  { query: "is_active=false&sort=created", deep: false },
  { query: "is_active=false&sort=created", deep: true },
  { query: "visibility=private&is_2fa_enabled=true&sort=updated&order=desc", deep: false },
  { query: "visibility=private&is_2fa_enabled=true&sort=updated&order=desc", deep: true },
  { query: "q=user000042", deep: false },
];

const few = await measure(FEW);
const many = await measure(MANY);
report(
  `GET /admin/users?limit=50, ${MANY} accounts against ${FEW}`,
  lists.flatMap(({ query, deep }, index): Figure[] => {
    const [small = Number.NaN, large = Number.NaN] = [few.times[index], many.times[index]];
    const name = `${query === "" ? "by name" : query}, ${deep ? "page in the middle" : "page 1"}`;
    return [
      { what: name, value: `${small.toFixed(2)} ms -> ${large.toFixed(2)} ms` },
      atMost(`${name}, ratio`, large / small, RATIO_AIM, ""),
    ];
  }),
);
if (few.rate === undefined) console.log("\nRequests per second: skipped, wrk is not installed");
else
  report("GET /admin/users?limit=50", [
    { what: `${FEW} accounts`, value: `${few.rate.toFixed(0)} req/s` },
    { what: `${MANY} accounts`, value: `${many.rate?.toFixed(0)} req/s` },
  ]);

async function measure(accounts: number): Promise<{ times: number[]; rate: number | undefined }> {
  await using home = await makeHome();
  await fill(join(home.home, "croft.db"), accounts);
  const daemon = await home.serve();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const get = (query: string) =>
    fetchOnce(agent, `${daemon.url}/api/v1/admin/users?limit=50&${query}`, home.token);
  const times: number[] = [];
  for (const { query, deep } of lists) {
    const total = (await get(query)).total;
    const page = deep ? Math.ceil(total / 100) : 1;
    const samples: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const startedAt = performance.now();
      const { rows } = await get(`${query}&page=${page}`);
      samples.push(performance.now() - startedAt);
      if (rows === 0) throw new Error(`nothing on page ${page} of ${query}`);
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
      }
    });
  await db.close();
}

function makeUser(index: number): NewForgeUser {
  const now = Date.now();
  return {
    kind: "individual",
    name: `user${String(index).padStart(6, "0")}`,
    fullName: `Person Number ${index}`,
    email: `user${index}@example.org`,
    keepEmailPrivate: false,
    loginSource: 0,
    loginName: "",
    passwordHash: "",
    mustChangePassword: false,
    isActive: index % 10 !== 0,
    isAdmin: false,
    isRestricted: index % 50 === 0,
    prohibitLogin: index % 100 === 3,
    twoFactorEnabled: index % 3 === 0,
    allowGitHook: false,
    allowImportLocal: false,
    allowCreateOrganization: true,
    maxRepoCreation: -1,
    visibility: (["public", "public", "limited", "private"] as const)[index % 4] ?? "public",
    website: "",
    location: "",
    description: "",
    language: "",
    avatarHash: "0".repeat(32),
    repoAdminChangeTeamAccess: false,
    createdAt: now - randomInt(1_000_000_000),
    updatedAt: now - randomInt(1_000_000_000),
  };
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
