import type { AnyEndpoint, Endpoint, Reply } from "../contract/endpoint.ts";
import type { AnswerExtras, AnyAnswer, BodyOfReply, Route, RouteAnswer } from "./handle.ts";

const ANSWERED: unique symbol = Symbol("answered");
const REPLIED: unique symbol = Symbol("replied");

/** A body with what else a response has: headers, the count of all matches, the version of the body. */
export interface Answered<Body> {
  readonly [ANSWERED]: true;
  readonly body: Body;
  readonly extras: AnswerExtras;
}

/** Adds headers or a version to the body that a handler returns. */
export const answer = <Body>(body: Body, extras: AnswerExtras): Answered<Body> => ({
  [ANSWERED]: true,
  body,
  extras,
});

/** A response with its status, where the outcome of an operation decides which of the declared replies it is. */
export interface Replied<Response> {
  readonly [REPLIED]: Response;
}

/** Answers with one of the declared replies, in place of the body of the only success. */
export const reply = <Response>(response: Response): Replied<Response> => ({ [REPLIED]: response });

/** One page of a list of the forge, with the count of all matches. */
export const page = <Item>(items: Item[], total: number): Answered<Item[]> =>
  answer(items, { total });

/** Statuses of responses that a handler may mean by returning a body. */
type SuccessStatus = 200 | 201 | 202 | 204 | 205 | 302 | 303;
type IsUnion<T, U = T> = T extends U ? ([U] extends [T] ? false : true) : never;

/** The body of an endpoint's only success; never if there are several, or bytes. */
type SingleBody<E extends AnyEndpoint, S = keyof E["replies"] & SuccessStatus> =
  IsUnion<S> extends false
    ? E["replies"][S & keyof E["replies"]] extends { readonly kind: "bytes" | "json_or_bytes" }
      ? never
      : BodyOfReply<E["replies"][S & keyof E["replies"]]>
    : never;

/**
 * What a handler returns: the body, alone or with more, or a `reply`, where the endpoint declares one success; a whole
 * response where it declares several, or bytes.
 */
export type HandlerResult<E extends AnyEndpoint> = [SingleBody<E>] extends [never]
  ? RouteAnswer<E>
  :
      | (SingleBody<E> extends undefined ? void : SingleBody<E>)
      | Answered<SingleBody<E>>
      | Replied<RouteAnswer<E>>;

/** A handler, or a handler with the check of an upload before its form is read. */
export type Serving<Handler, Admit> = Handler | { readonly handle: Handler; readonly admit: Admit };

// oxlint-disable-next-line typescript/no-explicit-any -- existential: the API's `serve` has checked the types
type AnyHandler = (input: any) => Promise<unknown>;

/** Makes the routes of a resource from a handler for each of its endpoints. */
export function toRoutes(
  resource: Readonly<Record<string, AnyEndpoint>>,
  handlers: Readonly<Record<string, Serving<AnyHandler, Route["admit"]> | undefined>>,
): Route[] {
  return Object.entries(handlers).map(([key, serving]) => {
    const endpoint = resource[key];
    if (serving === undefined || endpoint === undefined) throw new Error(`${key} is not served`);
    const { handle, admit } =
      typeof serving === "function" ? { handle: serving, admit: undefined } : serving;
    return { endpoint, handler: toHandler(endpoint, handle), admit };
  });
}

function toHandler(endpoint: AnyEndpoint, handle: AnyHandler): Route["handler"] {
  const status = singleStatus(endpoint);
  if (status === undefined) return handle as Route["handler"];
  return async (input): Promise<AnyAnswer> => {
    const result = await handle(input);
    if (isReplied(result)) return result[REPLIED];
    return isAnswered(result)
      ? { status, body: result.body, ...result.extras }
      : { status, body: result };
  };
}

function isReplied(result: unknown): result is Replied<AnyAnswer> {
  return typeof result === "object" && result !== null && REPLIED in result;
}

function isAnswered(result: unknown): result is Answered<unknown> {
  return typeof result === "object" && result !== null && ANSWERED in result;
}

/** Returns the status of the only success of an endpoint; undefined if there are several, or one of bytes. */
function singleStatus({ replies }: Endpoint): number | undefined {
  const successes = Object.entries(replies).filter(
    ([status]) => Number(status) < 400 && status !== "304",
  );
  const [first] = successes;
  if (first === undefined || successes.length > 1 || hasBytes(first[1])) return undefined;
  return Number(first[0]);
}

function hasBytes(reply: Reply): boolean {
  return "kind" in reply && (reply.kind === "bytes" || reply.kind === "json_or_bytes");
}
