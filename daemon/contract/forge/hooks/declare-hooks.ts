import { z } from "zod";
import { empty, endpoint, type Gate } from "../../endpoint.ts";
import {
  deliveryDetailsShape,
  deliveryShape,
  deliveryStates,
  hookEditQuery,
  hookEditShape,
  hookShape,
  newHookShape,
} from "./admin-hooks.ts";
import { apiError, paging, pathInteger, queryWord, signedInReplies } from "../common.ts";

/** The owner of the hooks, and their path. `shape` has the parameters of the path. */
interface HookPlace<P extends string, G extends Gate, S extends z.ZodRawShape> {
  readonly name: string;
  /** The path between `/api/v1/` and `/hooks`. */
  readonly below: P;
  readonly gate: G;
  readonly shape: S;
  readonly of: string;
}

/** Declares the routes of the hooks of one place: a repository, an organization or a user. */
export function declareHooks<
  const P extends string,
  const G extends Gate,
  S extends z.ZodRawShape,
>({ name, below, gate, shape, of }: HookPlace<P, G, S>) {
  const params = z.object(shape);
  const hookParams = z.object({ ...shape, id: pathInteger.brand<"HookId">() });
  const deliveryParams = z.object({
    ...shape,
    id: pathInteger.brand<"HookId">(),
    delivery_id: pathInteger.brand<"DeliveryId">(),
  });
  const path = `/api/v1/${below}/hooks` as const;
  const hookPath = `${path}/:id` as const;
  const deliveries = `${hookPath}/deliveries` as const;
  const refused = { ...signedInReplies, 404: apiError } as const;
  return {
    list: endpoint({
      name: `${name}.list`,
      method: "GET",
      path,
      summary: `The hooks of ${of}`,
      gate,
      params,
      query: z.object(paging),
      paging: "link_and_total",
      replies: { 200: z.array(hookShape), ...refused },
    }),
    create: endpoint({
      name: `${name}.create`,
      method: "POST",
      path,
      summary: `Create a hook of ${of}; inactive unless requested`,
      gate,
      params,
      body: newHookShape,
      replies: { 201: hookShape, 400: apiError, ...refused, 422: apiError },
    }),
    get: endpoint({
      name: `${name}.get`,
      method: "GET",
      path: hookPath,
      summary: `A hook of ${of}`,
      gate,
      params: hookParams,
      replies: { 200: hookShape, ...refused },
    }),
    edit: endpoint({
      name: `${name}.edit`,
      method: "PATCH",
      path: hookPath,
      summary: `Change a hook of ${of}; events, branch filter and authorization header are replaced even when absent`,
      gate,
      params: hookParams,
      query: hookEditQuery,
      body: hookEditShape,
      replies: { 200: hookShape, 400: apiError, ...refused, 422: apiError },
    }),
    delete: endpoint({
      name: `${name}.delete`,
      method: "DELETE",
      path: hookPath,
      summary: `Delete a hook of ${of} with its deliveries`,
      gate,
      params: hookParams,
      replies: { 204: empty, ...refused },
    }),
    listDeliveries: endpoint({
      name: `${name}.deliveries.list`,
      method: "GET",
      path: deliveries,
      summary: `The deliveries of a hook of ${of}, newest first`,
      gate,
      params: hookParams,
      query: z.object({ ...paging, state: queryWord(deliveryStates) }),
      paging: "link_and_total",
      replies: { 200: z.array(deliveryShape), ...refused },
    }),
    getDelivery: endpoint({
      name: `${name}.deliveries.get`,
      method: "GET",
      path: `${deliveries}/:delivery_id` as const,
      summary: "A delivery with its request and response",
      gate,
      params: deliveryParams,
      replies: { 200: deliveryDetailsShape, ...refused },
    }),
    redeliver: endpoint({
      name: `${name}.deliveries.redeliver`,
      method: "POST",
      path: `${deliveries}/:delivery_id/redeliver` as const,
      summary: "Deliver the same payload once more, as a delivery of its own",
      gate,
      params: deliveryParams,
      replies: { 201: deliveryShape, ...refused },
    }),
  };
}
