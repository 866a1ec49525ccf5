import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { flag, generated, id, integer, json, now, optional, text } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type Page, type RecordOf, type Window } from "../../table.ts";
import type { OauthApplicationId, OauthGrantId, OauthSignInId, UserId } from "../ids.ts";

const applications = defineTable("forge_oauth_applications", {
  id: generated(id<OauthApplicationId>()),
  /** Undefined for an application that every server has. */
  ownerId: optional(id<UserId>()),
  name: text(),
  clientId: text(),
  /** SHA-256 in hex; empty without a secret. */
  secretHash: text(),
  redirectUris: json(z.array(z.string())),
  /** Whether the client can keep a secret. */
  isConfidential: flag(),
  /** Whether a public client that has the consent of a user gets codes without another. */
  skipsConsent: flag(),
  createdAt: now(),
});
/** A program that signs in by OAuth 2. */
export type OauthApplication = RecordOf<typeof applications>;

const grants = defineTable("forge_oauth_grants", {
  id: generated(id<OauthGrantId>()),
  userId: id<UserId>(),
  applicationId: id<OauthApplicationId>(),
  /** Words of OpenID Connect and of tokens, separated by spaces. */
  scope: text(),
  createdAt: now(),
  updatedAt: now(),
});
/** What a user lets an application do. Times are epoch milliseconds. */
export type OauthGrant = RecordOf<typeof grants>;

const signIns = defineTable("forge_oauth_sign_ins", {
  id: generated(id<OauthSignInId>()),
  grantId: id<OauthGrantId>(),
  scope: text(),
  codeHash: text(),
  redirectUri: text(),
  /** Of the method S256; empty without one. */
  codeChallenge: text(),
  nonce: text(),
  /** The end of the code, then of the refresh token. */
  expiresAt: integer(),
  /** When the code was exchanged. */
  usedAt: optional(integer()),
  /** Names the sign-in in its refresh tokens. */
  refreshKey: optional(text()),
  refreshHash: optional(text()),
  createdAt: now(),
});
/** One sign-in: a code, then the refresh token that it was exchanged for. Secrets are SHA-256 in hex. */
export type OauthSignIn = RecordOf<typeof signIns>;

type ApplicationText = Pick<
  OauthApplication,
  "name" | "secretHash" | "redirectUris" | "isConfidential" | "skipsConsent"
>;

export function insertApplication(
  tx: Transaction,
  application: ApplicationText & { readonly ownerId: UserId; readonly clientId: string },
): Promise<OauthApplication> {
  return applications.insert(tx, application);
}

export function findApplication(
  db: Queries,
  ownerId: UserId,
  id: OauthApplicationId,
): Promise<OauthApplication | undefined> {
  return applications.find(db, { ownerId, id });
}

export function findApplicationByClientId(
  db: Queries,
  clientId: string,
): Promise<OauthApplication | undefined> {
  return applications.find(db, { clientId });
}

/** Returns a page of a user's applications, oldest first, and the count of all. */
export function listApplications(
  db: Queries,
  ownerId: UserId,
  window: Window,
): Promise<Page<OauthApplication>> {
  return applications.page(db, { ownerId }, { ...window, order: "id" });
}

export function countApplications(db: Queries, ownerId: UserId): Promise<number> {
  return applications.count(db, { ownerId });
}

export function updateApplication(
  tx: Transaction,
  { ownerId, id }: Pick<OauthApplication, "ownerId" | "id">,
  changes: ApplicationText,
): Promise<OauthApplication | undefined> {
  return applications.change(tx, { ownerId, id }, changes);
}

/** Deletes an application with its grants. Returns whether there was one. */
export async function deleteApplication(
  tx: Transaction,
  ownerId: UserId,
  id: OauthApplicationId,
): Promise<boolean> {
  return (await applications.delete(tx, { ownerId, id })) > 0;
}

export function findGrant(
  db: Queries,
  userId: UserId,
  applicationId: OauthApplicationId,
): Promise<OauthGrant | undefined> {
  return grants.find(db, { userId, applicationId });
}

export function findGrantById(db: Queries, id: OauthGrantId): Promise<OauthGrant | undefined> {
  return grants.find(db, { id });
}

/** Records a consent; a new one replaces the scope of the last. */
export async function saveGrant(
  tx: Transaction,
  grant: Pick<OauthGrant, "userId" | "applicationId" | "scope">,
): Promise<OauthGrant> {
  const saved = await grants.upsert(
    tx,
    grant,
    "ON CONFLICT (user_id, application_id) DO UPDATE SET scope = excluded.scope, updated_at = excluded.updated_at",
  );
  if (saved === undefined) throw new Error("the statement for the grant returned no row");
  return saved;
}

/** A grant with the application that has it. */
export interface ListedGrant {
  readonly grant: OauthGrant;
  readonly application: OauthApplication;
}

/** Returns the grants of a user, the newest consent first. */
export async function listGrants(
  db: Queries,
  userId: UserId,
  limit: number,
): Promise<ListedGrant[]> {
  const found = await grants.list(db, { userId }, { order: "updated_at DESC, id DESC", limit });
  if (found.length === 0) return [];
  const ids = found.map(({ applicationId }) => applicationId);
  const byId = new Map((await applications.list(db, { id: ids })).map((each) => [each.id, each]));
  return found.flatMap((grant) => {
    const application = byId.get(grant.applicationId);
    return application === undefined ? [] : [{ grant, application }];
  });
}

/** Deletes a grant with its sign-ins and tokens. Returns whether there was one. */
export async function deleteGrant(db: Queries, userId: UserId, id: OauthGrantId): Promise<boolean> {
  return (await grants.delete(db, { userId, id })) > 0;
}

/** Adds a sign-in that has a code only. Deletes those of the grant that have ended, and its oldest ones beyond `max`. */
export async function insertSignIn(
  tx: Transaction,
  signIn: Pick<
    OauthSignIn,
    "grantId" | "scope" | "codeHash" | "redirectUri" | "codeChallenge" | "nonce" | "expiresAt"
  >,
  max: number,
): Promise<void> {
  const { grantId } = signIn;
  await signIns.insert(tx, signIn);
  await signIns.delete(
    tx,
    sql`grant_id = ${grantId} AND (expires_at < ${tx.now} OR id NOT IN (
          SELECT s.id FROM forge_oauth_sign_ins s WHERE s.grant_id = ${grantId} ORDER BY s.id DESC LIMIT ${max}))`,
  );
}

export function findSignInByCode(db: Queries, codeHash: string): Promise<OauthSignIn | undefined> {
  return signIns.find(db, { codeHash });
}

export function findSignInByRefreshKey(
  db: Queries,
  refreshKey: string,
): Promise<OauthSignIn | undefined> {
  return signIns.find(db, { refreshKey });
}

export function findSignInById(db: Queries, id: OauthSignInId): Promise<OauthSignIn | undefined> {
  return signIns.find(db, { id });
}

interface NextRefresh {
  readonly refreshKey: string;
  readonly refreshHash: string;
  readonly expiresAt: number;
}

/** Marks a code as exchanged. Returns false when it was before: of concurrent callers one gets true. */
export async function takeCode(
  tx: Transaction,
  id: OauthSignInId,
  next: NextRefresh,
): Promise<boolean> {
  const where = sql`id = ${id} AND used_at IS NULL`;
  return (await signIns.update(tx, where, { ...next, usedAt: tx.now })) > 0;
}

/** Replaces a refresh token. Returns false when another has replaced it: of concurrent callers one gets true. */
export async function takeRefreshToken(
  tx: Transaction,
  { id, refreshHash }: Pick<OauthSignIn, "id" | "refreshHash">,
  next: Omit<NextRefresh, "refreshKey">,
): Promise<boolean> {
  return (await signIns.update(tx, { id, refreshHash }, next)) > 0;
}

/** Ends a sign-in with its tokens. Idempotent. */
export async function deleteSignIn(db: Queries, id: OauthSignInId): Promise<void> {
  await signIns.delete(db, { id });
}
