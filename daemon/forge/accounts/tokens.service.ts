import { createHash, timingSafeEqual } from "node:crypto";
import { type Database, isConflict, StorageError } from "../../../storage/engine/database.ts";
import {
  countTokensOfUser,
  deleteToken,
  findTokenByLastEight,
  findTokenByName,
  type ForgeToken,
  insertToken,
  listTokensByLastEight,
  listTokensOfUser,
  touchToken,
} from "../../../storage/tables/forge/accounts/tokens.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { notFound, userNotFound } from "../refusals.ts";
import { isEmptyScope, isWithin, parseScope, toScopeWords, type TokenScope } from "./scopes.ts";

/** A token with its secret, which is known only when it is made. */
export interface MadeToken {
  readonly token: ForgeToken;
  readonly secret: string;
}

/** Who asks for a token: a caller's scope bounds what may be made. */
export interface TokenMaker {
  /** The authenticating token's scope; undefined for a password. */
  readonly scope: string | undefined;
}

/** People's access tokens. Of a secret only a salted hash is kept. */
export interface Tokens {
  /** A page of a user's tokens, newest first, and the count of all. Refuses with `not_found` for an unknown name. */
  list(
    username: string,
    window: PageWindow,
  ): Promise<{ readonly tokens: readonly ForgeToken[]; readonly total: number }>;
  /** Makes a token (forge behaviour, 21.3): `invalid_argument` for a used name or bad scopes, `forbidden` for broader ones. */
  create(
    maker: TokenMaker,
    username: string,
    wanted: { readonly name: string; readonly scopes: readonly string[] },
  ): Promise<MadeToken>;
  /** Deletes a token by id, or by name when that is no number but 0. Refuses with `not_found`. */
  delete(username: string, idOrName: string): Promise<void>;
  /** Which token a secret is, with its owner and scope, or undefined. Notes the use, at most once a minute. */
  find(
    secret: string,
  ): Promise<
    { readonly tokenId: number; readonly user: ForgeUser; readonly scope: string } | undefined
  >;
}

export interface TokensDeps {
  readonly db: Database;
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
}

const SECRET_BYTES = 20;
const SALT_BYTES = 10;
/** A use is noted no more often, so that reading costs no write. */
const TOUCH_EVERY_MS = 60_000;
const SECRET_LENGTH_MIN = 8;

export function createTokens({ db, clock, random }: TokensDeps): Tokens {
  const ownerOf = async (username: string) => {
    const user = await findUserByName(db, username);
    if (user === undefined) throw userNotFound(username);
    return user;
  };
  return {
    async list(username, window) {
      const owner = await ownerOf(username);
      const [tokens, total] = await Promise.all([
        listTokensOfUser(db, owner.id, toRows(window)),
        countTokensOfUser(db, owner.id),
      ]);
      return { tokens, total };
    },

    async create(maker, username, { name, scopes }) {
      const owner = await ownerOf(username);
      const nameUsed = () =>
        new AppError("invalid_argument", "access token name has been used already");
      if ((await findTokenByName(db, owner.id, name)) !== undefined) throw nameUsed();
      const scope = toScopeFor(maker, scopes);
      const secret = toHex(random(SECRET_BYTES));
      const salt = toHex(random(SALT_BYTES));
      const now = clock();
      try {
        const token = await db.transaction((tx) =>
          insertToken(tx, {
            userId: owner.id,
            name,
            lastEight: secret.slice(-8),
            salt,
            hash: toHash(salt, secret),
            scope: toScopeWords(scope).join(","),
            createdAt: now,
            lastUsedAt: now,
          }),
        );
        return { token, secret };
      } catch (error) {
        if (isConflict(error)) throw nameUsed();
        throw error;
      }
    },

    async delete(username, idOrName) {
      const owner = await ownerOf(username);
      const id = /^\d{1,15}$/.test(idOrName) ? Number(idOrName) : 0;
      if (id === 0) {
        const token = await findTokenByName(db, owner.id, idOrName);
        if (token === undefined) throw notFound();
        await deleteToken(db, owner.id, token.id);
      } else if (!(await deleteToken(db, owner.id, id))) {
        throw new AppError("not_found", "access token not found");
      }
    },

    async find(secret) {
      const token = await findBySecret(secret);
      if (token === undefined) return undefined;
      const user = await findUserById(db, token.userId);
      if (user === undefined) return undefined;
      const noting = noteUse(token);
      if (noting !== undefined) await noting;
      return { tokenId: token.id, user, scope: token.scope };
    },
  };

  async function findBySecret(secret: string): Promise<ForgeToken | undefined> {
    if (secret.length < SECRET_LENGTH_MIN) return undefined;
    const isIt = ({ hash, salt }: ForgeToken) => isEqualHex(hash, toHash(salt, secret));
    const lastEight = secret.slice(-8);
    // Two secrets hardly ever end alike: one row is read, and only a stranger's makes all of them be read.
    const first = await findTokenByLastEight(db, lastEight);
    if (first === undefined || isIt(first)) return first;
    return (await listTokensByLastEight(db, lastEight)).find(isIt);
  }

  function noteUse(token: ForgeToken): Promise<void> | undefined {
    const now = clock();
    const isRecent = now >= token.lastUsedAt && now - token.lastUsedAt < TOUCH_EVERY_MS;
    return isRecent && token.lastUsedAt !== token.createdAt ? undefined : touch(token, now);
  }

  async function touch(token: ForgeToken, now: number): Promise<void> {
    try {
      // A first use within the millisecond of the making must still differ from "never used".
      await touchToken(db, token.id, Math.max(now, token.createdAt + 1));
    } catch (error) {
      // A full disk must not turn reading away; the next use tries again.
      if (!(error instanceof StorageError)) throw error;
    }
  }
}

function toScopeFor(maker: TokenMaker, words: readonly string[]): TokenScope {
  // Each word may be a list itself, as a scope is one when it is stored (forge behaviour, 2.4).
  const parsed = parseScope(words.flatMap((word) => word.split(",")));
  if (parsed.kind === "invalid")
    throw new AppError(
      "invalid_argument",
      `invalid access token scope provided: invalid access token scope: ${parsed.word}`,
    );
  if (isEmptyScope(parsed.scope))
    throw new AppError("invalid_argument", "access token must have a scope");
  if (maker.scope === undefined) return parsed.scope;
  const outer = parseScope(maker.scope.split(","));
  if (outer.kind === "invalid" || !isWithin(parsed.scope, outer.scope))
    throw new AppError(
      "forbidden",
      "cannot create an access token with a broader scope than the authenticating token",
    );
  return { ...parsed.scope, publicOnly: parsed.scope.publicOnly || outer.scope.publicOnly };
}

const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

function toHash(salt: string, secret: string): string {
  return createHash("sha256").update(salt).update(secret).digest("hex");
}

function isEqualHex(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
