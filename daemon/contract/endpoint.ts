// daemon/contract: endpoints and wire schemas that daemon and command line share. Pure values without I/O.
// An endpoint is declared once and read by the binder, the 405 table, OpenAPI, the command line's client and the tests.
import { z } from "zod";
import type { Permission } from "./permission.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The categories of forge token scopes; a route requires `read:` on GET and `write:` otherwise. */
export type ScopeCategory =
  | "activitypub"
  | "admin"
  | "misc"
  | "notification"
  | "organization"
  | "package"
  | "issue"
  | "repository"
  | "user";

/**
 * The callers that an endpoint admits. There is no default, so no route is open by accident. Forge: `anyone`
 * (credentials are optional, wrong ones still refused), `forge_user`, `forge_site_admin`, `forge_basic` (signed in by
 * Basic authentication: self or site administrator of the account in the path). Vault: `anyone`, `vault_account` (any
 * role), `vault_user` (regular users only), `vault_administrator`. A machine token is accepted unless the gate says
 * `refusesMachineTokens`; a token of scope `read` only for GET and for endpoints with `onlyReads`. Artifacts of jobs:
 * `forge_job` (the runtime token of a job that runs), `forge_artifact_address` (an address that the forge has signed;
 * credentials do not count).
 */
export type Gate =
  | { readonly admits: "anyone"; readonly scope?: ScopeCategory }
  | {
      readonly admits: "forge_user";
      readonly scope: ScopeCategory;
      /** Admits an account that must change its password, if it signs in with that password. */
      readonly changesPassword?: true;
    }
  | {
      readonly admits: "forge_site_admin";
      readonly scope: "admin";
      /** Refuses tokens with the scope `public-only`, because the route exposes all private repositories. */
      readonly refusesPublicOnly?: true;
    }
  | { readonly admits: "forge_basic"; readonly scope: "user" }
  | {
      readonly admits: "vault_account" | "vault_user" | "vault_administrator";
      /** Requires a session instead of a machine token, because the route gives access that outlives the token. */
      readonly refusesMachineTokens?: true;
    }
  | { readonly admits: "vault_upload_address" }
  | { readonly admits: "forge_job" | "forge_artifact_address" };

export const anyone = { admits: "anyone" } as const satisfies Gate;
/** Open to anonymous callers; a caller with a token needs the scope. */
export const anyoneWithin = <S extends ScopeCategory>(scope: S) =>
  ({ admits: "anyone", scope }) as const satisfies Gate;
export const siteAdmin = { admits: "forge_site_admin", scope: "admin" } as const satisfies Gate;
/** Site administrators, but not with a token for public things only. */
export const siteAdminOfAll = {
  admits: "forge_site_admin",
  scope: "admin",
  refusesPublicOnly: true,
} as const satisfies Gate;
export const basicSelfOrAdmin = { admits: "forge_basic", scope: "user" } as const satisfies Gate;
export const forgeUser = <S extends ScopeCategory>(scope: S) =>
  ({ admits: "forge_user", scope }) as const satisfies Gate;
/** The one route of an account that must change its password; no token opens it. */
export const forgeUserWithPassword = {
  admits: "forge_user",
  scope: "user",
  changesPassword: true,
} as const satisfies Gate;
export const vaultAccount = { admits: "vault_account" } as const satisfies Gate;
/** Any account that signed in; machine tokens are refused. */
export const vaultAccountInSession = {
  admits: "vault_account",
  refusesMachineTokens: true,
} as const satisfies Gate;
export const vaultUser = { admits: "vault_user" } as const satisfies Gate;
/** Regular users that signed in; machine tokens are refused. */
export const vaultUserInSession = {
  admits: "vault_user",
  refusesMachineTokens: true,
} as const satisfies Gate;
export const uploadAddress = { admits: "vault_upload_address" } as const satisfies Gate;
export const forgeJob = { admits: "forge_job" } as const satisfies Gate;
export const artifactAddress = { admits: "forge_artifact_address" } as const satisfies Gate;
export const vaultAdministrator = { admits: "vault_administrator" } as const satisfies Gate;
/** Administrators that signed in; machine tokens are refused. */
export const vaultAdministratorInSession = {
  admits: "vault_administrator",
  refusesMachineTokens: true,
} as const satisfies Gate;

/**
 * A fixed window: at most `max` requests per `seconds` and route. `address` counts by address; `account` by account,
 * or by address for anonymous requests; `anonymous` counts anonymous requests only, by address.
 */
export interface Limit {
  readonly key: "address" | "account" | "anonymous";
  readonly max: number;
  readonly seconds: number;
}

export const perAddress = (max: number, seconds: number): Limit => ({
  key: "address",
  max,
  seconds,
});
export const perAccount = (max: number, seconds: number): Limit => ({
  key: "account",
  max,
  seconds,
});

export const perAnonymousAddress = (max: number, seconds: number): Limit => ({
  key: "anonymous",
  max,
  seconds,
});

/** A success or typed failure that carries bytes: the handler streams them itself. */
export const bytes = { kind: "bytes" } as const;
/** The same with bytes of one content type, such as `text/csv`. */
export const bytesOf = <const Type extends string>(contentType: Type) =>
  ({ kind: "bytes", contentType }) as const;
/** A success of server-sent events without an end: the handler sends each as it happens. */
export const eventStream = bytesOf("text/event-stream");
/** A reply without a body. */
export const empty = { kind: "empty" } as const;
/** A reply whose body is text of the given type, such as rendered HTML. */
export const text = (contentType: string) => ({ kind: "text", contentType }) as const;
/** A refusal that is JSON of the schema in some cases and text of the given type in others. */
export const jsonOrText = <S extends z.ZodType>(schema: S, contentType: string) =>
  ({ kind: "json_or_text", schema, contentType }) as const;

/** A success that is JSON of the schema, or bytes of the given type if the request asks for them. */
export const jsonOrBytes = <S extends z.ZodType>(schema: S, contentType: string) =>
  ({ kind: "json_or_bytes", schema, contentType }) as const;

export type Reply =
  | z.ZodType
  | typeof bytes
  | ReturnType<typeof bytesOf>
  | typeof empty
  | ReturnType<typeof text>
  | ReturnType<typeof jsonOrText>
  | ReturnType<typeof jsonOrBytes>;

/** A multipart form; `file` parts are handed to the handler as streams, in the order in which they arrive. */
export const multipart = <F extends z.ZodObject>(fields: F) =>
  ({ kind: "multipart", fields }) as const;
/**
 * One file: the part of a form, or the body itself. It is handed to the handler while it arrives, as that of a form with
 * no fields.
 */
export const formOrBytes = (...contentTypes: string[]) =>
  ({ kind: "multipart", fields: z.object({}), orBytes: contentTypes }) as const;
/** A multipart form of files only, handed to the handler one by one while they arrive. */
export const fileParts = (limits: FilePartsLimits) => ({ kind: "file_parts", ...limits }) as const;

interface FilePartsLimits {
  readonly filesMax: number;
  /** Of the whole body. */
  readonly bytesMax: number;
  /** Bytes of a refused file that are read to reach the next one; all of them when absent. */
  readonly skippedBytesMax?: number;
}

/** A body of any bytes that the handler reads itself. */
export const stream = (...contentTypes: string[]) => ({ kind: "stream", contentTypes }) as const;
/** A body of any bytes that the handler gets whole, at most `maxBodyBytes` of them. */
export const wholeBytes = (...contentTypes: string[]) =>
  ({ kind: "whole_bytes", contentTypes }) as const;

export type BodySpec =
  | z.ZodType
  | {
      readonly kind: "multipart";
      readonly fields: z.ZodObject;
      readonly orBytes?: readonly string[];
    }
  | (FilePartsLimits & { readonly kind: "file_parts" })
  | { readonly kind: "stream"; readonly contentTypes: readonly string[] }
  | { readonly kind: "whole_bytes"; readonly contentTypes: readonly string[] };

/**
 * One operation of one API. `path` is the full address below the server's origin, in the router's notation
 * (`:name` one segment, `**:name` several). Path and query values arrive as text and are converted by their schema.
 */
export interface Endpoint<
  Path extends string = string,
  G extends Gate = Gate,
  Params extends z.ZodObject | undefined = z.ZodObject | undefined,
  Query extends z.ZodObject | undefined = z.ZodObject | undefined,
  Body extends BodySpec | undefined = BodySpec | undefined,
  Replies extends Readonly<Record<number, Reply>> = Readonly<Record<number, Reply>>,
  On extends Permission | undefined = Permission | undefined,
> {
  /** Unique over both APIs: `<area>.<noun>.<verb>`. */
  readonly name: string;
  readonly method: Method;
  readonly path: Path;
  /** One line for OpenAPI and the generated reference. */
  readonly summary: string;
  readonly gate: G;
  /** What the caller needs on the resource in the path, which the binder opens. */
  readonly on?: On;
  /**
   * Set if an archived repository in the path accepts the change: of its settings, of who may do what, of hooks and jobs,
   * of subscriptions, and requests that only read it. It refuses every other change with 423.
   */
  readonly acceptsArchived?: true;
  readonly limit?: Limit;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  /** Lets the operation use the reserved disk space, which is for cleaning up a full disk. Every DELETE may use it. */
  readonly mayUseReserve?: true;
  /** Whether it changes nothing although it is not a GET, because its input is too large for a query. */
  readonly onlyReads?: true;
  /** Set if no part of the request reaches the database. Path and body may then contain NUL and unpaired surrogates. */
  readonly isTransient?: true;
  /**
   * Largest body in bytes that is read whole; the server's default when absent. An anonymous caller never gets more than
   * that default.
   */
  readonly maxBodyBytes?: number;
  /** Forge lists: the paging headers of the response. */
  readonly paging?: "link_and_total" | "total";
  readonly replies: Replies;
  /** Why no command of the command line calls this operation. */
  readonly apiOnly?: string;
}

/**
 * A value in a path that its handler gets percent-encoded, as the client sent it: for names in which `+` and `%2B` differ.
 * The binder knows it by identity.
 */
export const encodedText = z.string();

/** An endpoint of any shape. */
// oxlint-disable-next-line typescript/no-explicit-any -- existential: every endpoint is assignable to it
export type AnyEndpoint = Endpoint<string, any, any, any, any, any, any>;

/** Declares an operation; checks the shape and keeps the literal types. */
export function endpoint<
  const Path extends `/${string}`,
  const G extends Gate,
  const Replies extends Readonly<Record<number, Reply>>,
  Params extends z.ZodObject | undefined = undefined,
  Query extends z.ZodObject | undefined = undefined,
  Body extends BodySpec | undefined = undefined,
  On extends Permission | undefined = undefined,
>(
  declaration: Endpoint<Path, G, Params, Query, Body, Replies, On>,
): Endpoint<Path, G, Params, Query, Body, Replies, On> {
  return declaration;
}

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined;
type Sent<S> = S extends z.ZodType ? z.input<S> : undefined;

export type ParamsOf<E extends AnyEndpoint> = Parsed<NonNullable<E["params"]>>;
export type QueryOf<E extends AnyEndpoint> = Parsed<NonNullable<E["query"]>>;
export type BodyOf<E extends AnyEndpoint> = Parsed<NonNullable<E["body"]>>;
export type GateOf<E extends AnyEndpoint> = E["gate"];
export type PermissionOf<E extends AnyEndpoint> = NonNullable<E["on"]>;

/** Input of a client that calls `E`. */
export interface InputOf<E extends AnyEndpoint> {
  readonly params?: Sent<NonNullable<E["params"]>>;
  readonly query?: Partial<Sent<NonNullable<E["query"]>>>;
  readonly body?: Sent<NonNullable<E["body"]>>;
}

type ReplyBody<R> = R extends z.ZodType
  ? z.output<R>
  : R extends { kind: "json_or_bytes"; schema: infer S extends z.ZodType }
    ? z.output<S>
    : R extends { kind: "text" }
      ? string
      : undefined;

/** Union of all responses that `E` declares, by status and body. */
export type AnswerOf<E extends AnyEndpoint> = {
  [S in keyof E["replies"] & number]: { status: S; body: ReplyBody<E["replies"][S]> };
}[keyof E["replies"] & number];

/** Returns the JSON schema of a success; undefined for bytes, text or an empty one. */
export function schemaOf(reply: Reply | undefined): z.ZodType | undefined {
  if (reply === undefined) return undefined;
  if (!("kind" in reply)) return reply;
  return reply.kind === "json_or_bytes" ? reply.schema : undefined;
}
