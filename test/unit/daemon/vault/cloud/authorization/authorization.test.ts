import { describe, expect, test } from "vitest";
import type {
  ConnectRequest,
  CloudProviderType,
} from "../../../../../../storage/cloud/provider.ts";
import { createMemoryStorage } from "../../../../../support/cloud/memory-provider.ts";
import { openTestCloud, testProviderDeps } from "../../../../../support/cloud/vault-cloud.ts";
import type { ConnectionId } from "../../../../../../storage/tables/vault/ids.ts";

/** A storage in memory that is connected by signing in; the code determines the result of the sign-in. */
function createSignedInType() {
  const storage = createMemoryStorage();
  const requests: ConnectRequest[] = [];
  const exchanged: string[] = [];
  const type: CloudProviderType = {
    ...storage.type,
    settings: [],
    oauth: {
      serverSettings: ["googleClientId", "googleClientSecret"],
      clientIdSetting: "googleClientId",
      clientSecretSetting: "googleClientSecret",
      authorizationUrl: ({ state, codeChallenge }) =>
        `https://vendor.example/?state=${state}&code_challenge=${codeChallenge}`,
      async exchange({ code, codeVerifier }) {
        exchanged.push(codeVerifier);
        return { kind: "ok", credentials: { token: code } };
      },
    },
    async connect(request) {
      requests.push(request);
      return { kind: "ok", provider: storage.connect(), probeResult: {} };
    },
  };
  return { type, requests, exchanged };
}

async function open(
  server: Record<string, string> = { googleClientId: "i", googleClientSecret: "s" },
) {
  const signedIn = createSignedInType();
  const test = await openTestCloud({
    providerTypes: [signedIn.type],
    deps: { providerDeps: { ...testProviderDeps("", Date.now), server } },
  });
  const mira = await test.addUser("mira");
  const states = () => test.db.all<{ code_verifier: string }>("SELECT * FROM vault_oauth_states");
  async function signIn(code: string, connectionId?: ConnectionId) {
    const { url } = await test.cloud.authorization.start(mira, "memory", {
      connection_id: connectionId,
    });
    return comeBack(url, code);
  }
  /** Opens the start page in a browser, returns from the vendor with a code, and presses the button. */
  async function comeBack(url: string, code: string) {
    const { authorization } = test.cloud;
    const bound = await authorization.bind(url.split("/").at(-1) ?? "");
    if (bound === undefined) throw new Error("not bound");
    const state = new URL(bound.vendorUrl).searchParams.get("state") ?? "";
    const cookie = (name: string) => (name === bound.cookie.name ? bound.cookie.value : undefined);
    const page = await authorization.accept("memory", { state, code, cookie });
    if (page.kind !== "confirm") return page;
    return authorization.confirm("memory", { ...page, cookie, address: "192.0.2.7" });
  }
  async function onlyConnection() {
    const { connections } = await test.cloud.connections.list(mira, { page: 1, per_page: 10 });
    const [connection] = connections;
    if (connection === undefined) throw new Error("not connected");
    return connection;
  }
  return {
    ...signedIn,
    test,
    mira,
    states,
    signIn,
    comeBack,
    onlyConnection,
    [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
  };
}

describe("a sign-in that begins", () => {
  test("a sign-in without the server's settings is refused with their names, and keeps nothing", async () => {
    for (const [server, missing] of [
      [{}, "CROFT_GOOGLE_CLIENT_ID and CROFT_GOOGLE_CLIENT_SECRET"],
      [{ googleClientId: "i", googleClientSecret: "" }, "CROFT_GOOGLE_CLIENT_SECRET"],
    ] as const) {
      await using place = await open({ ...server });
      await expect(
        place.test.cloud.authorization.start(place.mira, "memory", {}),
      ).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringContaining(`has to set ${missing}.`),
      });
      expect(await place.states()).toEqual([]);
    }
  });

  test("of two browsers that open one start link at once, one gets the sign-in", async () => {
    await using place = await open();
    const { authorization } = place.test.cloud;
    const { url } = await authorization.start(place.mira, "memory", {});
    const ticket = url.split("/").at(-1) ?? "";
    const bound = await Promise.all([authorization.bind(ticket), authorization.bind(ticket)]);
    expect(bound.filter((one) => one !== undefined)).toHaveLength(1);
    expect(await authorization.bind(ticket)).toBeUndefined();
  });

  test("keeps neither its state nor its verifier in the clear", async () => {
    await using place = await open();
    const { url } = await place.test.cloud.authorization.start(place.mira, "memory", {});
    const kept = JSON.stringify(await place.states());
    const ticket = url.split("/").at(-1) ?? "";
    expect(ticket).toHaveLength(43);
    expect(kept).not.toContain(ticket);
    expect((await place.comeBack(url, "c")).kind).toBe("connected");
    const [verifier = ""] = place.exchanged;
    expect(verifier).toMatch(/^[\w-]{43}$/);
    expect(kept).not.toContain(verifier);
    expect(url).not.toContain(verifier);
    expect(await place.states()).toEqual([]);
  });
});

describe("credentials that an adapter renews", () => {
  test("an adapter reads back the credentials that it renewed, which are sealed in between", async () => {
    await using place = await open();
    expect((await place.signIn("first")).kind).toBe("connected");
    const connection = await place.onlyConnection();
    await place.test.cloud.connections.test(place.mira, connection.id);
    const used = place.requests.at(-1);
    expect(used?.credentials).toEqual({ token: "first" });
    await used?.saveCredentials({ token: "renewed" });
    expect((await place.onlyConnection()).credentials).not.toContain("renewed");
    expect(await used?.loadCredentials?.()).toEqual({ token: "renewed" });
  });

  test("never replace those that the owner has set since then", async () => {
    await using place = await open();
    await place.signIn("first");
    const connection = await place.onlyConnection();
    await place.test.cloud.connections.test(place.mira, connection.id);
    const before = place.requests.at(-1);
    expect((await place.signIn("second", connection.id)).kind).toBe("connected");
    await before?.saveCredentials({ token: "renewed of the first" });
    expect(await before?.loadCredentials?.()).toBeUndefined();
    await place.test.cloud.connections.test(place.mira, connection.id);
    expect(place.requests.at(-1)?.credentials).toEqual({ token: "second" });
    await place.test.cloud.connections.remove(place.mira, connection.id);
    expect(await place.requests.at(-1)?.loadCredentials?.()).toBeUndefined();
  });
});
