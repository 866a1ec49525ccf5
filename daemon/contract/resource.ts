import { z } from "zod";
import {
  type AnyEndpoint,
  type BodySpec,
  empty,
  type Endpoint,
  type Gate,
  type Limit,
  type Method,
  type Reply,
} from "./endpoint.ts";
import type { Permission } from "./permission.ts";

/** One value for all operations, or one for those that read (GET) and one for those that change something. */
type ReadOrChange<T> = T | { readonly read: T; readonly change: T };

/** What the operations of a resource have in common. */
export interface ResourceBase {
  /** Begins the names of the operations: `<area>.<noun>`. */
  readonly name: string;
  /** Address of the collection. */
  readonly path: `/${string}`;
  /** The values in the path of the collection. */
  readonly params?: z.ZodObject;
  /** The values that identify one item, below the path of the collection. */
  readonly id?: Readonly<Record<string, z.ZodType>>;
  /** One item in a response. */
  readonly shape?: z.ZodType;
  readonly gate: ReadOrChange<Gate>;
  readonly on?: ReadOrChange<Permission>;
  readonly acceptsArchived?: true;
  readonly limit?: Limit;
  /** Refusals of every operation, beside those that follow from gate, parameters, body and limit. */
  readonly refuses?: readonly number[];
  /** The body of a refusal, where it is not that of the API. */
  readonly refusal?: Reply;
}

/** What an operation may have beside, or instead of, what its resource gives it. */
export interface OperationDetails {
  /** Ends the name of the operation, instead of the verb. */
  readonly as?: string;
  /** Address below that of the verb. */
  readonly at?: string;
  readonly gate?: Gate;
  readonly on?: Permission;
  readonly acceptsArchived?: true;
  readonly limit?: Limit;
  readonly query?: z.ZodObject;
  /** Refusals beside those that follow from gate, parameters, body and limit. */
  readonly refuses?: readonly number[];
  /** All refusals, where those that follow from the rest do not occur. */
  readonly refusesOnly?: readonly number[];
  readonly mayUseReserve?: true;
  readonly onlyReads?: true;
  readonly isTransient?: true;
  readonly maxBodyBytes?: number;
  readonly paging?: "link_and_total" | "total";
  readonly apiOnly?: string;
}

/** An operation that is no list, creation, reading, change or removal of an item. */
export interface OperationSpec extends OperationDetails {
  readonly method: Method;
  readonly summary: string;
  /** Whether the address is below that of an item. */
  readonly item?: true;
  /** The values in the path where they are not those of the collection or of an item. */
  readonly params?: z.ZodObject;
  readonly body?: BodySpec;
  readonly replies: Readonly<Record<number, Reply>>;
}

type Verb = "read" | "change";
type ByVerb<T, V extends Verb> = T extends { readonly read: infer R; readonly change: infer C }
  ? V extends "read"
    ? R
    : C
  : T;
type VerbOf<M> = M extends "GET" ? "read" : "change";

type GateFor<B extends ResourceBase, D, V extends Verb> = D extends {
  readonly gate: infer G extends Gate;
}
  ? G
  : Extract<ByVerb<B["gate"], V>, Gate>;

type OnFor<B extends ResourceBase, D, V extends Verb> = D extends {
  readonly on: infer P extends Permission;
}
  ? P
  : Extract<ByVerb<B["on"], V>, Permission | undefined>;

type QueryFor<D> = D extends { readonly query: infer Q extends z.ZodObject } ? Q : undefined;
type BodyFor<D> = D extends { readonly body: infer T extends BodySpec } ? T : undefined;

type CollectionParams<B extends ResourceBase> = B["params"] extends z.ZodObject
  ? B["params"]
  : undefined;
type ItemParams<B extends ResourceBase> =
  B["params"] extends z.ZodObject<infer S>
    ? z.ZodObject<S & B["id"]>
    : B["id"] extends Readonly<Record<string, z.ZodType>>
      ? z.ZodObject<B["id"]>
      : undefined;
type ParamsFor<B extends ResourceBase, D> = D extends {
  readonly params: infer P extends z.ZodObject;
}
  ? P
  : D extends { readonly item: true }
    ? ItemParams<B>
    : CollectionParams<B>;

/** An endpoint of resource `B` that reads or changes. */
type Made<
  B extends ResourceBase,
  D,
  V extends Verb,
  Params extends z.ZodObject | undefined,
  Query extends z.ZodObject | undefined,
  Body extends BodySpec | undefined,
  Replies extends Readonly<Record<number, Reply>>,
> = Endpoint<string, GateFor<B, D, V>, Params, Query, Body, Replies, OnFor<B, D, V>>;

type ShapeOf<B extends ResourceBase> = B["shape"] extends z.ZodType ? B["shape"] : never;

/** The declarations that every resource has. */
export interface Verbs<B extends ResourceBase> {
  get<const D extends OperationDetails = object>(
    summary: string,
    details?: D,
  ): Made<B, D, "read", ItemParams<B>, QueryFor<D>, undefined, { readonly 200: ShapeOf<B> }>;
  create<Body extends BodySpec, const D extends OperationDetails = object>(
    summary: string,
    body: Body,
    details?: D,
  ): Made<B, D, "change", CollectionParams<B>, QueryFor<D>, Body, { readonly 201: ShapeOf<B> }>;
  edit<Body extends BodySpec, const D extends OperationDetails = object>(
    summary: string,
    body: Body,
    details?: D,
  ): Made<B, D, "change", ItemParams<B>, QueryFor<D>, Body, { readonly 200: ShapeOf<B> }>;
  remove<const D extends OperationDetails = object>(
    summary: string,
    details?: D,
  ): Made<B, D, "change", ItemParams<B>, QueryFor<D>, undefined, { readonly 204: typeof empty }>;
  operation<const D extends OperationSpec>(
    spec: D,
  ): Made<B, D, VerbOf<D["method"]>, ParamsFor<B, D>, QueryFor<D>, BodyFor<D>, D["replies"]>;
}

/** An endpoint that lists items of a resource; the APIs differ in how they page. */
export type ListEndpoint<
  B extends ResourceBase,
  D,
  Query extends z.ZodObject,
  Items extends z.ZodType,
> = Made<B, D, "read", CollectionParams<B>, Query, undefined, { readonly 200: Items }>;

/** A list may have filters beside the page. */
export interface ListDetails extends Omit<OperationDetails, "query"> {
  readonly filters?: z.ZodRawShape;
}

/** The members of a list's query: its filters, then the page. */
export type ListQuery<D, Page extends z.ZodRawShape> = z.ZodObject<
  D extends { readonly filters: infer F extends z.ZodRawShape } ? F & Page : Page
>;

/** The rules of an API for what follows from a declaration. */
export interface ResourceRules {
  /** The statuses of the refusals of an operation. */
  refusalsOf(declared: Omit<Endpoint, "replies">): readonly number[];
  /** The body of a refusal. */
  readonly refusal: Reply;
}

/** Makes the endpoints of a resource by the rules of its API. */
export function createVerbs<const B extends ResourceBase>(base: B, rules: ResourceRules) {
  const collectionParams = base.params;
  const itemParams =
    base.id === undefined
      ? base.params
      : (base.params?.extend(base.id) ?? z.object(base.id as z.ZodRawShape));
  const itemPath = [base.path, ...Object.keys(base.id ?? {}).map((name) => `:${name}`)].join("/");

  function make(verb: string, spec: OperationSpec): AnyEndpoint {
    const { as = verb, at, item, refuses, refusesOnly, replies, ...rest } = spec;
    const path = item === true ? itemPath : base.path;
    const params = item === true ? itemParams : collectionParams;
    const isRead = spec.method === "GET";
    const on = forMethod(base.on, isRead);
    const gate = spec.gate ?? forMethod(base.gate, isRead);
    if (gate === undefined) throw new Error(`${base.name}.${as} declares no gate`);
    const declared = {
      ...(on === undefined ? {} : { on }),
      ...(base.acceptsArchived && !isRead ? { acceptsArchived: true as const } : {}),
      ...(base.limit === undefined ? {} : { limit: base.limit }),
      ...(params === undefined ? {} : { params }),
      ...rest,
      gate,
      name: `${base.name}.${as}`,
      path: at === undefined ? path : `${path}/${at}`,
    };
    const statuses = refusesOnly ?? [
      ...rules.refusalsOf(declared),
      ...(base.refuses ?? []),
      ...(refuses ?? []),
    ];
    const refusals = Object.fromEntries(
      statuses.map((status) => [status, base.refusal ?? rules.refusal]),
    );
    return { ...declared, replies: { ...refusals, ...replies } };
  }

  const shape = () => {
    if (base.shape === undefined) throw new Error(`${base.name} declares no shape`);
    return base.shape;
  };
  const verbs = {
    get: (summary: string, details?: OperationDetails) =>
      make("get", { method: "GET", item: true, summary, ...details, replies: { 200: shape() } }),
    create: (summary: string, body: BodySpec, details?: OperationDetails) =>
      make("create", { method: "POST", summary, body, ...details, replies: { 201: shape() } }),
    edit: (summary: string, body: BodySpec, details?: OperationDetails) =>
      make("edit", {
        method: "PATCH",
        item: true,
        summary,
        body,
        ...details,
        replies: { 200: shape() },
      }),
    remove: (summary: string, details?: OperationDetails) =>
      make("delete", {
        method: "DELETE",
        item: true,
        summary,
        ...details,
        replies: { 204: empty },
      }),
    operation: (spec: OperationSpec) => make(spec.as ?? lastWord(spec), spec),
  };
  return { verbs: verbs as unknown as Verbs<B>, shape, make };
}

/** Without `as`, an operation is called like the last segment of its address. */
function lastWord({ at, summary }: OperationSpec): string {
  if (at === undefined) throw new Error(`an operation without a name: ${summary}`);
  return at.slice(at.lastIndexOf("/") + 1);
}

function forMethod<T extends object>(value: ReadOrChange<T> | undefined, isRead: boolean) {
  if (value === undefined || !("read" in value)) return value as T | undefined;
  return isRead ? value.read : value.change;
}
