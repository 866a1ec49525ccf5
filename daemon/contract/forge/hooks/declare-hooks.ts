import { z } from "zod";
import type { Gate } from "../../endpoint.ts";
import {
  deliveryDetailsShape,
  deliveryShape,
  deliveryStates,
  hookEditQuery,
  hookEditShape,
  hookShape,
  newHookShape,
} from "./admin-hooks.ts";
import { paging, pathInteger, queryWord } from "../common.ts";
import type { Permission } from "../../permission.ts";
import { resource } from "../resource.ts";

/** The owner of the hooks, and their path. `shape` has the parameters of the path. */
interface HookPlace<
  P extends string,
  G extends Gate,
  S extends z.ZodRawShape,
  On extends Permission,
> {
  readonly name: string;
  /** The path between `/api/v1/` and `/hooks`. */
  readonly below: P;
  readonly gate: G;
  readonly on: On;
  readonly shape: S;
  readonly of: string;
  readonly acceptsArchived?: true;
}

/** Declares the routes of the hooks of one place: a repository, an organization or a user. */
export function declareHooks<
  const P extends string,
  const G extends Gate,
  S extends z.ZodRawShape,
  const On extends Permission,
>({ name, below, shape, of, ...common }: HookPlace<P, G, S, On>) {
  const path = `/api/v1/${below}/hooks` as const;
  const id = { id: pathInteger.brand<"HookId">() };
  return {
    ...resource(
      { name, path, params: z.object(shape), id, shape: hookShape, ...common },
      ({ list, create, get, edit, remove }) => ({
        list: list(`The hooks of ${of}`),
        create: create(`Create a hook of ${of}; inactive unless requested`, newHookShape, {
          refuses: [400],
        }),
        get: get(`A hook of ${of}`),
        edit: edit(
          `Change a hook of ${of}; events, branch filter and authorization header are replaced even when absent`,
          hookEditShape,
          { query: hookEditQuery, refuses: [400] },
        ),
        delete: remove(`Delete a hook of ${of} with its deliveries`),
      }),
    ),
    ...resource(
      {
        name: `${name}.deliveries`,
        path: `${path}/:id/deliveries`,
        params: z.object({ ...shape, ...id }),
        id: { delivery_id: pathInteger.brand<"DeliveryId">() },
        shape: deliveryDetailsShape,
        ...common,
      },
      ({ get, operation }) => ({
        listDeliveries: operation({
          as: "list",
          method: "GET",
          summary: `The deliveries of a hook of ${of}, newest first`,
          query: z.object({ ...paging, state: queryWord(deliveryStates) }),
          paging: "link_and_total",
          replies: { 200: z.array(deliveryShape) },
        }),
        getDelivery: get("A delivery with its request and response"),
        redeliver: operation({
          method: "POST",
          item: true,
          at: "redeliver",
          summary: "Deliver the same payload once more, as a delivery of its own",
          replies: { 201: deliveryShape },
        }),
      }),
    ),
  };
}
