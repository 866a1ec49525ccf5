import fc from "fast-check";
import { expect } from "vitest";
import { apiOf } from "../../daemon/contract/api-of.ts";
import type { Endpoint } from "../../daemon/contract/endpoint.ts";
import {
  callersOf,
  endpoints,
  open,
  paramsOf,
  type Probe,
  send,
  type Sending,
} from "../support/fuzz/declared-requests.ts";
import { type Callers, createFuzzHome, existing } from "../support/fuzz/fuzz-home.ts";
import { valuesOf } from "../support/fuzz/schema-values.ts";
import { toBody } from "../support/forge/route-requests.ts";
import { withDatabaseFile } from "../support/skip.ts";

// Refusals that the contract declares for many operations occur: each is provoked by its kind of mistake, at every operation.

/** Names and ids of nothing, in the forms that paths have. */
const missing = ["missing", "999999999", "00000000-0000-4000-8000-000000000000", "0".repeat(40)];

/** Values that name nothing and have no form of a name. */
const unfit = ["-", "..", "a b", ".hidden", "GITHUB_X", "\0", "x".repeat(300)];

/** The caller whose account must change its password first, which is refused everywhere. */
const BOUND = "user who must change the password";

/** Mistakes that lead to a status, the most likely first. */
const probesOf: Readonly<Record<number, (declared: Endpoint) => Iterable<Probe>>> = {
  401: () =>
    ["wrong token", "wrong bearer", "broken credentials", "anonymous"].map((caller) => ({
      caller,
    })),
  403: (declared) =>
    (apiOf(declared) === "forge"
      ? ["narrow token", "public-only token", "other user", "user", "anonymous", BOUND]
      : ["machine token", "vault user", "vault administrator", "anonymous"]
    ).map((caller) => ({ caller })),
  *400(declared) {
    for (const name of paramsOf(declared).toReversed())
      for (const value of unfit)
        for (const caller of callersOf(declared)) yield { caller, params: { [name]: value } };
    for (const query of queryMistakes(declared))
      for (const caller of callersOf(declared)) yield { caller, query };
    for (const json of bodyMistakes(declared))
      for (const caller of callersOf(declared)) yield { caller, request: { json } };
    if (declared.body !== undefined)
      for (const caller of callersOf(declared)) yield { caller, request: { body: "{" } };
  },
  *404(declared) {
    yield { caller: "site administrator", query: "?sudo=missing" };
    for (const name of paramsOf(declared).toReversed())
      for (const value of missing)
        for (const caller of callersOf(declared)) yield { caller, params: { [name]: value } };
  },
  *422(declared) {
    const [caller = "", other = ""] = callersOf(declared);
    for (const query of queryMistakes(declared))
      for (const each of [caller, other]) yield { caller: each, query };
    for (const json of bodyMistakes(declared))
      for (const each of callersOf(declared)) yield { caller: each, request: { json } };
    for (const name of paramsOf(declared))
      for (const value of ["x", "-1", "\0", "x".repeat(5_000)])
        yield { caller, params: { [name]: value } };
  },
  423: (declared) =>
    callersOf(declared).map((caller) => ({ caller, params: { owner: "mira", repo: "old" } })),
};

function queryMistakes({ query }: Endpoint): string[] {
  // A number is written in decimal digits; other words often count as absent.
  const values = ["1e3", "x", "-1", "", "x".repeat(5_000)];
  return Object.keys(query?.shape ?? {}).flatMap((name) =>
    values.map((value) => `?${name}=${encodeURIComponent(value)}`),
  );
}

function bodyMistakes(declared: Endpoint): unknown[] {
  const { body } = declared;
  if (body === undefined || "kind" in body) return body === undefined ? [] : [{}];
  const { json: valid } = toBody(declared);
  const shape = "shape" in body ? (body.shape as object) : {};
  return [
    [],
    "text",
    ...Object.keys(shape).flatMap((name) =>
      [{}, [[{}]], "\0", -1, null].map((value) => ({ ...(valid as object), [name]: value })),
    ),
  ];
}

/** Sends each operation what leads to the status, until it answers so. Returns those that do not. */
async function provoke(sending: Sending, status: number): Promise<string[]> {
  const never: string[] = [];
  for (const declared of endpoints.filter(({ replies }) => status in replies)) {
    let isSeen = false;
    for (const probe of probesOf[status]?.(declared) ?? []) {
      const answer = await send(sending, declared, probe);
      isSeen = answer.status === status;
      if (isSeen) break;
    }
    if (!isSeen) never.push(declared.name);
  }
  return never;
}

/**
 * How many operations refuse with the status for other reasons only, such as an expired address or a taken name, or have no value
 * that does not fit. Other tests see those; a new operation must not add to them.
 */
const elsewhere: readonly (readonly [status: number, operations: number])[] = [
  [401, 1],
  [423, 0],
  [400, 26],
  [404, 40],
  [403, 10],
  // Last: values that do not fit end sessions as well.
  [422, 60],
];

withDatabaseFile(
  "operations refuse a wrong credential, a narrow one, a missing object, a wrong value and an archived repository as they declare",
  async () => {
    await using home = await createFuzzHome();
    await using sending = await open(home);
    const { daemon } = sending;
    const password = "a word for the first sign-in";
    await daemon.request("/api/v1/admin/users", {
      method: "POST",
      json: { username: "bound", email: "bound@example.org", password, must_change_password: true },
      headers: sending.callers["site administrator"] ?? {},
    });
    const basic = Buffer.from(`bound:${password}`).toString("base64");
    const callers: Callers = { ...sending.callers, [BOUND]: { Authorization: `Basic ${basic}` } };
    const as = (method: string, path: string, json: object) =>
      daemon.request(`/api/v1${path}`, { method, json, headers: callers["user"] ?? {} });
    await as("POST", "/user/repos", { name: "old", auto_init: true });
    await as("PATCH", "/repos/mira/old", { archived: true });
    for (const [status, operations] of elsewhere) {
      const never = await provoke({ ...sending, callers }, status);
      expect(never.length, `${status}: ${never.join(", ")}`).toBeLessThanOrEqual(operations);
    }
  },
  300_000,
);

/** Text that no database stores: every request of the forge is searched for it, in the vault each schema refuses it. */
const UNSTORABLE = "a\0b";

/** Fitting requests to an operation, but for one value of the path, query or body. */
function* unstorableRequests(declared: Endpoint): Generator<Probe> {
  const { query, body } = declared;
  const [caller = ""] = callersOf(declared);
  for (const name of paramsOf(declared)) yield { caller, params: { [name]: UNSTORABLE } };
  for (const name of Object.keys(query?.shape ?? {}))
    yield { caller, query: `?${name}=${encodeURIComponent(UNSTORABLE)}` };
  if (body === undefined || "kind" in body || !("shape" in body)) return;
  const [fitting] = fc.sample(
    valuesOf(body, (member) => existing[member] ?? []),
    { seed: 1, numRuns: 1 },
  );
  for (const name of Object.keys(body.shape as object))
    yield { caller, request: { json: { ...(fitting as object), [name]: UNSTORABLE } } };
}

withDatabaseFile(
  "text with a NUL is refused or finds nothing, at every operation of the vault",
  async () => {
    await using home = await createFuzzHome();
    await using sending = await open(home);
    const failed: string[] = [];
    for (const declared of endpoints.filter((each) => apiOf(each) === "vault"))
      for (const probe of unstorableRequests(declared)) {
        const { status } = await send(sending, declared, probe);
        if (status === 500) failed.push(`${declared.name} ${JSON.stringify(probe)}`);
      }
    expect(failed).toEqual([]);
  },
);
