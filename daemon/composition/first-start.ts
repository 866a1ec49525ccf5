import { randomInt } from "node:crypto";
import type { Database, Queries, Transaction } from "../../storage/engine/database.ts";
import { claimInstanceValue, findInstanceValue } from "../../storage/tables/common/instance.ts";
import {
  email as wireEmail,
  password as wirePassword,
  PASSWORD_BYTES_MAX,
} from "../contract/vault/common.ts";
import { AppError } from "../errors.ts";
import type { FirstAdministrator } from "../main.ts";
import type { PasswordHasher } from "../utilities/password-hasher.ts";
import { createPeople, type ServiceDeps } from "./services.ts";

/** What the first start made, as `croft init --json` prints it. */
export interface Initialised {
  readonly home: string;
  readonly forge: { readonly username: string; readonly token: string };
  readonly vault: { readonly handle: string; readonly email: string };
}

/** The fact that is stored with the administrators, in the same transaction. */
const INITIALISED_AT = "initialised_at";

/** Whether the home has its administrators. */
export async function isInitialised(db: Queries): Promise<boolean> {
  return (await findInstanceValue(db, INITIALISED_AT)) !== undefined;
}

/**
 * Makes the forge's site administrator with a token of scope `all` and the vault's administrator, with one e-mail
 * and password, in one transaction: a home has all of it or nothing. Refuses with `conflict` on an initialised home, with
 * `unprocessable` what one of the two could not sign in with.
 */
export async function createAdministrators(
  deps: ServiceDeps,
  first: FirstAdministrator,
): Promise<Initialised> {
  if (await isInitialised(deps.db)) throw alreadyInitialised(deps);
  assertCanSignIn(first);
  const hashes = await hashBoth(deps.hasher, first.password);
  return deps.db.transaction(async (tx) => {
    const now = String(tx.now);
    if ((await claimInstanceValue(tx, INITIALISED_AT, now, tx.now)) !== now)
      throw alreadyInitialised(deps);
    const { forge, vault } = createPeople({
      ...deps,
      db: toDatabase(tx),
      hasher: readyHash(hashes),
    });
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

/** A password that nobody has to invent: five groups of letters and digits without look-alikes, and a sign. */
export function generatePassword(): string {
  const letters = "abcdefghjkmnpqrstuvwxyz";
  const digits = "23456789";
  const pick = (from: string) => from.charAt(randomInt(from.length));
  const group = () => Array.from({ length: 5 }, () => pick(letters)).join("");
  const capitalised = group().replace(/^./, (letter) => letter.toUpperCase());
  return [capitalised, group(), group(), group() + pick(digits)].join("-");
}

/** Whoever is made with what no sign-in takes would have a home and no way into it. */
function assertCanSignIn({ email, password }: FirstAdministrator): void {
  if (Buffer.byteLength(password) < PASSWORD_BYTES_MIN)
    throw new AppError(
      "unprocessable",
      `the password must have at least ${PASSWORD_BYTES_MIN} characters`,
    );
  if (!wirePassword.safeParse(password).success)
    throw new AppError(
      "unprocessable",
      `the password must be text of at most ${PASSWORD_BYTES_MAX} bytes`,
    );
  if (!wireEmail.safeParse(email).success)
    throw new AppError(
      "unprocessable",
      `${JSON.stringify(email)} is no e-mail address of the form name@example.org`,
    );
}

/** The forge's shortest password. */
const PASSWORD_BYTES_MIN = 8;

function alreadyInitialised(deps: ServiceDeps): AppError {
  const home = deps.input.paths.dataDirectory;
  return new AppError(
    "conflict",
    `${home} is initialised already; nothing was changed. Start it with \`croft serve\`, or choose another folder with CROFT_HOME.`,
  );
}

/** A transaction as a database: what services begin inside it becomes part of it. */
function toDatabase(tx: Transaction): Database {
  return {
    dialect: tx.dialect,
    get: (sql, ...values) => tx.get(sql, ...values),
    all: (sql, ...values) => tx.all(sql, ...values),
    run: (sql, ...values) => tx.run(sql, ...values),
    transaction: (work) => work(tx),
    close: () => Promise.reject(new Error("a transaction is not closed by those inside it")),
  };
}

/** The hash of a password as it was given, which the forge takes, and in NFC, which the vault makes of every password. */
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

/** Hashing takes milliseconds that a transaction must not last: it is done before. */
function readyHash(hashes: ReadonlyMap<string, string>): PasswordHasher {
  return {
    async hash(password) {
      const hash = hashes.get(password);
      if (hash === undefined) throw new Error("a password that was not hashed before");
      return hash;
    },
    verify: () => Promise.reject(new Error("nobody signs in on the first start")),
  };
}
