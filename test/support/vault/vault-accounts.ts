import { hash } from "node:crypto";
import type { EnqueuedJob } from "../../../daemon/jobs/queue.ts";
import { generateSync } from "otplib";
import { createUuid7 } from "../../../daemon/utilities/uuid7.ts";
import {
  createVaultAccounts,
  type VaultAccounts,
  type VaultAccountsDeps,
} from "../../../daemon/vault/accounts/accounts.ts";
import type { Client } from "../../../daemon/vault/accounts/client.ts";
import type { MailMessage } from "../../../daemon/vault/accounts/reset-mails.ts";
import type { IssuedTokens } from "../../../daemon/vault/accounts/session-issue.ts";
import type { SignInInput } from "../../../daemon/vault/accounts/sign-in.service.ts";
import type { Database } from "../../../storage/engine/database.ts";
import { type AuditRecord, listAudit } from "../../../storage/tables/vault/audit.ts";
import { createKeyring } from "../../../storage/keys/keyring.ts";
import { openTestDatabase } from "../storage/database.ts";

export const STRONG = "correct Horse 7 battery";
export const OTHER_STRONG = "another Horse 8 battery";

/** The vault's accounts over a fresh database, with a clock that tests set and a hasher that costs nothing. */
export interface TestAccounts extends VaultAccounts, AsyncDisposable {
  readonly db: Database;
  /** Epoch milliseconds; tests set it. */
  now: number;
  readonly deps: VaultAccountsDeps;
  /** Passwords that the look-up knows. */
  readonly breached: Set<string>;
  /** The queued mails. */
  readonly mails: readonly MailMessage[];
  /** Runs the jobs enqueued so far. */
  runJobs(): Promise<void>;
}

export const TEST_SETTINGS: VaultAccountsDeps["settings"] = {
  allowRegistration: true,
  accessTokenSeconds: 900,
  defaultQuotaBytes: 104_857_600,
  instanceName: "croft",
  oidcCreateAccounts: false,
  oidcVaultAdminGroup: undefined,
};

/** Opens accounts for a test; `more` takes the place of single dependencies. */
export async function openTestAccounts(
  more: Partial<VaultAccountsDeps> = {},
): Promise<TestAccounts> {
  const state = { now: Date.UTC(2026, 10, 20, 9, 30) };
  const clock = () => state.now;
  const randomBytes = createTestRandom();
  const db = more.db ?? (await openTestDatabase({ clock }));
  const breached = new Set<string>();
  const jobs: EnqueuedJob[] = [];
  const mails: MailMessage[] = [];
  const deps: VaultAccountsDeps = {
    db,
    clock,
    randomBytes,
    newId: createUuid7(clock, randomBytes),
    hasher: cheapHasher,
    breaches: { isBreached: async (password) => breached.has(password) },
    attempts: createTestCounter(clock),
    keys: createKeyring([{ version: 1, bytes: new Uint8Array(32).fill(7) }], randomBytes),
    enqueue: async (_tx, job) => jobs.push(job),
    queueMail: async (_tx, message) => mails.push(message),
    sendsMail: true,
    publicUrl: () => "https://croft.example.org",
    frontendUrl: () => "https://vault.example.org",
    settings: TEST_SETTINGS,
    ...more,
  };
  const services = createVaultAccounts(deps);
  return {
    ...services,
    db,
    deps,
    breached,
    mails,
    async runJobs() {
      for (const job of jobs.splice(0)) await services.resetMails.job.run(job.payload);
    },
    get now() {
      return state.now;
    },
    set now(value) {
      state.now = value;
    },
    /** A database that the test brought is the test's to close. */
    [Symbol.asyncDispose]: async () => (more.db === undefined ? db.close() : undefined),
  };
}

/** A client with headers that stay the same; `more` changes them. */
export function client(more: Partial<Client> = {}): Client {
  return {
    address: "203.0.113.7",
    userAgent: "croft-test",
    acceptLanguage: "en",
    refreshToken: undefined,
    ...more,
  };
}

/** The input of a sign-in with a password only. */
export function credentials(more: Partial<SignInInput> = {}): SignInInput {
  return {
    email: "mira@example.org",
    password: STRONG,
    totpCode: undefined,
    backupCode: undefined,
    rememberMe: false,
    ...more,
  };
}

/** Registers `mira`, or whom `more` says. */
export function register(
  accounts: TestAccounts,
  more: Partial<{ handle: string; email: string; password: string }> = {},
) {
  return accounts.registration.register({
    handle: "mira",
    email: "mira@example.org",
    password: STRONG,
    ...more,
  });
}

/** Signs in and gives the tokens; fails when something is missing. */
export async function signIn(
  accounts: TestAccounts,
  more: Partial<SignInInput> = {},
  who: Partial<Client> = {},
): Promise<IssuedTokens> {
  const outcome = await accounts.signIn.signIn(credentials(more), client(who));
  if (outcome.kind !== "signed_in") throw new Error(`signing in came to ${outcome.kind}`);
  return outcome.tokens;
}

/** The caller that an access token speaks for. */
export function identify(
  accounts: TestAccounts,
  { accessToken }: { readonly accessToken: string },
) {
  return accounts.authentication.identify(accessToken, client());
}

/** The code that an authenticator app shows at `now`, in epoch milliseconds. */
export function totpCode(secret: string, now: number): string {
  return generateSync({ secret, epoch: Math.floor(now / 1000) });
}

/** Signs in, turns the second factor on and moves on by a step, so that a fresh code can be used. */
export async function enrol(accounts: TestAccounts, more: Partial<SignInInput> = {}) {
  const caller = await identify(accounts, await signIn(accounts, more));
  const { secret } = await accounts.totp.setUp(caller);
  const enrolled = await accounts.totp.enable(caller, totpCode(secret, accounts.now), client());
  accounts.now += 30_000;
  return { ...enrolled, secret, userId: caller.userId };
}

/** The events that were recorded so far, oldest first, without the registration of accounts. */
export async function auditTrail(accounts: TestAccounts): Promise<AuditRecord[]> {
  const { records } = await listAudit(accounts.db, {}, { limit: 1000, offset: 0 });
  return records.filter(({ eventType }) => eventType !== "auth.registered").toReversed();
}

/** Counts as the daemon's limiter does, in memory. */
function createTestCounter(clock: () => number): VaultAccountsDeps["attempts"] {
  const windows = new Map<string, { count: number; until: number }>();
  return {
    async consume(key, { max, seconds }) {
      let window = windows.get(key);
      if (window === undefined || window.until <= clock())
        windows.set(key, (window = { count: 0, until: clock() + seconds * 1000 }));
      window.count += 1;
      return {
        allowed: window.count <= max,
        resetSeconds: Math.ceil((window.until - clock()) / 1000),
      };
    },
  };
}

/** A plain hash in argon2's place, for tests that are not about it. */
export const cheapHasher: VaultAccountsDeps["hasher"] = {
  hash: async (password) => `cheap$${hash("sha256", password, "hex")}`,
  verify: async (stored, password) => ({
    fits: stored === `cheap$${hash("sha256", password, "hex")}`,
    outdated: false,
  }),
};

/** Bytes that never repeat and are the same in every run. */
export function createTestRandom(seed = "seed"): (length: number) => Uint8Array {
  let count = 0;
  return (length) => {
    count += 1;
    return hash("shake256", `${seed} ${count}`, { outputLength: length, outputEncoding: "buffer" });
  };
}
