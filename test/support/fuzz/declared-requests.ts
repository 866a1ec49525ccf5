import { allEndpoints } from "../../../daemon/contract/all.ts";
import { apiOf } from "../../../daemon/contract/api-of.ts";
import { type Endpoint, eventStream } from "../../../daemon/contract/endpoint.ts";
import type { TestAnswer, TestDaemon, TestRequest } from "../daemon.ts";
import { toBody } from "../forge/route-requests.ts";
import { type Callers, type FuzzHome, LFS } from "./fuzz-home.ts";
import { createSeenValues, type SeenValues } from "./seen-values.ts";

// Requests to every declared operation, about objects that exist.

/** Every operation; what ends the right of a caller comes last. */
export const endpoints = (allEndpoints as readonly Endpoint[])
  // Its answer does not end.
  .filter(({ replies }) => replies[200] !== eventStream)
  .toSorted((one, other) => toPhase(one) - toPhase(other));

function toPhase({ method, name }: Endpoint): number {
  if (/logout|password|two_factor|totp|tokens?\.(?:delete|revoke)|sessions?\./.test(name)) return 2;
  return method === "DELETE" || /rename|transfer/.test(name) ? 1 : 0;
}

/** A mistake in a request, beside which everything exists and fits. */
export interface Probe {
  readonly caller: string;
  /** Values in the path. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly request?: TestRequest;
}

/** A daemon whose objects are known, with callers that are signed in. */
export interface Sending {
  readonly daemon: TestDaemon;
  readonly callers: Callers;
  readonly seen: SeenValues;
}

/** Sends a request to an operation. */
export async function send(
  { daemon, callers, seen }: Sending,
  declared: Endpoint,
  { caller, params = {}, query = "", request }: Probe,
): Promise<TestAnswer> {
  const path = declared.path.replace(/(\*{0,2}):(\w+)/g, (_, _several: string, name: string) =>
    encodeURIComponent(params[name] ?? seen.choose(declared.name, name, 0) ?? "1"),
  );
  const { headers, ...body } = request ?? (declared.body === undefined ? {} : toBody(declared));
  return daemon.request(path + query, {
    method: declared.method,
    headers: {
      ...headers,
      ...(/^forge\.(?:file_locks|large_files)\./.test(declared.name) ? { Accept: LFS } : {}),
      ...callers[caller],
    },
    ...body,
  });
}

/** Starts a copy of the home and reads everything once, so that names and ids are known. */
export async function open(
  home: FuzzHome,
  env: Readonly<Record<string, string>> = {},
): Promise<Sending & AsyncDisposable> {
  const { daemon, callers } = await home.start(env);
  const sending = { daemon, callers, seen: createSeenValues() };
  for (const declared of endpoints.filter(({ method }) => method === "GET"))
    for (const caller of callersOf(declared)) {
      const { status, json } = await send(sending, declared, { caller });
      if (status === 200) sending.seen.read(declared.name, json);
      if (status < 300) break;
    }
  return { ...sending, [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose]() };
}

/** Who may do the most, the most likely first. */
export function callersOf(declared: Endpoint): readonly string[] {
  return apiOf(declared) === "forge"
    ? ["user", "site administrator", "user by password", "anonymous"]
    : ["vault user", "vault administrator", "vault user with cookie", "anonymous"];
}

/** The names of the values in the path of an operation. */
export const paramsOf = ({ path }: Endpoint) =>
  [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
