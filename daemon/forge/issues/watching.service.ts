import type { Database } from "../../../storage/engine/database.ts";
import {
  listSubscribers,
  listSubscriptions,
  setSubscription,
} from "../../../storage/tables/forge/issues/issues.ts";
import { deleteWatch, findWatch } from "../../../storage/tables/forge/notifications.ts";
import { insertWatch, listWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import type { UserPage } from "../../../storage/tables/forge/accounts/user-lists.ts";
import { findUserByName } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { toReader } from "../accounts/scopes.ts";
import { isVisibleTo } from "../accounts/users.service.ts";
import { assertNotBlocked } from "../accounts/not-blocked.ts";
import type { ForgeCaller } from "../caller.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { assertScope } from "../repositories/access.ts";
import type { OwnedRepository } from "../events.ts";
import type { GrantedRepository } from "../opened.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import { openIssue } from "./issue-access.ts";

/** Whether a user is subscribed to a repository or an issue, and since when (epoch milliseconds). */
export interface Watch {
  readonly owned: OwnedRepository;
  /** The number of the issue; undefined for a repository. */
  readonly number: number | undefined;
  readonly isSubscribed: boolean;
  readonly since: number;
}

/** Watches of repositories and subscriptions to issues. */
export type Watching = ReturnType<typeof createWatching>;

/** Creates the service of watches and subscriptions. */
export function createWatching({ db }: { readonly db: Database }) {
  return {
    /** Refuses with `not_found` when the caller does not watch the repository. */
    async getWatch(owned: GrantedRepository, caller: ForgeCaller): Promise<Watch> {
      assertScope(caller.scope, "read", owned);
      const since = await findWatch(db, owned.repository.id, caller.user.id);
      if (since === undefined) throw notFound();
      return { owned, number: undefined, isSubscribed: true, since };
    },

    async watch(opened: GrantedRepository, caller: ForgeCaller): Promise<Watch> {
      return db.transaction(async (tx) => {
        const owned = await reopenRepository(tx, opened);
        assertScope(caller.scope, "write", owned);
        const ids = { repositoryId: owned.repository.id, userId: caller.user.id };
        await assertNotBlocked(tx, ids.userId, [owned.owner.id]);
        await insertWatch(tx, { ...ids, createdAt: tx.now });
        const since = (await findWatch(tx, ids.repositoryId, ids.userId)) ?? tx.now;
        return { owned, number: undefined, isSubscribed: true, since };
      });
    },

    async unwatch(owned: GrantedRepository, caller: ForgeCaller): Promise<void> {
      assertScope(caller.scope, "write", owned);
      await deleteWatch(db, owned.repository.id, caller.user.id);
    },

    /**
     * Returns the caller's subscription to an issue: the explicit one, else the implicit one of a watcher or the
     * author.
     */
    async check(owned: GrantedRepository, number: number, caller: ForgeCaller): Promise<Watch> {
      const issue = await openIssue(db, owned, number);
      const { id } = caller.user;
      const isSubscribed =
        (await listSubscriptions(db, issue.id)).get(id) ??
        (issue.authorId === id || (await listWatchers(db, owned.repository.id)).includes(id));
      return { owned, number: issue.number, isSubscribed, since: issue.createdAt };
    },

    /** Lists the users who subscribed to an issue and whom the caller may see. */
    async listSubscribers(
      owned: GrantedRepository,
      number: number,
      caller: ForgeCaller | undefined,
      window: PageWindow,
    ): Promise<UserPage> {
      const issue = await openIssue(db, owned, number);
      return listSubscribers(db, issue.id, { reader: toReader(caller), window: toRows(window) });
    },

    /** Sets a subscription. Only site administrators may set those of other users. Returns whether it changed. */
    async setSubscription(
      opened: GrantedRepository,
      at: { readonly index: number; readonly user: string },
      caller: ForgeCaller,
      isSubscribed: boolean,
    ): Promise<boolean> {
      return db.transaction(async (tx) => {
        const issue = await openIssue(tx, await reopenRepository(tx, opened), at.index);
        const user = await findUserByName(tx, at.user);
        if (user?.kind !== "individual" || !isVisibleTo(user, caller.user)) throw notFound();
        if (user.id !== caller.user.id && !caller.user.isAdmin)
          throw new AppError(
            "forbidden",
            `${caller.user.name} is not permitted to change subscriptions for ${user.name}`,
          );
        return setSubscription(tx, issue.id, user.id, isSubscribed);
      });
    },
  };
}
