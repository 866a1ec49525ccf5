import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import {
  deleteBlock,
  insertBlock,
  isBlocked,
  listBlocked,
} from "../../../storage/tables/forge/accounts/blocks.ts";
import { isMember } from "../../../storage/tables/forge/accounts/orgs.ts";
import { findUserByName, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";
import { blockEndpoints } from "../../contract/forge/accounts/blocks.ts";
import { AppError } from "../../errors.ts";
import { page } from "../../http/serve.ts";
import { toUserView } from "../accounts/user.view.ts";
import { getVisibleAccount } from "../accounts/users.service.ts";
import type { ForgeCaller } from "../caller.ts";
import type { ForgeFeature } from "../feature.ts";
import { serve } from "../handle.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import type { ForgeUrls } from "../urls.ts";
import { reopening } from "./organization-access.ts";

/** Users whom users and organizations have blocked. What a block refuses is in subscribers/blocks.ts and `assertNotBlocked`. */
export function createForgeBlocks({
  db,
  urls,
}: {
  readonly db: Database;
  readonly urls: ForgeUrls;
}) {
  return {
    routes: serve(blockEndpoints, {
      listOwnBlocks: ({ caller, query }) => list(caller.user, query, caller),
      checkOwnBlock: ({ caller, params }) => check(caller.user, params.username, caller),
      blockUser: ({ caller, params, query }) =>
        block(async () => caller.user, params.username, query.note, caller),
      unblockUser: ({ caller, params }) =>
        unblock(async () => caller.user, params.username, caller),
      listOrganizationBlocks: ({ opened, caller, query }) =>
        list(opened.organization, query, caller),
      checkOrganizationBlock: ({ opened, caller, params }) =>
        check(opened.organization, params.username, caller),
      blockOfOrganization: ({ opened, caller, params, query }) =>
        block(reopening(opened), params.username, query.note, caller),
      unblockOfOrganization: ({ opened, caller, params }) =>
        unblock(reopening(opened), params.username, caller),
    }),
  } satisfies ForgeFeature;

  async function list({ id }: ForgeUser, window: PageWindow, caller: ForgeCaller) {
    const { users, total } = await listBlocked(db, id, toRows(window));
    return page(
      users.map((user) => toUserView(user, caller.user, urls)),
      total,
    );
  }

  async function check(blocker: ForgeUser, name: string, caller: ForgeCaller): Promise<void> {
    const pair = await findPair(db, blocker.id, name, caller);
    if (!(await isBlocked(db, pair))) throw notFound();
  }

  /** Throws `invalid_argument` for oneself, an organization, one of its members, and a user who is blocked. */
  async function block(
    open: OpenBlocker,
    name: string,
    note: string,
    caller: ForgeCaller,
  ): Promise<void> {
    await db.transaction(async (tx) => {
      const blocker = await open(tx);
      const user = await getVisibleAccount(tx, name, caller);
      if (user.kind === "organization")
        throw new AppError("invalid_argument", "cannot block an organization");
      const pair = { blockerId: blocker.id, blockedId: user.id };
      const isOwn = user.id === blocker.id || user.id === caller.user.id;
      if (isOwn || (await isMember(tx, blocker.id, user.id)) || (await isBlocked(tx, pair)))
        throw new AppError("invalid_argument", "cannot block the user");
      await insertBlock(tx, pair, note);
    });
  }

  /** Throws `invalid_argument` for a user who is not blocked. */
  async function unblock(open: OpenBlocker, name: string, caller: ForgeCaller): Promise<void> {
    await db.transaction(async (tx) => {
      const { id: blockerId } = await open(tx);
      if (!(await deleteBlock(tx, await findPair(tx, blockerId, name, caller))))
        throw new AppError("invalid_argument", "cannot unblock the user");
    });
  }
}

/** Returns the pair of a blocker and a name. Who is blocked stays known to the blocker, whose list shows them. */
async function findPair(db: Queries, blockerId: UserId, name: string, caller: ForgeCaller) {
  const user = await findUserByName(db, name);
  const pair = user && { blockerId, blockedId: user.id };
  if (pair !== undefined && (await isBlocked(db, pair))) return pair;
  return { blockerId, blockedId: (await getVisibleAccount(db, name, caller)).id };
}

/** Returns the account that blocks, in the transaction of a change. */
type OpenBlocker = (tx: Transaction) => Promise<ForgeUser>;
