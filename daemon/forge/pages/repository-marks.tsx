import { issueEndpoints } from "../../contract/forge/issues/issues.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { starEndpoints } from "../../contract/forge/repositories/stars.ts";
import { toCount } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { post, toLocalPath, toPath } from "../../pages/page.ts";
import { notFound } from "../refusals.ts";
import {
  findRefusal,
  type ForgePageContext,
  type ForgePageRoute,
  type RepositoryParams,
  toSignIn,
} from "./forge-page.ts";

/** Whether the person of a page has starred a repository and watches it. */
export interface Marks {
  readonly isStarred: boolean;
  readonly isWatched: boolean;
  readonly token: string;
  /** The page that the buttons lead back to. */
  readonly back: string;
}

/** The target of the buttons, at the addresses of Gitea. */
export const markPage: ForgePageRoute = post("/:owner/:repo/action/:action", setMark);

/** Loads what the person has marked a repository as; undefined for anonymous callers. */
export async function loadMarks(
  { call, request, session }: ForgePageContext,
  params: RepositoryParams,
): Promise<Marks | undefined> {
  if (session === undefined) return undefined;
  const isFound = async (work: () => Promise<unknown>) =>
    (await findRefusal(["not_found"], work)) === undefined;
  const [isStarred, isWatched] = await Promise.all([
    isFound(() => call(starEndpoints.checkStar, { params })),
    isFound(() => call(issueEndpoints.getWatch, { params })),
  ]);
  return {
    isStarred,
    isWatched,
    token: session.formToken,
    // The target of a form that is shown again is no page.
    back: request.method === "POST" ? toPath(params.owner, params.repo) : request.target,
  };
}

/** The counts of stars and watchers, with the buttons of a signed-in person. */
export function RepositoryMarks({
  repository,
  marks,
}: {
  repository: WireRepository;
  marks: Marks | undefined;
}) {
  const { owner, name, stars_count: stars, watchers_count: watchers } = repository;
  const counts = [
    { count: toCount(stars, "star"), isSet: marks?.isStarred, set: "Star", unset: "Unstar" },
    {
      count: toCount(watchers, "watcher"),
      isSet: marks?.isWatched,
      set: "Watch",
      unset: "Unwatch",
    },
  ];
  return (
    <div className="actions">
      {counts.map(({ count, isSet, set, unset }) => {
        if (marks === undefined)
          return (
            <span key={set} className="quiet">
              {count}
            </span>
          );
        const text = isSet === true ? unset : set;
        const action = toPath(owner.login, name, "action", text.toLowerCase());
        return (
          <Form key={set} action={action} token={marks.token} className="inline">
            <input type="hidden" name="redirect_to" value={marks.back} />
            <button type="submit">{text}</button> <span className="quiet">{count}</span>
          </Form>
        );
      })}
    </div>
  );
}

const actions = {
  star: starEndpoints.starRepository,
  unstar: starEndpoints.unstarRepository,
  watch: issueEndpoints.watchRepository,
  unwatch: issueEndpoints.unwatchRepository,
} as const;

async function setMark(
  { call, form, session }: ForgePageContext,
  { owner, repo, action }: RepositoryParams & { readonly action: string },
) {
  const home = toPath(owner, repo);
  if (session === undefined) return toSignIn(home);
  if (!isAction(action)) throw notFound();
  await call(actions[action], { params: { owner, repo } });
  const back = form.get("redirect_to");
  return { kind: "redirect", to: back === null ? home : toLocalPath(back) } as const;
}

const isAction = (word: string): word is keyof typeof actions => Object.hasOwn(actions, word);
