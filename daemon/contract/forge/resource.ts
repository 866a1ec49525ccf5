import { z } from "zod";
import {
  anyoneWithin,
  type AnyEndpoint,
  type Endpoint,
  forgeUser,
  type ScopeCategory,
} from "../endpoint.ts";
import {
  createVerbs,
  type ListQuery,
  type ListDetails,
  type ListEndpoint,
  type ResourceBase,
  type Verbs,
} from "../resource.ts";
import { apiError, canBeRefused, paging } from "./common.ts";

/** Anyone may read; changes need a sign-in. Tokens need the scope for both. */
export const openTo = <S extends ScopeCategory>(scope: S) =>
  ({ read: anyoneWithin(scope), change: forgeUser(scope) }) as const;

interface ForgeVerbs<B extends ResourceBase> extends Verbs<B> {
  /** Lists items in pages, which the headers of the response describe. */
  list<const D extends ListDetails = object>(
    summary: string,
    details?: D,
  ): ListEndpoint<B, D, ListQuery<D, typeof paging>, z.ZodArray<NonNullable<B["shape"]>>>;
}

/** Declares the operations of a resource of the forge, under the names of the command line's client. */
export function resource<
  const B extends ResourceBase,
  const Endpoints extends Readonly<Record<string, AnyEndpoint>>,
>(base: B, declare: (verbs: ForgeVerbs<B>) => Endpoints): Endpoints {
  const { verbs, make, shape } = createVerbs(base, { refusal: apiError, refusalsOf });
  const list = (summary: string, { filters, ...details }: ListDetails = {}) =>
    make("list", {
      method: "GET",
      summary,
      query: z.object({ ...filters, ...paging }),
      paging: "link_and_total",
      ...details,
      replies: { 200: z.array(shape()) },
    });
  return declare({ ...verbs, list } as unknown as ForgeVerbs<B>);
}

/**
 * Wrong credentials are refused everywhere, and so is an account that must change its password: its clients may still send
 * credentials to an operation that anyone may call.
 */
function refusalsOf(declared: Omit<Endpoint, "replies">): number[] {
  const { params, query, body, limit } = declared;
  return [
    401,
    403,
    ...(params === undefined ? [] : [404]),
    ...(body !== undefined || (query !== undefined && canBeRefused(query)) ? [422] : []),
    ...(changesRepository(declared) ? [423] : []),
    ...(limit === undefined ? [] : [429]),
  ];
}

/** Whether an archived repository refuses it. */
function changesRepository({ method, path, acceptsArchived }: Omit<Endpoint, "replies">): boolean {
  const isBelow = /^\/api\/v1\/repos\/:owner\/:repo(?:\/|$)/.test(path);
  return isBelow && method !== "GET" && acceptsArchived !== true;
}
