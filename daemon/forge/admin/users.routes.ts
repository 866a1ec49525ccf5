import { createUser, listUsers } from "../../contract/forge/admin-users.ts";
import type { Route } from "../../http/handle.ts";
import { toUserView } from "../accounts/user.view.ts";
import type { Users } from "../accounts/users.service.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toUserListQuery, toWantedUser } from "./user-requests.view.ts";

/** Routes of user administration. */
export function adminUserRoutes({ users, urls }: { users: Users; urls: ForgeUrls }): Route[] {
  return [
    handle(listUsers, async ({ caller, query }) => {
      const { users: found, total } = await users.search(toUserListQuery(query), query);
      return { status: 200, body: found.map((user) => toUserView(user, caller.user, urls)), total };
    }),
    handle(createUser, async ({ caller, body }) => ({
      status: 201,
      body: toUserView(await users.create(toWantedUser(body)), caller.user, urls),
    })),
  ];
}
