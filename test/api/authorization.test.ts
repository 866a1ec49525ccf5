import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allEndpoints } from "../../daemon/contract/all.ts";
import { apiOf } from "../../daemon/contract/api-of.ts";
import { type AnyEndpoint, type Endpoint } from "../../daemon/contract/endpoint.ts";
import { startTestDaemon, type TestDaemon, type TestRequest } from "../support/daemon.ts";

// The authorization matrix, derived from the endpoint table: a route without a class cannot exist, and one
// that is open to the wrong caller fails here without anybody having thought of it.

const PASSWORD = "Correct-Horse-7-Battery";

let daemon: TestDaemon;
let callers: Readonly<
  Record<"siteAdmin" | "publicOnly" | "forgeUser" | "administrator" | "vaultUser", string>
>;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  const siteAdmin = daemon.first?.forge.token ?? "";
  await daemon.request("/api/v1/admin/users", {
    token: siteAdmin,
    json: {
      username: "mira",
      email: "mira@example.org",
      password: PASSWORD,
      must_change_password: false,
    },
  });
  const made = await daemon.request("/api/v1/users/mira/tokens", {
    basic: `mira:${PASSWORD}`,
    json: { name: "matrix", scopes: ["all"] },
  });
  await daemon.request("/api/auth/register", {
    json: { handle: "mira", email: "mira@example.org", password: PASSWORD },
  });
  for (const repository of [
    { name: "shown" },
    { name: "hidden", private: true },
    { name: "archived" },
  ])
    await daemon.request("/api/v1/user/repos", { token: siteAdmin, json: repository });
  await daemon.request("/api/v1/repos/keeper/archived", {
    method: "PATCH",
    token: siteAdmin,
    json: { archived: true },
  });
  const publicOnly = await daemon.request("/api/v1/users/keeper/tokens", {
    basic: `keeper:${daemon.first?.password ?? ""}`,
    json: { name: "public", scopes: ["all", "public-only"] },
  });
  callers = {
    siteAdmin,
    publicOnly: publicOnly.json.sha1,
    forgeUser: made.json.sha1,
    administrator: await signIn("keeper@croft.localhost", daemon.first?.password ?? ""),
    vaultUser: await signIn("mira@example.org", PASSWORD),
  };
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function signIn(email: string, password: string): Promise<string> {
  return (await daemon.request("/api/auth/login", { json: { email, password } })).json.access_token;
}

const endpoints = allEndpoints as readonly Endpoint[];
/** The gates whose endpoints some test below calls. */
const compared = new Set<string>();
const of = (...gates: Endpoint["gate"]["admits"][]) => {
  for (const gate of gates) compared.add(gate);
  return endpoints
    .filter(({ gate }) => gates.includes(gate.admits))
    .map((declared) => [declared.name, declared] as const);
};

/** Calls an endpoint with a body of the right kind but no content: only the caller matters. */
async function statusOf(
  declared: AnyEndpoint,
  as: TestRequest,
  repository = "shown",
): Promise<number> {
  const parameters = { ...PARAMETERS, repo: repository };
  const path = (declared as Endpoint).path.replace(
    /\*{0,2}:(\w+)/g,
    (_, name: string) => parameters[name as keyof typeof parameters] ?? "1",
  );
  const withBody = declared.method !== "GET" && declared.body !== undefined;
  const answer = await daemon.request(path, {
    method: declared.method,
    ...(withBody ? { json: {} } : {}),
    ...as,
  });
  return answer.status;
}

const PARAMETERS = {
  owner: "keeper",
  username: "keeper",
  connection_id: "01970000-0000-7000-8000-000000000000",
  ticket: "a".repeat(43),
};

describe("an anonymous caller", () => {
  test.each(
    of(
      "forge_user",
      "forge_site_admin",
      "forge_job",
      "forge_artifact_address",
      "vault_account",
      "vault_user",
      "vault_administrator",
    ),
  )("%s is 401", async (_name, declared) => expect(await statusOf(declared, {})).toBe(401));

  test.each(of("forge_basic"))("%s is 403", async (_name, declared) =>
    expect(await statusOf(declared, {})).toBe(403),
  );

  test.each(of("anyone"))("%s is open", async (_name, declared) => {
    const status = await statusOf(declared, {});
    expect(status).not.toBe(403);
    expect(status).toBeLessThan(500);
  });
});

const belowRepository = endpoints.filter(({ path }) =>
  /^\/api\/v1\/repos\/:owner\/:repo(?:\/|$)/.test(path),
);
const named = (list: readonly Endpoint[]) => list.map((each) => [each.name, each] as const);

describe("a repository that the caller may not see", () => {
  const forUsers = belowRepository.filter(
    // Tokens for public things never open notifications.
    ({ gate }) => gate.admits === "forge_user" && gate.scope !== "notification",
  );

  test.each(named(forUsers))(
    "%s does not exist for anonymous callers and public-only tokens",
    async (_name, declared) => {
      for (const as of [{}, { token: callers.publicOnly }])
        for (const repository of ["hidden", "none"])
          expect(await statusOf(declared, as, repository)).toBe(404);
    },
  );
});

describe("an archived repository", () => {
  /** The changes of permissions, settings and subscriptions, and the requests that only read. */
  const accepted =
    /:repo(?:$|\/(?:transfer|collaborators|teams|hooks|actions|generate|file-contents|forks|subscription|notifications)|\/issues\/:index\/subscriptions)/;

  test.each(
    named(
      belowRepository.filter(
        ({ method, path, name }) =>
          method !== "GET" && !accepted.test(path) && name !== "forge.repos.keys.delete",
      ),
    ),
  )("%s is refused", async (_name, declared) => {
    for (const as of [{ token: callers.siteAdmin }, { token: callers.forgeUser }])
      expect(await statusOf(declared, as, "archived")).toBe(423);
    expect(await statusOf(declared, {}, "archived")).toBeOneOf([401, 423]);
  });

  test.each(
    named(belowRepository.filter(({ method, path }) => method !== "GET" && accepted.test(path))),
  )("%s is not refused for that", async (_name, declared) => {
    expect(await statusOf(declared, { token: callers.forgeUser }, "archived")).not.toBe(423);
  });
});

describe("wrong credentials", () => {
  test.each(
    endpoints.filter((each) => apiOf(each) === "forge").map((each) => [each.name, each] as const),
  )("%s of the forge is 401 even where credentials are optional", async (_name, declared) => {
    expect(await statusOf(declared, { token: "0123456789abcdef0123456789abcdef01234567" })).toBe(
      401,
    );
  });

  test.each(of("vault_account", "vault_user", "vault_administrator"))(
    "%s of the vault is 401",
    async (_name, declared) => {
      expect(await statusOf(declared, { bearer: "eyJhbGciOiJub25lIn0.e30." })).toBe(401);
      expect(await statusOf(declared, { token: callers.siteAdmin })).toBe(401);
    },
  );
});

describe("a caller without the right", () => {
  test.each(of("forge_site_admin"))("%s is 403 for an ordinary user", async (_name, declared) =>
    expect(await statusOf(declared, { token: callers.forgeUser })).toBe(403),
  );

  test.each(of("forge_basic"))("%s is 403 for another user", async (_name, declared) =>
    expect(await statusOf(declared, { basic: `mira:${PASSWORD}` })).toBe(403),
  );

  test.each(of("vault_administrator"))("%s is 403 for a regular user", async (_name, declared) =>
    expect(await statusOf(declared, { bearer: callers.vaultUser })).toBe(403),
  );

  test.each(of("vault_user"))("%s is 403 for an administrator", async (_name, declared) =>
    expect(await statusOf(declared, { bearer: callers.administrator })).toBe(403),
  );
});

describe("a caller with the right", () => {
  const refusals = [401, 403];

  test.each(of("forge_site_admin"))("%s lets a site administrator in", async (_name, declared) => {
    const status = await statusOf(declared, { token: callers.siteAdmin });
    expect(refusals).not.toContain(status);
    expect(status).toBeLessThan(500);
  });

  test.each(of("vault_user"))("%s lets a regular user in", async (_name, declared) => {
    const status = await statusOf(declared, { bearer: callers.vaultUser });
    expect(refusals).not.toContain(status);
    expect(status).toBeLessThan(500);
  });

  test.each(of("vault_administrator"))("%s lets an administrator in", async (_name, declared) => {
    const status = await statusOf(declared, { bearer: callers.administrator });
    expect(refusals).not.toContain(status);
    expect(status).toBeLessThan(500);
  });
});

describe("credentials of accounts where others are needed", () => {
  test.each(of("forge_job", "forge_artifact_address"))(
    "%s is 401 for users and administrators of both APIs",
    async (_name, declared) => {
      for (const token of [callers.forgeUser, callers.siteAdmin])
        expect(await statusOf(declared, { token })).toBe(401);
      for (const bearer of [callers.vaultUser, callers.administrator])
        expect(await statusOf(declared, { bearer })).toBe(401);
    },
  );

  test.each(of("vault_upload_address"))(
    "%s knows no unknown address, whoever calls",
    async (_name, declared) => {
      const { vaultUser, administrator, siteAdmin } = callers;
      for (const as of [{}, { bearer: vaultUser }, { bearer: administrator }, { token: siteAdmin }])
        expect(await statusOf(declared, as)).toBe(404);
    },
  );
});

test("every kind of gate of the contract has rows, and every endpoint a gate", () => {
  const gates = endpoints.map(({ gate }) => gate.admits);
  expect(new Set(gates)).toEqual(compared);
});

describe("the credentials of the other API", () => {
  test.each(named(endpoints.filter((each) => apiOf(each) === "forge")))(
    "%s of the forge is 401 for a session of the vault",
    async (_name, declared) =>
      expect(await statusOf(declared, { bearer: callers.vaultUser })).toBe(401),
  );
});

describe("an account that is signed in", () => {
  const reads = (...gates: Endpoint["gate"]["admits"][]) =>
    of(...gates).filter(
      // A stream of events does not end.
      ([name, { method }]) => method === "GET" && name !== "forge.notifications.stream",
    );

  test.each(reads("forge_user"))("%s knows a user of the forge", async (_name, declared) =>
    expect(await statusOf(declared, { token: callers.forgeUser })).not.toBe(401),
  );

  test.each(reads("vault_account"))(
    "%s lets in users and administrators of the vault",
    async (_name, declared) => {
      for (const bearer of [callers.vaultUser, callers.administrator])
        expect(await statusOf(declared, { bearer })).not.toBeOneOf([401, 403]);
    },
  );
});

test("every kind of gate has its callers in this matrix", () => {
  // Addresses with a secret of their own are in artifacts, uploads and links; callers of jobs are in foreign-credentials.
  expect([...new Set(endpoints.map(({ gate }) => gate.admits))].toSorted()).toEqual([
    "anyone",
    "forge_artifact_address",
    "forge_basic",
    "forge_job",
    "forge_site_admin",
    "forge_user",
    "vault_account",
    "vault_administrator",
    "vault_upload_address",
    "vault_user",
  ]);
});
