import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  deleteBlock,
  insertBlock,
  isBlocked,
  listBlocked,
} from "../../../storage/tables/forge/accounts/blocks.ts";
import { isMember } from "../../../storage/tables/forge/accounts/orgs.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { blockEndpoints } from "../../contract/forge/accounts/blocks.ts";
import { AppError } from "../../errors.ts";
import { page } from "../../http/serve.ts";
import { toUserView } from "../accounts/user.view.ts";
import { getVisibleAccount } from "../accounts/users.service.ts";
import type { ForgeCaller } from "../caller.ts";
import type { ForgeFeature } from "../feature.ts";
import { serve } from "../handle.ts";
import type { GrantedOrganization } from "../opened.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import type { ForgeUrls } from "../urls.ts";
import { reopenOrganization } from "./organization-access.ts";

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
    const { id: blockedId } = await getVisibleAccount(db, name, caller);
    if (!(await isBlocked(db, { blockerId: blocker.id, blockedId }))) throw notFound();
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
      const { id: blockedId } = await getVisibleAccount(tx, name, caller);
      if (!(await deleteBlock(tx, { blockerId, blockedId })))
        throw new AppError("invalid_argument", "cannot unblock the user");
    });
  }
}

/** Returns the account that blocks, in the transaction of a change. */
type OpenBlocker = (tx: Transaction) => Promise<ForgeUser>;

const reopening =
  (opened: GrantedOrganization): OpenBlocker =>
  async (tx) =>
    (await reopenOrganization(tx, opened)).organization;
