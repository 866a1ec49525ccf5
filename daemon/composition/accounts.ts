import { randomBytes, randomInt } from "node:crypto";
import { availableParallelism } from "node:os";
import type { Database, Queries, Transaction } from "../../storage/engine/database.ts";
import { claimInstanceValue, findInstanceValue } from "../../storage/tables/common/instance.ts";
import {
  email as wireEmail,
  password as wirePassword,
  PASSWORD_BYTES_MAX,
} from "../contract/vault/common.ts";
import { STRENGTH_RULES } from "../contract/vault/password-rules.ts";
import { isUserName } from "../contract/forge/rules.ts";
import { AppError } from "../errors.ts";
import type { DaemonInput, FirstAdministrator, Stores } from "./stores.ts";
import type { Addresses } from "../http/addresses.ts";
import { createForgeAccounts, type ForgeAccountsDeps } from "../forge/accounts/accounts.ts";
import { createPasswordRules } from "../forge/accounts/password-rules.ts";
import { createPackageDependents } from "../forge/packages/packages.ts";
import { createRepositoryDependents } from "../forge/repositories/dependents.ts";
import type { Limiter } from "../http/limits.ts";
import type { JobQueue } from "../jobs/queue.ts";
import type { Log } from "../utilities/logging.ts";
import { createCommonPasswords, createBreachLookup } from "../outbound/breach/lookup.ts";
import { isReaderAt } from "../forge/notifications/notify.ts";
import { createMailer, type Mailer } from "../outbound/mail/mailer.ts";
import { createPasswordHasher, type PasswordHasher } from "../utilities/password-hasher.ts";
import { createVaultAccounts } from "../vault/accounts/accounts.ts";
import { assertNotBreached } from "../vault/accounts/password-rules.ts";
import { toUserId } from "../../storage/tables/forge/ids.ts";

/** Maximum number of passwords that wait for hashing; further requests are answered with 503. */
const HASHES_WAITING_MAX = 64;

/** The dependencies of all services. */
export interface ServiceDeps {
  readonly input: DaemonInput;
  readonly stores: Stores;
  readonly db: Database;
  readonly hasher: PasswordHasher;
  readonly limiter: Limiter;
  /** Generates UUIDs of version 7. */
  readonly newId: () => string;
  readonly addresses: Addresses;
  readonly queue: JobQueue;
  readonly log: Log;
  /** Publishes the creation of an organization to webhooks; absent where there are no webhooks. */
  readonly publishOrganization?: ForgeAccountsDeps["publishOrganization"];
}

/** Creates the hasher of the process: both APIs share its bound on memory. */
export function createHasher(): PasswordHasher {
  return createPasswordHasher({
    concurrency: availableParallelism(),
    queueMax: HASHES_WAITING_MAX,
  });
}

/** Creates the mailer of both APIs. Its job must be registered once. */
export function openMailer({ input: { settings }, stores, queue, db }: ServiceDeps): Mailer {
  return createMailer({
    enqueue: queue.enqueue,
    keyring: stores.keyring,
    smtpUrl: settings.smtpUrl,
    from: settings.mailFrom,
    outbox: stores.directory.outbox,
    tmp: stores.directory.tmp,
    mayRead: ({ userId, repositoryId }, address) =>
      isReaderAt(db, { userId: toUserId(userId), repositoryId, address }),
    randomBytes,
  });
}

function createBreaches(
  { input: { settings }, log }: Pick<ServiceDeps, "input" | "log">,
  level: "warn" | "debug" = "warn",
) {
  return createBreachLookup({
    url: settings.breachUrl,
    isCommon: createCommonPasswords(),
    warn: (message, cause) => log[level]({ err: cause }, message),
  });
}

/** Creates the account services of both APIs on a database: the daemon's own, or a transaction of it. */
export function createPeople(deps: ServiceDeps, { queueMail }: Pick<Mailer, "queueMail">) {
  const { input, stores, db, hasher, limiter, newId, addresses, queue } = deps;
  const { publishOrganization } = deps;
  const { settings, clock } = input;
  const breaches = createBreaches(deps);
  const forge = createForgeAccounts({
    db,
    clock,
    random: randomBytes,
    passwords: hasher,
    rules: createPasswordRules({
      ...toForgeRules(deps),
      breaches: settings.passwordCheckPwn ? breaches : undefined,
    }),
    enqueue: queue.enqueue,
    publicUrl: addresses.publicUrl,
    sealer: stores.keyring,
    instanceName: settings.instanceName,
    attempts: limiter,
    queueMail,
    repositories: createRepositoryDependents(queue.enqueue),
    ...(publishOrganization === undefined ? {} : { publishOrganization }),
    packages: createPackageDependents(),
  });
  const vault = createVaultAccounts({
    db,
    clock,
    randomBytes,
    newId,
    hasher,
    breaches,
    attempts: limiter,
    keys: stores.keyring,
    enqueue: queue.enqueue,
    queueMail,
    frontendUrl: addresses.frontendUrl,
    settings,
  });
  return { forge, vault };
}

/** The accounts that the first start created, as `croft init --json` prints them. */
export interface Initialised {
  readonly home: string;
  readonly forge: { readonly username: string; readonly token: string };
  readonly vault: { readonly handle: string; readonly email: string };
}

/** The fact that is stored in the transaction that creates the administrators. */
const INITIALISED_AT = "initialised_at";

/** Returns whether the home has its administrators. */
export async function isInitialised(db: Queries): Promise<boolean> {
  return (await findInstanceValue(db, INITIALISED_AT)) !== undefined;
}

function toForgeRules({ input: { settings } }: Pick<ServiceDeps, "input">) {
  return { lengthMin: settings.minPasswordLength, characters: settings.passwordComplexity };
}

/**
 * Creates the forge's site administrator with a token of scope `all` and the vault's administrator, with one e-mail and
 * password, in one transaction. Refuses with `conflict` on an initialised home, with `unprocessable` credentials that
 * one of the two APIs does not accept. A chosen (not generated) password is also checked against known data breaches.
 */
export async function createAdministrators(
  deps: ServiceDeps,
  first: FirstAdministrator,
  isChosen = false,
): Promise<Initialised> {
  if (await isInitialised(deps.db)) throw alreadyInitialised(deps);
  await assertAccepted(deps, first);
  // A command line has no log for a failure of the breach service.
  if (isChosen)
    await assertNotBreached(createBreaches(deps, "debug"), first.password.normalize("NFC"));
  const hashes = await hashBoth(deps.hasher, first.password);
  return deps.db.transaction(async (tx) => {
    const now = String(tx.now);
    if ((await claimInstanceValue(tx, INITIALISED_AT, now, tx.now)) !== now)
      throw alreadyInitialised(deps);
    const { forge, vault } = createPeople(
      { ...deps, db: toDatabase(tx), hasher: readyHash(hashes) },
      openMailer(deps),
    );
    const { user, token } = await forge.createFirstSiteAdministrator(first);
    const { handle, email } = await vault.registration.createFirstAdministrator({
      handle: first.username,
      email: first.email,
      password: first.password,
    });
    return {
      home: deps.input.paths.dataDirectory,
      forge: { username: user.name, token },
      vault: { handle, email },
    };
  });
}

/** Generates a password: five groups of letters and digits without look-alikes, and a sign. */
export function generatePassword(): string {
  const letters = "abcdefghjkmnpqrstuvwxyz";
  const digits = "23456789";
  const pick = (from: string) => from.charAt(randomInt(from.length));
  const group = () => Array.from({ length: 5 }, () => pick(letters)).join("");
  const capitalised = group().replace(/^./, (letter) => letter.toUpperCase());
  return [capitalised, group(), group(), group() + pick(digits)].join("-");
}

/** Refuses credentials that one of the APIs does not accept, with all that is wrong. */
async function assertAccepted(
  deps: Pick<ServiceDeps, "input">,
  { username, email, password }: FirstAdministrator,
): Promise<void> {
  const normal = password.normalize("NFC");
  const missing = STRENGTH_RULES.filter(({ pattern }) => !pattern.test(normal));
  const rules = createPasswordRules({ ...toForgeRules(deps), breaches: undefined });
  const broken = missing.length > 0 ? undefined : await rules.findBroken(password);
  const wrong = [
    !isUserName(username) &&
      `${JSON.stringify(username)} is not a user name: it takes letters and digits, with single "-", "_" or "." between them`,
    !wireEmail.safeParse(email).success &&
      `${JSON.stringify(email)} is not an e-mail address of the form name@example.org`,
    missing.length > 0 && `the password must have ${missing.map(({ wish }) => wish).join(", ")}`,
    broken !== undefined && `the password ${broken.text}`,
    !wirePassword.safeParse(password).success &&
      `the password must be text of at most ${PASSWORD_BYTES_MAX} bytes`,
  ].filter((problem) => problem !== false);
  if (wrong.length > 0) throw new AppError("unprocessable", [...new Set(wrong)].join("; "));
}

function alreadyInitialised(deps: ServiceDeps): AppError {
  const home = deps.input.paths.dataDirectory;
  return new AppError(
    "conflict",
    `${home} is initialised already; nothing was changed. Start it with \`croft serve\`, or choose another folder with CROFT_HOME.`,
  );
}

/** Wraps a transaction as a database: transactions of services become part of it. */
function toDatabase(tx: Transaction): Database {
  return {
    dialect: tx.dialect,
    get: (sql, ...values) => tx.get(sql, ...values),
    all: (sql, ...values) => tx.all(sql, ...values),
    run: (sql, ...values) => tx.run(sql, ...values),
    transaction: (work) => work(tx),
    close: () => Promise.reject(new Error("code inside a transaction must not close it")),
  };
}

/** Hashes a password as given, for the forge, and in NFC, to which the vault normalizes every password. */
async function hashBoth(
  hasher: PasswordHasher,
  password: string,
): Promise<ReadonlyMap<string, string>> {
  const normal = password.normalize("NFC");
  const hash = await hasher.hash(password);
  return new Map([
    [password, hash],
    [normal, normal === password ? hash : await hasher.hash(normal)],
  ]);
}

/** Returns a hasher with known results: hashing takes milliseconds, too long for a transaction, so it is done before. */
function readyHash(hashes: ReadonlyMap<string, string>): PasswordHasher {
  return {
    async hash(password) {
      const hash = hashes.get(password);
      if (hash === undefined) throw new Error("a password that was not hashed before");
      return hash;
    },
    verify: () => Promise.reject(new Error("the first start verifies no passwords")),
  };
}
