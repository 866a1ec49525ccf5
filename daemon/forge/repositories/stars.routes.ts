import { starEndpoints } from "../../contract/forge/repositories/stars.ts";
import type { Route } from "../../http/handle.ts";
import { toUserView } from "../accounts/user.view.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { RepositoryPage } from "./repository-lists.service.ts";
import { toRepositoryView } from "./repository.view.ts";
import type { Stars } from "./stars.service.ts";

/** Routes of stars, and of the lists of repositories that users star and watch. */
export function starRoutes({
  stars,
  urls,
}: {
  readonly stars: Stars;
  readonly urls: ForgeUrls;
}): Route[] {
  const own = [
    [starEndpoints.listOwnStars, "star"],
    [starEndpoints.listOwnWatched, "watch"],
  ] as const;
  const ofUser = [
    [starEndpoints.listUserStars, "star"],
    [starEndpoints.listUserWatched, "watch"],
  ] as const;
  const ofRepository = [
    [starEndpoints.listStargazers, "star"],
    [starEndpoints.listSubscribers, "watch"],
  ] as const;
  return [
    ...own.map(([declared, mark]) =>
      handle(declared, async ({ caller, query }) =>
        toPage(await stars.listOwn(mark, query, caller)),
      ),
    ),
    ...ofUser.map(([declared, mark]) =>
      handle(declared, async ({ caller, params, query }) =>
        toPage(await stars.listOfUser(mark, params.username, query, caller)),
      ),
    ),
    ...ofRepository.map(([declared, mark]) =>
      handle(declared, async ({ caller, params, query }) => {
        const { users, total } = await stars.listUsers(mark, params, query, caller);
        const body = users.map((user) => toUserView(user, caller?.user, urls));
        return { status: 200, body, total };
      }),
    ),
    handle(starEndpoints.checkStar, async ({ caller, params }) => {
      await stars.assertStarred(params, caller);
      return { status: 204 };
    }),
    handle(starEndpoints.starRepository, async ({ caller, params }) => {
      await stars.star(params, caller);
      return { status: 204 };
    }),
    handle(starEndpoints.unstarRepository, async ({ caller, params }) => {
      await stars.unstar(params, caller);
      return { status: 204 };
    }),
  ];

  function toPage({ repositories, total }: RepositoryPage) {
    const body = repositories.map((details) => toRepositoryView(details, urls));
    return { status: 200 as const, body, total };
  }
}
