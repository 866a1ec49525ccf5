import { randomInt } from "node:crypto";
import type { Database, Queries, Transaction } from "../../storage/engine/database.ts";
import { claimInstanceValue, findInstanceValue } from "../../storage/tables/common/instance.ts";
import {
  email as wireEmail,
  password as wirePassword,
  PASSWORD_BYTES_MAX,
} from "../contract/vault/common.ts";
import { findWeakness } from "../contract/password-rules.ts";
import { isUserName } from "../contract/forge/rules.ts";
import { AppError } from "../errors.ts";
import type { ForgeAccounts } from "../forge/accounts/accounts.ts";
import type { PasswordRules } from "../forge/accounts/password-rules.ts";
import type { BreachLookup } from "../outbound/breach/lookup.ts";
import type { PasswordHasher } from "../utilities/password-hasher.ts";
import type { VaultAccounts } from "../vault/accounts/accounts.ts";
import { assertNotBreached } from "../vault/accounts/password-rules.ts";

/** Name, e-mail and password of the administrators, as given to `croft init`. */
export interface FirstAdministrator {
  readonly username: string;
  readonly email: string;
  readonly password: string;
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

export interface AdministratorsDeps {
  readonly db: Database;
  readonly dataDirectory: string;
  readonly hasher: PasswordHasher;
  /** The forge's, without data breaches. */
  readonly rules: PasswordRules;
  readonly breaches: BreachLookup;
  /** Creates the account services of both APIs on a transaction of the database. */
  readonly createAccounts: (
    db: Database,
    hasher: PasswordHasher,
  ) => {
    readonly forge: Pick<ForgeAccounts, "createFirstSiteAdministrator">;
    readonly vault: Pick<VaultAccounts, "registration">;
  };
}

/**
 * Creates the forge's site administrator with a token of scope `all` and the vault's administrator, with one e-mail and
 * password, in one transaction. Refuses with `conflict` on an initialised home, with `unprocessable` credentials that
 * one of the two APIs does not accept. A chosen (not generated) password is also checked against known data breaches.
 */
export async function createAdministrators(
  deps: AdministratorsDeps,
  first: FirstAdministrator,
  isChosen = false,
): Promise<Initialised> {
  const { db, dataDirectory, hasher, rules, breaches } = deps;
  if (await isInitialised(db)) throw alreadyInitialised(dataDirectory);
  await assertAccepted(rules, first);
  if (isChosen) await assertNotBreached(breaches, first.password.normalize("NFC"));
  const hashes = await hashBoth(hasher, first.password);
  return db.transaction(async (tx) => {
    const now = String(tx.now);
    if ((await claimInstanceValue(tx, INITIALISED_AT, now, tx.now)) !== now)
      throw alreadyInitialised(dataDirectory);
    const { forge, vault } = deps.createAccounts(toDatabase(tx), readyHash(hashes));
    const { user, token } = await forge.createFirstSiteAdministrator(first);
    const { handle, email } = await vault.registration.createFirstAdministrator({
      handle: first.username,
      email: first.email,
      password: first.password,
    });
    return {
      home: dataDirectory,
      forge: { username: user.name, token },
      vault: { handle, email },
    };
  });
}

/** The administrator of a home that was not initialised by `croft init`. */
const DEFAULT_ADMINISTRATOR = { username: "keeper", email: "keeper@croft.localhost" } as const;

/** Creates the administrators with a generated password, which it returns; undefined on an initialised home. */
export async function initialiseOnce(
  db: Queries,
  loadDeps: () => Promise<AdministratorsDeps>,
): Promise<(Initialised & { readonly password: string }) | undefined> {
  if (await isInitialised(db)) return undefined;
  const password = generatePassword();
  try {
    const first = { ...DEFAULT_ADMINISTRATOR, password };
    return { ...(await createAdministrators(await loadDeps(), first)), password };
  } catch (error) {
    // Another daemon on the same database has created them meanwhile.
    if (error instanceof AppError && error.code === "conflict" && (await isInitialised(db)))
      return undefined;
    throw error;
  }
}

/** Generates a password: five groups of letters and digits without look-alikes, and a sign. */
function generatePassword(): string {
  const letters = "abcdefghjkmnpqrstuvwxyz";
  const digits = "23456789";
  const pick = (from: string) => from.charAt(randomInt(from.length));
  const group = () => Array.from({ length: 5 }, () => pick(letters)).join("");
  const capitalised = group().replace(/^./, (letter) => letter.toUpperCase());
  return [capitalised, group(), group(), group() + pick(digits)].join("-");
}

/** Refuses credentials that one of the APIs does not accept, and lists all problems. */
async function assertAccepted(
  rules: PasswordRules,
  { username, email, password }: FirstAdministrator,
): Promise<void> {
  const weakness = findWeakness(password);
  const broken = weakness !== undefined ? undefined : await rules.findBroken(password);
  const wrong = {
    username: [
      !isUserName(username) &&
        `${JSON.stringify(username)} is not a user name: it takes letters and digits, with single "-", "_" or "." between them`,
    ],
    email: [
      !wireEmail.safeParse(email).success &&
        `${JSON.stringify(email)} is not an e-mail address of the form name@example.org`,
    ],
    password: [
      weakness !== undefined && weakness,
      broken !== undefined && `the password ${broken.text}`,
      !wirePassword.safeParse(password).success &&
        `the password must be text of at most ${PASSWORD_BYTES_MAX} bytes`,
    ],
  };
  const failures = Object.entries(wrong).flatMap(([name, problems]) =>
    [...new Set(problems)].flatMap((msg) =>
      msg === false ? [] : [{ loc: ["body", name], msg, type: "value_error" }],
    ),
  );
  if (failures.length > 0)
    throw new AppError("unprocessable", failures.map(({ msg }) => msg).join("; "), { failures });
}

function alreadyInitialised(home: string): AppError {
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
