import { createHash, timingSafeEqual } from "node:crypto";
import { type Database, isConflict } from "../../../storage/engine/database.ts";
import {
  countTokensOfUser,
  deleteToken,
  findTokenById,
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
import { writeIfPossible } from "../../utilities/within.ts";
import type { ForgeCaller } from "../caller.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { notFound, userNotFound } from "../refusals.ts";
import { isEmptyScope, isWithin, parseScope, toScopeWords, type TokenScope } from "./scopes.ts";
import { type TokenId, toTokenId } from "../../../storage/tables/forge/ids.ts";

/** A new token with its secret, which is not stored. */
export interface MadeToken {
  readonly token: ForgeToken;
  readonly secret: string;
}

/** The caller who creates a token, whose scope bounds the new one. */
export interface TokenCreator extends Pick<ForgeCaller, "hasEnded"> {
  /** The authenticating token's scope; undefined for a password. */
  readonly scope: string | undefined;
}

/** What a secret gives: as in `ForgeCaller`. */
type TokenOwner = Pick<ForgeCaller, "hasEnded"> & {
  readonly tokenId: TokenId;
  readonly user: ForgeUser;
  readonly scope: string;
};

export type Tokens = ReturnType<typeof createTokens>;

export interface TokensDeps {
  readonly db: Database;
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
}

const SECRET_BYTES = 20;
const SALT_BYTES = 10;
/** Minimum interval between updates of the last use, so that reads do not cost a write. */
const TOUCH_EVERY_MS = 60_000;
const SECRET_LENGTH_MIN = 8;

/** Access tokens of users. Only a salted hash of a secret is stored. */
export function createTokens({ db, clock, random }: TokensDeps) {
  const ownerOf = async (username: string) => {
    const user = await findUserByName(db, username);
    if (user === undefined) throw userNotFound(username);
    return user;
  };
  return {
    /** Returns a page of a user's tokens, newest first, and their count. Throws `not_found` for an unknown user. */
    async list(
      username: string,
      window: PageWindow,
    ): Promise<{ readonly tokens: readonly ForgeToken[]; readonly total: number }> {
      const owner = await ownerOf(username);
      const [tokens, total] = await Promise.all([
        listTokensOfUser(db, owner.id, toRows(window)),
        countTokensOfUser(db, owner.id),
      ]);
      return { tokens, total };
    },

    /**
     * Creates a token. Throws `invalid_argument` for a taken name or invalid scopes, `forbidden`
     * for scopes that the caller's token does not include, and for a token that ends by itself: the new one would outlive it.
     */
    async create(
      creator: TokenCreator,
      username: string,
      { name, scopes }: { readonly name: string; readonly scopes: readonly string[] },
    ): Promise<MadeToken> {
      if (creator.hasEnded !== undefined)
        throw new AppError("forbidden", "the token of an application cannot create access tokens");
      const owner = await ownerOf(username);
      const nameUsed = () =>
        new AppError("invalid_argument", "access token name has been used already");
      if ((await findTokenByName(db, owner.id, name)) !== undefined) throw nameUsed();
      const scope = toScopeFor(creator, scopes);
      const { secret, ...stored } = makeTokenSecret(random);
      const now = clock();
      try {
        const token = await db.transaction((tx) =>
          insertToken(tx, {
            userId: owner.id,
            name,
            ...stored,
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

    /** Deletes a token by id, or by name if that is not a positive number. Throws `not_found`. */
    async delete(username: string, idOrName: string): Promise<void> {
      const owner = await ownerOf(username);
      const id = /^\d{1,15}$/.test(idOrName) ? toTokenId(idOrName) : toTokenId(0);
      if (id === 0) {
        const token = await findTokenByName(db, owner.id, idOrName);
        if (token === undefined) throw notFound();
        await deleteToken(db, owner.id, token.id);
      } else if (!(await deleteToken(db, owner.id, id))) {
        throw new AppError("not_found", "access token not found");
      }
    },

    /** Returns the token that authenticates a request. Throws `not_found` for any other kind of credentials. */
    getCurrent,

    /** Deletes the token that authenticates a request. Throws as `getCurrent`. */
    async deleteCurrent(caller: ForgeCaller | undefined): Promise<void> {
      const token = await getCurrent(caller);
      await deleteToken(db, token.userId, token.id);
    },

    /** Finds the token of a secret, with its owner and scope. Updates its last use, at most once a minute. */
    async find(secret: string): Promise<TokenOwner | undefined> {
      const token = await findBySecret(secret);
      if (token === undefined || hasEnded(token)) return undefined;
      const user = await findUserById(db, token.userId);
      if (user === undefined) return undefined;
      const recording = recordUse(token);
      if (recording !== undefined) await recording;
      const ends = token.expiresAt === undefined ? {} : { hasEnded: () => hasEnded(token) };
      return { tokenId: token.id, user, scope: token.scope, ...ends };
    },
  };

  async function getCurrent(caller: ForgeCaller | undefined): Promise<ForgeToken> {
    const token =
      caller?.tokenId === undefined ? undefined : await findTokenById(db, caller.tokenId);
    if (token === undefined) throw new AppError("not_found", "invalid access token");
    return token;
  }

  async function findBySecret(secret: string): Promise<ForgeToken | undefined> {
    if (secret.length < SECRET_LENGTH_MIN) return undefined;
    const isIt = ({ hash, salt }: ForgeToken) => isEqualHex(hash, toHash(salt, secret));
    const lastEight = secret.slice(-8);
    // Secrets rarely share their last characters: a valid secret nearly always needs one row, and only an invalid one
    // with a known ending needs all rows.
    const first = await findTokenByLastEight(db, lastEight);
    if (first === undefined || isIt(first)) return first;
    return (await listTokensByLastEight(db, lastEight)).find(isIt);
  }

  function hasEnded({ expiresAt }: ForgeToken): boolean {
    return expiresAt !== undefined && expiresAt <= clock();
  }

  function recordUse(token: ForgeToken): Promise<void> | undefined {
    const now = clock();
    const isRecent = now >= token.lastUsedAt && now - token.lastUsedAt < TOUCH_EVERY_MS;
    return isRecent && token.lastUsedAt !== token.createdAt ? undefined : touch(token, now);
  }

  function touch(token: ForgeToken, now: number): Promise<void> {
    // A first use in the millisecond of the creation must differ from "never used".
    const at = Math.max(now, token.createdAt + 1);
    return writeIfPossible(() => touchToken(db, token.id, at));
  }
}

function toScopeFor(creator: TokenCreator, words: readonly string[]): TokenScope {
  // A word may itself be a comma list, the form in which scopes are stored.
  const parsed = parseScope(words.flatMap((word) => word.split(",")));
  if (parsed.kind === "invalid")
    throw new AppError(
      "invalid_argument",
      `invalid access token scope provided: invalid access token scope: ${parsed.word}`,
    );
  if (isEmptyScope(parsed.scope))
    throw new AppError("invalid_argument", "access token must have a scope");
  if (creator.scope === undefined) return parsed.scope;
  const outer = parseScope(creator.scope.split(","));
  if (outer.kind === "invalid" || !isWithin(parsed.scope, outer.scope))
    throw new AppError(
      "forbidden",
      "cannot create an access token with a broader scope than the authenticating token",
    );
  return { ...parsed.scope, publicOnly: parsed.scope.publicOnly || outer.scope.publicOnly };
}

/** Makes the secret of a token, with what is stored of it. */
export function makeTokenSecret(random: TokensDeps["random"]) {
  const secret = toHex(random(SECRET_BYTES));
  const salt = toHex(random(SALT_BYTES));
  return { secret, lastEight: secret.slice(-8), salt, hash: toHash(salt, secret) };
}

const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

function toHash(salt: string, secret: string): string {
  return createHash("sha256").update(salt).update(secret).digest("hex");
}

function isEqualHex(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
