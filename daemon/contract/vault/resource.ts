import { z } from "zod";
import type { AnyEndpoint, Endpoint } from "../endpoint.ts";
import {
  createVerbs,
  type ListQuery,
  type ListDetails,
  type ListEndpoint,
  type ResourceBase,
  type Verbs,
} from "../resource.ts";
import { detail, pageOf, paging } from "./common.ts";

interface VaultVerbs<B extends ResourceBase> extends Verbs<B> {
  /** Lists items in pages. */
  list<const D extends ListDetails = object>(
    summary: string,
    details?: D,
  ): ListEndpoint<
    B,
    D,
    ListQuery<D, typeof paging>,
    ReturnType<typeof pageOf<NonNullable<B["shape"]>>>
  >;
}

/** Declares the operations of a resource of the vault, under the names of the command line's client. */
export function resource<
  const B extends ResourceBase,
  const Endpoints extends Readonly<Record<string, AnyEndpoint>>,
>(base: B, declare: (verbs: VaultVerbs<B>) => Endpoints): Endpoints {
  const { verbs, make, shape } = createVerbs(base, { refusal: detail, refusalsOf });
  const list = (summary: string, { filters, ...details }: ListDetails = {}) =>
    make("list", {
      method: "GET",
      summary,
      query: z.object({ ...filters, ...paging }),
      ...details,
      replies: { 200: pageOf(shape()) },
    });
  return declare({ ...verbs, list } as unknown as VaultVerbs<B>);
}

function refusalsOf(declared: Omit<Endpoint, "replies">): number[] {
  const { gate, params, query, body, limit } = declared;
  const isOpen = gate.admits === "anyone" || gate.admits === "vault_upload_address";
  return [
    ...(isOpen ? [] : [401, ...(admitsAll(declared) ? [] : [403])]),
    ...(params === undefined ? [] : [404]),
    ...((params ?? query ?? body) === undefined ? [] : [422]),
    ...(limit === undefined ? [] : [429]),
  ];
}

/** Whether every account and every machine token may call it. */
function admitsAll({ gate, method, onlyReads }: Omit<Endpoint, "replies">): boolean {
  if (gate.admits !== "vault_account" || gate.refusesMachineTokens === true) return false;
  return method === "GET" || onlyReads === true;
}
