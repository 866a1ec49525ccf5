import {
  createUser,
  deleteUser,
  editUser,
  listUsers,
  renameUser,
} from "../../contract/forge/accounts/admin-users.ts";
import type { Route } from "../../http/handle.ts";
import { toUserView } from "../accounts/user.view.ts";
import type { Users } from "../accounts/users.service.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toUserEdit, toUserListQuery, toWantedUser } from "./user-requests.view.ts";

/** Routes of user administration. */
export function adminUserRoutes({ users, urls }: { users: Users; urls: ForgeUrls }): Route[] {
  return [
    handle(listUsers, async ({ caller, query }) => {
      const { users: found, total } = await users.search(toUserListQuery(query), query, caller);
      return { status: 200, body: found.map((user) => toUserView(user, caller.user, urls)), total };
    }),
    handle(createUser, async ({ caller, body }) => ({
      status: 201,
      body: toUserView(await users.create(toWantedUser(body)), caller.user, urls),
    })),
    handle(editUser, async ({ caller, params, body }) => ({
      status: 200,
      body: toUserView(await users.edit(params.username, toUserEdit(body)), caller.user, urls),
    })),
    handle(deleteUser, async ({ caller, params, query }) => {
      await users.remove(params.username, { callerId: caller.user.id, purge: query.purge });
      return { status: 204 };
    }),
    handle(renameUser, async ({ params, body }) => {
      await users.rename(params.username, body.new_username);
      return { status: 204 };
    }),
  ];
}
