import type { ReactNode } from "react";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { type WireWikiPage, wikiEndpoints } from "../../contract/forge/repositories/wiki.ts";
import { AppError } from "../../errors.ts";
import { Rendered } from "../../pages/elements.tsx";
import { toPath } from "../../pages/page.ts";
import { notFound } from "../refusals.ts";
import type { ForgePageAnswer, ForgePageContext, RepositoryParams } from "./forge-page.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";

/** The first page of a wiki. */
export const HOME = "Home";

/** What every page of a wiki has. */
export interface WikiPlace {
  readonly context: ForgePageContext;
  readonly params: RepositoryParams;
  readonly repository: WireRepository;
  /** The page in the address, as it was encoded; `Home` in the address of the wiki. */
  readonly name: string;
  readonly home: string;
  /** The token of the forms of those who may write. */
  readonly token: string | undefined;
}

/** Throws `not_found` when the repository has no wiki, or the caller may not read the repository. */
export async function openPlace(
  context: ForgePageContext,
  { owner, repo }: RepositoryParams,
): Promise<WikiPlace> {
  const params = { owner, repo };
  const repository = await loadHead(context, params);
  if (!repository.has_wiki) throw notFound();
  const { session, request } = context;
  const mayWrite = repository.permissions?.push === true && !repository.archived;
  // Decoded, `+` and `%2B` would be the same.
  const encoded = /^\/[^/]+\/[^/]+\/wiki\/+([^?]*)/.exec(request.target)?.[1];
  return {
    context,
    params,
    repository,
    name: encoded?.replace(/\/+$/, "") || HOME,
    home: `${toPath(owner, repo)}/wiki`,
    token: mayWrite ? session?.formToken : undefined,
  };
}

/** Returns a page below the head of the repository. */
export function toWikiAnswer(
  { repository }: WikiPlace,
  title: string,
  body: ReactNode,
  status = 200,
): ForgePageAnswer {
  return {
    kind: "page",
    title: `${title} of the wiki of ${repository.full_name}`,
    status,
    body: (
      <>
        <RepositoryHead repository={repository} current="wiki" />
        {body}
      </>
    ),
  };
}

/** Renders a text of the wiki, which is base64; null for an empty one. */
export async function renderText({ context, repository }: WikiPlace, base64: string) {
  if (base64 === "") return null;
  const text = decodeText(base64);
  const html = await context.render({ text, mode: "wiki", context: `/${repository.full_name}` });
  return <Rendered html={html} text={text} />;
}

export const decodeText = (base64: string) => Buffer.from(base64, "base64").toString("utf8");

/** Returns undefined for a page that does not exist. */
export async function findPage({
  context,
  params,
  name,
}: WikiPlace): Promise<WireWikiPage | undefined> {
  return orMissing(async () => {
    const input = { params: { ...params, name } };
    return (await context.call(wikiEndpoints.getWikiPage, input)).body;
  });
}

export async function getPage(place: WikiPlace): Promise<WireWikiPage> {
  const page = await findPage(place);
  if (page === undefined) throw notFound();
  return page;
}

/** Returns undefined when the operation refuses with `not_found`. */
export async function orMissing<T>(load: () => Promise<T>): Promise<T | undefined> {
  try {
    return await load();
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return undefined;
    throw error;
  }
}
