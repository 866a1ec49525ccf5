import { recordAnswer } from "../answers.ts";
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import {
  createForgeAccounts,
  type ForgeAccounts,
  type ForgeAccountsDeps,
  peopleRoutes,
} from "../../../daemon/forge/accounts/accounts.ts";
import { createPasswordRules } from "../../../daemon/forge/accounts/password-rules.ts";
import { createForgeOrganizations } from "../../../daemon/forge/organizations/organizations.feature.ts";
import { createRepositoryLists } from "../../../daemon/forge/repositories/repository-lists.service.ts";
import { createForgeApi } from "../../../daemon/forge/api.ts";
import { createBodyBudgets } from "../../../daemon/http/body-memory.ts";
import { bindRoutes, type RequestReport } from "../../../daemon/http/bind.ts";
import { createLimiter } from "../../../daemon/http/limits.ts";
import { createServerRequest } from "../../../daemon/http/server-request.ts";
import type { PasswordHasher } from "../../../daemon/utilities/password-hasher.ts";
import type { Database } from "../../../storage/engine/database.ts";
import { createKeyring } from "../../../storage/keys/keyring.ts";
import type { TestAnswer, TestRequest } from "../daemon.ts";
import { openTestDatabase } from "../storage/database.ts";
import { sendRequest } from "../send-request.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/** Passwords as plain digests: the tests that use it are not about hashing. */
const quickHasher: PasswordHasher = {
  hash: async (password) => `quick:${createHash("sha256").update(password).digest("hex")}`,
  verify: async (stored, password) => ({
    fits: stored === (await quickHasher.hash(password)),
    outdated: false,
  }),
};

/**
 * The forge's people served on a loopback port, over a fresh database in memory. The header `X-Test-Address` sets the
 * address of the client.
 */
export interface ForgeApp extends AsyncDisposable {
  readonly url: string;
  readonly db: Database;
  readonly accounts: ForgeAccounts;
  /** A token of scope `all` of the site administrator `admin` (password `admin-password`). */
  readonly token: string;
  readonly reports: readonly RequestReport[];
  /** Mails that were queued. */
  readonly mails: readonly {
    readonly to: string;
    readonly subject: string;
    readonly text: string;
  }[];
  /** Moves the clock. */
  advance(milliseconds: number): void;
  request(path: string, init?: TestRequest): Promise<TestAnswer>;
  /** Creates a person who may sign in at once (password `user-password`), by default called `mira`. */
  addUser(fields?: Readonly<Record<string, unknown>>): Promise<{ readonly id: UserId }>;
  /** A token of a person that `addUser` made. */
  tokenOf(username: string, scopes?: readonly string[]): Promise<string>;
}

export const START = Date.parse("2026-03-01T12:00:00Z");

const storeNoPicture = async () => {
  throw new Error("the people of the tests have no pictures");
};

/** Starts it; `await using` stops it. `deps` replaces dependencies. */
export async function startForgeApp(deps: Partial<ForgeAccountsDeps> = {}): Promise<ForgeApp> {
  let now = START;
  const clock = () => now;
  let drawn = 0;
  const random = (size: number) => {
    drawn += 1;
    return createHash("shake256", { outputLength: size }).update(`draw ${drawn}`).digest();
  };
  const mails: { to: string; subject: string; text: string }[] = [];
  const db = await openTestDatabase({ clock });
  const accounts = createForgeAccounts({
    db,
    clock,
    random,
    passwords: quickHasher,
    rules: createPasswordRules({ lengthMin: 8, characters: [], breaches: undefined }),
    enqueue: async () => 1,
    publicUrl: () => "http://croft.example:7420",
    sealer: createKeyring([{ version: 1, bytes: new Uint8Array(32) }], random),
    instanceName: "croft",
    limiter: createLimiter({ db, clock }),
    queueMail: async (_tx, mail) => mails.push(mail),
    sendsMail: true,
    provider: { oidcCreateAccounts: false, oidcForgeAdminGroup: undefined },
    findTaskCaller: async () => undefined,
    ...deps,
  });
  const reports: RequestReport[] = [];
  const api = createForgeApi({ db, authentication: accounts.authentication, urls: accounts.urls });
  const organizations = createForgeOrganizations({
    db,
    random,
    emit: async () => undefined,
    avatars: { set: storeNoPicture, remove: storeNoPicture },
    repositories: { get: () => Promise.reject(new Error("this forge has no repositories")) },
    lists: createRepositoryLists({ db }),
    dependents: [deps.repositories, deps.packages].filter((each) => each !== undefined),
    urls: accounts.urls,
  });
  const handle = bindRoutes(api, [...peopleRoutes(accounts), ...organizations.routes], {
    limiter: {
      counts: true,
      consume: async (_key, { max, seconds }) => ({
        allowed: true,
        remaining: max,
        resetSeconds: seconds,
      }),
      addressKey: (address) => address,
    },
    publicUrl: () => "http://croft.example:7420",
    bodies: createBodyBudgets(1 << 20),
    maxJsonBytes: 1 << 20,
    maxUploadBytes: 1 << 20,
    temporaryDirectory: tmpdir(),
    checkReplies: true,
    toServerRequest: createServerRequest((message: IncomingMessage) =>
      String(message.headers["x-test-address"] ?? message.socket.remoteAddress ?? ""),
    ),
    report(what) {
      reports.push(what);
      recordAnswer(what.route, what.status);
    },
  });
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { token } = await accounts.createFirstSiteAdministrator({
    username: "admin",
    email: "admin@croft.example",
    password: "admin-password",
  });
  const request = (path: string, init?: TestRequest) => sendRequest(url, path, init);
  return {
    url,
    db,
    accounts,
    token,
    reports,
    mails,
    advance: (milliseconds) => {
      now += milliseconds;
    },
    request,
    async addUser(fields = {}) {
      const username = fields["username"] ?? "mira";
      const answer = await request("/api/v1/admin/users", {
        token,
        json: {
          username,
          email: `${String(username)}@croft.example`,
          password: "user-password",
          must_change_password: false,
          ...fields,
        },
      });
      if (answer.status !== 201) throw new Error(`no user: ${answer.status} ${answer.text}`);
      return answer.json;
    },
    async tokenOf(username, scopes = ["all"]) {
      drawn += 1;
      const made = await accounts.tokens.create({ scope: undefined }, username, {
        name: `token ${drawn}`,
        scopes,
      });
      return made.secret;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await db.close();
      const bug = reports.find(({ status }) => status === 500);
      if (bug !== undefined)
        throw new Error(`${bug.route} answered ${bug.status}`, { cause: bug.error });
    },
  };
}
