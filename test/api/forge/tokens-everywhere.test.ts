import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allEndpoints } from "../../../daemon/contract/all.ts";
import { apiOf } from "../../../daemon/contract/api-of.ts";
import { type Endpoint, eventStream } from "../../../daemon/contract/endpoint.ts";
import {
  startTestDaemon,
  type TestAnswer,
  type TestDaemon,
  type TestRequest,
} from "../../support/daemon.ts";

// The rights of tokens and accounts on every route of the forge: no route may lack an authorization check.

const PASSWORD = "Correct-Horse-7-Battery";

let daemon: TestDaemon;
let tokens: Readonly<
  Record<"none" | "read" | "all" | "inactive" | "mustChange" | "prohibited", string>
>;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  const admin = daemon.first?.forge.token ?? "";
  const keeper = { basic: `keeper:${daemon.first?.password}` };
  const tokenOf = async (username: string, name: string, scopes: readonly string[]) => {
    const path = `/api/v1/users/${username}/tokens`;
    return (await daemon.request(path, { ...keeper, json: { name, scopes } })).json.sha1 as string;
  };
  const create = async (username: string, state: Readonly<Record<string, unknown>>) => {
    const email = `${username}@example.org`;
    const json = { username, email, password: PASSWORD, must_change_password: false };
    await daemon.request("/api/v1/admin/users", { token: admin, json });
    const token = await tokenOf(username, "all", ["all"]);
    const edit = { login_name: username, admin: true, ...state };
    const path = `/api/v1/admin/users/${username}`;
    const answer = await daemon.request(path, { token: admin, method: "PATCH", json: edit });
    expect(answer.status).toBe(200);
    return token;
  };
  tokens = {
    none: await tokenOf("keeper", "none", ["read:activitypub"]),
    read: await tokenOf(
      "keeper",
      "read",
      [
        "admin",
        "misc",
        "notification",
        "organization",
        "package",
        "issue",
        "repository",
        "user",
      ].map((category) => `read:${category}`),
    ),
    all: await tokenOf("keeper", "everything", ["all"]),
    inactive: await create("inactive", { active: false }),
    mustChange: await create("mustchange", { must_change_password: true }),
    prohibited: await create("prohibited", { prohibit_login: true }),
  };
});
afterAll(() => daemon[Symbol.asyncDispose]());

const endpoints = (allEndpoints as readonly Endpoint[]).filter(
  // Jobs, signed addresses and programs that ask for a token have credentials of their own.
  (each) =>
    apiOf(each) === "forge" &&
    !/^forge_(?:job|artifact_address)$/.test(each.gate.admits) &&
    each.name !== "forge.oauth.token",
);
const named = (list: readonly Endpoint[]) => list.map((each) => [each.name, each] as const);
const withScope = endpoints.filter(({ gate }) => "scope" in gate && gate.scope !== undefined);

async function call(declared: Endpoint, init: TestRequest) {
  const path = declared.path.replace(/\*{0,2}:(\w+)/g, (_, name: string) =>
    name === "username" ? "keeper" : "1",
  );
  const withBody = declared.method !== "GET" && declared.body !== undefined;
  const json = withBody ? { json: {} } : {};
  return daemon.request(path, { method: declared.method, ...json, ...init });
}

/** The registry of container images has a list of errors, as its specification says. */
function messageOf(json: TestAnswer["json"]): unknown {
  return json?.message ?? json?.errors?.[0]?.message;
}

describe("a token", () => {
  test.each(named(withScope))("without the scope is refused by %s", async (_name, declared) => {
    const { status, json } = await call(declared, { token: tokens.none });
    expect({ status, message: messageOf(json) }).toEqual({
      status: 403,
      message: expect.stringContaining("token does not have at least one of required scope(s)"),
    });
  });

  test.each(named(withScope.filter(({ method }) => method !== "GET")))(
    "that may only read is refused by %s",
    async (_name, declared) => {
      const { status, json } = await call(declared, { token: tokens.read });
      expect({ status, message: messageOf(json) }).toEqual({
        status: 403,
        message: expect.stringContaining("required=[write:"),
      });
    },
  );

  test.each(named(withScope.filter(({ method }) => method === "GET")))(
    "that may read is not refused for its scope by %s",
    async (_name, declared) => {
      // A stream has no end; its head is answered by the same route.
      const isEndless = declared.replies[200] === eventStream;
      const init = isEndless ? { method: "HEAD" } : {};
      const { status, json } = await call(declared, { token: tokens.read, ...init });
      expect(String(messageOf(json))).not.toContain("required scope");
      if (isEndless) expect(status).toBe(200);
    },
  );
});

describe("an account", () => {
  test.each(named(endpoints))(
    "that may not sign in is refused by %s, also as an administrator",
    async (_name, declared) => {
      for (const state of ["inactive", "mustChange", "prohibited"] as const) {
        const { status, json } = await call(declared, { token: tokens[state] });
        expect({ state, status }).toEqual({ state, status: 403 });
        // Git's own routes answer in plain text; those of packages say it once more as `error`, where npm looks.
        if (json === undefined) continue;
        if ("error_description" in json) continue;
        if ("errors" in json) {
          expect(json.errors).toEqual([expect.objectContaining({ message: expect.any(String) })]);
          continue;
        }
        const { error = json.message, ...rest } = json as Record<string, string>;
        expect(rest).toEqual({ message: error });
      }
    },
  );
});

describe("the whole daemon", () => {
  test("the whole daemon has the mail to a new user in its outbox", async () => {
    const json = {
      username: "told",
      email: "told@example.org",
      password: PASSWORD,
      send_notify: true,
    };
    const made = await daemon.request("/api/v1/admin/users", { token: tokens.all, json });
    expect(made.status).toBe(201);
    const mail = await firstMail(join(daemon.home, "outbox"));
    expect(mail).toContain("To: told@example.org");
    expect(mail).not.toContain(PASSWORD);
  });

  test("the whole daemon serves the address of a picture", async () => {
    const { json } = await daemon.request("/api/v1/user", { token: tokens.all });
    const picture = await daemon.request(new URL(json.avatar_url).pathname);
    expect(picture.status).toBe(200);
    expect(picture.headers.get("content-type")).toBe("image/svg+xml");
  });
});

/** The mail in the outbox, once the job has written it. */
async function firstMail(outbox: string): Promise<string> {
  const find = async () => (await readdir(outbox)).find((name) => name.endsWith(".eml"));
  await expect.poll(find).toBeDefined();
  return readFile(join(outbox, (await find()) ?? ""), "utf8");
}
