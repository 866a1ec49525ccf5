import { starEndpoints } from "../../contract/forge/repositories/stars.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import { toUserView } from "../accounts/user.view.ts";
import type { ForgeCaller } from "../caller.ts";
import { serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { RepositoryPage } from "./repository-lists.service.ts";
import { toRepositoryView } from "./repository.view.ts";
import type { Stars } from "./stars.service.ts";

type UserPage = Awaited<ReturnType<Stars["listUsers"]>>;

/** Routes of stars, and of the lists of repositories that users star and watch. */
export function starRoutes({
  stars,
  urls,
}: {
  readonly stars: Stars;
  readonly urls: ForgeUrls;
}): Route[] {
  const toRepositories = ({ repositories, total }: RepositoryPage) =>
    page(
      repositories.map((details) => toRepositoryView(details, urls)),
      total,
    );
  const toUsers = ({ users, total }: UserPage, caller: ForgeCaller | undefined) =>
    page(
      users.map((user) => toUserView(user, caller?.user, urls)),
      total,
    );
  return serve(starEndpoints, {
    listOwnStars: async ({ caller, query }) =>
      toRepositories(await stars.listOwn("star", query, caller)),
    listOwnWatched: async ({ caller, query }) =>
      toRepositories(await stars.listOwn("watch", query, caller)),
    listUserStars: async ({ caller, params, query }) =>
      toRepositories(await stars.listOfUser("star", params.username, query, caller)),
    listUserWatched: async ({ caller, params, query }) =>
      toRepositories(await stars.listOfUser("watch", params.username, query, caller)),
    listStargazers: async ({ opened, caller, query }) =>
      toUsers(await stars.listUsers("star", opened, query, caller), caller),
    listSubscribers: async ({ opened, caller, query }) =>
      toUsers(await stars.listUsers("watch", opened, query, caller), caller),
    checkStar: ({ opened, caller }) => stars.assertStarred(opened, caller),
    starRepository: ({ opened, caller }) => stars.star(opened, caller),
    unstarRepository: ({ opened, caller }) => stars.unstar(opened, caller),
  });
}
