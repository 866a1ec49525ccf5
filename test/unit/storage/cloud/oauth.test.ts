import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { Agent } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import {
  askForGrant,
  createOAuthSpec,
  toEndpoint,
  type OAuthVendor,
} from "../../../../storage/cloud/oauth.ts";
import { createAuthorizedSender } from "../../../../storage/cloud/oauth-sender.ts";
import { createTokens } from "../../../../storage/cloud/oauth-tokens.ts";
import type { Credentials } from "../../../../storage/cloud/provider.ts";
import { createTransport } from "../../../../storage/cloud/transport.ts";
import { createOAuthServer, type OAuthServerOptions } from "../../../stand-ins/oauth-server.ts";
import { serve } from "../../../stand-ins/serve.ts";
import { testProviderDeps } from "../../../support/cloud/vault-cloud.ts";

const vendor: OAuthVendor = {
  clientIdSetting: "googleClientId",
  clientSecretSetting: "googleClientSecret",
  authorizationEndpoint: ({ googleBaseUrl }) =>
    toEndpoint("https://accounts.example/o/auth", googleBaseUrl),
  tokenEndpoint: ({ googleBaseUrl }) => toEndpoint("https://tokens.example/token", googleBaseUrl),
  scopes: ["files", "profile"],
  neededScopes: ["files"],
  authorizationParameters: { access_type: "offline" },
};

const closers: AsyncDisposable[] = [];
afterEach(async () => {
  for (const closer of closers.splice(0)) await closer[Symbol.asyncDispose]();
});

type Handler = (request: IncomingMessage, response: ServerResponse, url: URL) => void;

/** A vendor whose API answers 200 to good tokens, and a connection to it. */
async function connectTo({
  options = {},
  instead,
  api,
}: {
  readonly options?: Partial<OAuthServerOptions>;
  /** Answers in place of the token endpoint; undefined where it should do its work. */
  readonly instead?: () => readonly [number, string] | undefined;
  readonly api?: Handler;
} = {}) {
  const state = { now: 1_000_000 };
  const clock = () => state.now;
  const oauth = createOAuthServer({
    paths: { authorize: "/o/auth", token: "/token", revoke: "/revoke" },
    clientId: "croft",
    clientSecret: "hush",
    accounts: ["ann@example.org"],
    scopes: ["files", "profile"],
    offlineParameters: { access_type: "offline" },
    clock,
    ...options,
  });
  const seen: { path: string; authorization: string | undefined; body: string }[] = [];
  const server = await serve(async (request, response, url) => {
    const replaced = url.pathname === "/token" ? instead?.() : undefined;
    if (replaced !== undefined) return void response.writeHead(replaced[0]).end(replaced[1]);
    if (await oauth.handle(request, response, url)) return;
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const { authorization } = request.headers;
    seen.push({ path: url.pathname, authorization, body });
    if (api !== undefined) return api(request, response, url);
    const isKnown = oauth.accountOf(authorization) !== undefined;
    response.writeHead(isKnown ? 200 : 401).end();
  });
  const agent = new Agent();
  closers.push(server, { [Symbol.asyncDispose]: () => agent.destroy() });
  const settings = {
    googleClientId: "croft",
    googleClientSecret: "hush",
    googleBaseUrl: server.origin,
  };
  const deps = { ...testProviderDeps("", clock), server: settings, direct: agent };
  const transport = createTransport(agent);
  const granted = oauth.grant("ann@example.org");
  const saved: Credentials[] = [];

  function connect(
    more: {
      readonly credentials?: Credentials;
      readonly save?: (credentials: Credentials) => Promise<void>;
      readonly load?: () => Promise<Credentials | undefined>;
    } = {},
  ) {
    const credentials = more.credentials ?? {
      access_token: granted.accessToken,
      refresh_token: granted.refreshToken,
      renew_at: String(state.now + 3_540_000),
    };
    const tokens = createTokens(
      vendor,
      {
        credentials,
        saveCredentials: more.save ?? (async (renewed) => void saved.push(renewed)),
        ...(more.load === undefined ? {} : { loadCredentials: more.load }),
      },
      { clock, server: settings, transport },
    );
    const sender = createAuthorizedSender({
      transport,
      elsewhere: transport,
      tokens,
      api: [server.origin],
    });
    const send = async (
      body?: string | Readable,
      url = `${server.origin}/api`,
      more: { readonly withoutToken?: boolean } = {},
    ) => {
      const answer = await sender.send({ method: "POST", url, body, signal: calm, ...more });
      if (answer.kind === "answered") answer.discard();
      return answer.kind === "answered" ? answer.status : answer;
    };
    return { tokens, send };
  }
  return { state, oauth, server, deps, transport, seen, saved, settings, granted, connect };
}

const calm = new AbortController().signal;

describe("the address of the consent page", () => {
  test("has the standard's parameters, and keeps the vendor's own", () => {
    const url = new URL(
      createOAuthSpec(vendor).authorizationUrl({
        server: { googleClientId: "the id" },
        redirectUrl: "http://127.0.0.1:7420/back?x=1&y",
        state: "s&t=u",
        codeChallenge: "challenge",
      }),
    );
    expect(url.origin + url.pathname).toBe("https://accounts.example/o/auth");
    expect(Object.fromEntries(url.searchParams)).toEqual({
      access_type: "offline",
      response_type: "code",
      client_id: "the id",
      redirect_uri: "http://127.0.0.1:7420/back?x=1&y",
      scope: "files profile",
      state: "s&t=u",
      code_challenge: "challenge",
      code_challenge_method: "S256",
    });
  });

  test("the address of the consent page uses the administrator's origin and path where they are set", () => {
    expect(toEndpoint("https://a.example/x?y=1", "http://127.0.0.1:9/proxy/")).toBe(
      "http://127.0.0.1:9/proxy/x?y=1",
    );
  });
});

describe("a code", () => {
  /** Confirms the consent page as a browser does, and returns the code of the redirect. */
  async function agree(origin: string, scopes: readonly string[], verifier: string, state: string) {
    const url = createOAuthSpec(vendor).authorizationUrl({
      server: { googleClientId: "croft", googleBaseUrl: origin },
      redirectUrl: "http://127.0.0.1:1/back",
      state,
      codeChallenge: createHash("sha256").update(verifier).digest("base64url"),
    });
    const body = new URLSearchParams({ decision: "allow", account: "ann@example.org" });
    for (const scope of scopes) body.append("scope", scope);
    const response = await fetch(url, { method: "POST", body, redirect: "manual" });
    const back = new URL(response.headers.get("location") ?? "");
    expect(back.searchParams.get("state")).toBe(state);
    return back.searchParams.get("code") ?? "";
  }

  const verifier = "v".repeat(43);

  async function exchange(scopes: readonly string[], used = verifier, options = {}) {
    const { server, deps, settings } = await connectTo({ options });
    const code = await agree(server.origin, scopes, verifier, "the state");
    const input = {
      server: settings,
      redirectUrl: "http://127.0.0.1:1/back",
      code,
      codeVerifier: used,
    };
    const spec = createOAuthSpec(vendor);
    return { first: await spec.exchange(input, deps), again: () => spec.exchange(input, deps) };
  }

  test("becomes credentials, once", async () => {
    const { first, again } = await exchange(["files", "profile"]);
    expect(first).toEqual({
      kind: "ok",
      credentials: {
        access_token: expect.stringMatching(/^at\./),
        refresh_token: expect.stringMatching(/^rt\//),
        renew_at: String(1_000_000 + 3_540_000),
      },
    });
    expect(await again()).toEqual({ kind: "reauth", note: "invalid_grant" });
  });

  test("a code of another verifier is refused", async () => {
    expect((await exchange(["files"], "w".repeat(43))).first.kind).toBe("reauth");
  });

  test("a code without a required scope is forbidden; optional scopes may be missing", async () => {
    expect((await exchange(["profile"])).first).toEqual({
      kind: "forbidden",
      note: "scope not granted",
    });
    expect((await exchange(["files"])).first.kind).toBe("ok");
  });

  test("a code without a refresh token makes no connection", async () => {
    const { first } = await exchange(["files"], verifier, {
      offlineParameters: { access_type: "never" },
    });
    expect(first).toEqual({ kind: "forbidden", note: "no refresh token" });
  });
});

describe("the token endpoint", () => {
  const cases: readonly (readonly [number, string, object])[] = [
    [400, '{"error":"invalid_grant","error_description":"secret"}', { kind: "reauth" }],
    [400, '{"error":"interaction_required"}', { kind: "reauth" }],
    [401, '{"error":"invalid_client"}', { kind: "forbidden" }],
    [400, '{"error":"unauthorized_client"}', { kind: "forbidden" }],
    [400, '{"error":"something new"}', { kind: "offline" }],
    [400, "<html>proxy</html>", { kind: "offline" }],
    [500, '{"error":"invalid_grant"}', { kind: "offline" }],
    [503, "", { kind: "offline" }],
    [429, "", { kind: "rate_limited" }],
    [302, "", { kind: "offline" }],
    [200, "<html>maintenance</html>", { kind: "offline" }],
    [200, "{}", { kind: "offline" }],
    [200, '{"access_token":"x\\r\\ny"}', { kind: "offline" }],
    [200, '{"access_token":"x","token_type":"mac"}', { kind: "offline" }],
    [200, '{"access_token":"x"}', { kind: "ok", grant: { renewAt: undefined } }],
    [200, '{"access_token":"x","expires_in":30}', { kind: "ok", grant: { renewAt: 1_015_000 } }],
  ];
  test.each(cases)(
    "maps the status %i of the token endpoint: %s",
    async (status, body, expected) => {
      const { deps, transport, settings } = await connectTo({ instead: () => [status, body] });
      const by = { transport, clock: deps.clock, server: settings };
      const outcome = await askForGrant(vendor, { grant_type: "refresh_token" }, by);
      expect(outcome).toMatchObject(expected);
      expect(JSON.stringify(outcome)).not.toMatch(/secret|html|127\.0/);
    },
  );
});

describe("a token", () => {
  test("a token is renewed once for all that find it refused, and kept before it is used", async () => {
    const { oauth, seen, saved, connect } = await connectTo();
    const order: string[] = [];
    const { send } = connect({
      save: async (renewed) => {
        await new Promise((resolve) => setImmediate(resolve));
        saved.push(renewed);
        order.push(
          `kept before ${seen.filter(({ authorization }) => authorization === `Bearer ${renewed["access_token"]}`).length} uses`,
        );
      },
    });
    oauth.expireTokens();
    const statuses = await Promise.all(Array.from({ length: 20 }, () => send("x")));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(oauth.renewals()).toBe(1);
    expect(order).toEqual(["kept before 0 uses"]);
  });

  test("a token is renewed before its end, before it is refused", async () => {
    const { state, oauth, seen, connect } = await connectTo();
    const { send } = connect();
    state.now += 3_539_999;
    expect(await send()).toBe(200);
    expect(oauth.renewals()).toBe(0);
    state.now += 1;
    expect(await send()).toBe(200);
    expect(oauth.renewals()).toBe(1);
    expect(seen).toHaveLength(2);
  });

  test("keeps its refresh token where the vendor gives no new one, and takes the new one where it does", async () => {
    for (const rotates of [false, true]) {
      const { oauth, saved, granted, connect } = await connectTo({ options: { rotates } });
      const { send } = connect();
      for (let round = 1; round <= 3; round++) {
        oauth.expireTokens();
        expect(await send()).toBe(200);
      }
      expect(saved).toHaveLength(3);
      const kept = new Set([granted.refreshToken, ...saved.map((one) => one["refresh_token"])]);
      expect(kept.size).toBe(rotates ? 4 : 1);
    }
  });

  test("a token that is refused again after renewing is reauth, after exactly two requests", async () => {
    const { oauth, seen, connect } = await connectTo({
      api: (_request, response) => response.writeHead(401).end(),
    });
    expect(await connect().send("x")).toMatchObject({ kind: "reauth" });
    expect([seen.length, oauth.renewals()]).toEqual([2, 1]);
  });

  test("a refused renewal is reauth, and no further request is sent", async () => {
    const { oauth, seen, connect } = await connectTo();
    const { send } = connect();
    oauth.revoke("ann@example.org");
    expect(await send()).toEqual({ kind: "reauth", note: "invalid_grant" });
    const asked = [seen.length, oauth.renewals()];
    expect(await send()).toMatchObject({ kind: "reauth" });
    expect([seen.length, oauth.renewals()]).toEqual(asked);
  });

  test.each([
    [503, ""],
    [400, "<html>"],
    [200, "rubbish"],
  ] as const)(
    "keeps a token when the token endpoint answers %i %s: offline first, and ok later",
    async (status, body) => {
      let isBroken = true;
      const { oauth, connect } = await connectTo({
        instead: () => (isBroken ? [status, body] : undefined),
      });
      const { send } = connect();
      oauth.expireTokens();
      expect(await send("x")).toMatchObject({ kind: "offline", sent: false });
      isBroken = false;
      expect(await send("x")).toBe(200);
    },
  );

  test("a token that was renewed and could not be kept is kept first the next time", async () => {
    const { oauth, saved, connect } = await connectTo({ options: { rotates: true } });
    let isFull = true;
    const { send } = connect({
      save: async (renewed) => {
        if (isFull) throw new Error("disk full");
        saved.push(renewed);
      },
    });
    oauth.expireTokens();
    await expect(send()).rejects.toThrow("disk full");
    isFull = false;
    expect(await send()).toBe(200);
    expect([saved.length, oauth.renewals()]).toEqual([1, 1]);
  });

  test("a token that another process has renewed is taken over instead of renewing again", async () => {
    const { oauth, connect, granted } = await connectTo({
      options: { rotates: true },
    });
    let stored: Credentials = {
      access_token: granted.accessToken,
      refresh_token: granted.refreshToken,
    };
    const shared = {
      save: async (renewed: Credentials) => void (stored = renewed),
      load: async () => stored,
    };
    const [one, other] = [connect(shared), connect(shared)];
    oauth.expireTokens();
    expect(await one.send()).toBe(200);
    expect(await other.send()).toBe(200);
    expect(oauth.renewals()).toBe(1);
    // Both renew at the same time: the slower one's refresh token is spent, and the kept one is used.
    oauth.expireTokens();
    expect(await Promise.all([one.send(), other.send()])).toEqual([200, 200]);
    // The token that one of them has kept has ended before the other one takes it over.
    for (const each of [one, other, one]) {
      const before = oauth.renewals();
      oauth.expireTokens();
      expect(await each.send()).toBe(200);
      expect(oauth.renewals()).toBe(before + 1);
    }
    oauth.revoke("ann@example.org");
    expect(await other.send()).toMatchObject({ kind: "reauth" });
  });

  test("a stream is not sent with a token of another process that may have ended", async () => {
    const { state, oauth, seen, connect, granted } = await connectTo();
    const renewAt = String(state.now + 60_000);
    let stored: Credentials = {
      ...{ access_token: granted.accessToken, refresh_token: granted.refreshToken },
      renew_at: renewAt,
    };
    const shared = {
      credentials: stored,
      save: async (renewed: Credentials) => void (stored = renewed),
      load: async () => stored,
    };
    const [one, other] = [connect(shared), connect(shared)];
    state.now += 60_000;
    expect(await one.send("renews")).toBe(200);
    oauth.expireTokens();
    expect(await other.send(Readable.from(["streamed"]))).toBe(200);
    expect(seen.map(({ body }) => body)).toEqual(["renews", "streamed"]);
    // A token that a request has proved is not renewed before each stream.
    const renewals = oauth.renewals();
    expect(await one.send("takes over")).toBe(200);
    expect(await one.send(Readable.from(["streamed, too"]))).toBe(200);
    expect(oauth.renewals()).toBe(renewals);
  });

  test("saves a renewed token although the call that waited for it was aborted", async () => {
    const { oauth, saved, connect } = await connectTo();
    const { tokens } = connect({
      credentials: { refresh_token: oauth.grant("ann@example.org").refreshToken },
    });
    const controller = new AbortController();
    const waiting = tokens.take(controller.signal);
    controller.abort();
    expect(await waiting).toEqual({ kind: "offline", sent: false, note: "aborted" });
    // Nor is it lost when everything is closed meanwhile.
    await tokens.idle();
    expect(saved).toHaveLength(1);
  });
});

describe("a request with a token", () => {
  test("a request with a token is sent again with its body after a renewal; a stream is let go", async () => {
    const { oauth, seen, connect } = await connectTo();
    const { send } = connect();
    oauth.expireTokens();
    expect(await send("twice")).toBe(200);
    expect(seen.map(({ body }) => body)).toEqual(["twice", "twice"]);
    oauth.expireTokens();
    const stream = Readable.from(["once"]);
    expect(await send(stream)).toMatchObject({ kind: "offline", sent: false });
    expect(stream.destroyed).toBe(true);
    expect(await send(Readable.from(["later"]))).toBe(200);
    oauth.refuseRenewal(true);
    oauth.expireTokens();
    await send("x");
    const unused = Readable.from(["never"]);
    expect(await send(unused)).toMatchObject({ kind: "reauth" });
    expect(unused.destroyed).toBe(true);
  });

  test("never takes the token to another origin, nor where the vendor has signed the address", async () => {
    const elsewhere = await connectTo();
    const { seen, server, connect } = await connectTo();
    const { send } = connect();
    await send("x", `${elsewhere.server.origin}/download`);
    await send("x", `${server.origin}/session`, { withoutToken: true });
    await send("x", `${server.origin.replace("127.0.0.1", "localhost")}/other-name`);
    expect(elsewhere.seen).toMatchObject([{ authorization: undefined }]);
    expect(seen.map(({ authorization }) => authorization)).toEqual(seen.map(() => undefined));
  });

  test("a request with a token that is sent elsewhere by a redirect stays where it is", async () => {
    const elsewhere = await connectTo();
    const { connect } = await connectTo({
      api: (_request, response) =>
        response.writeHead(302, { location: `${elsewhere.server.origin}/steal` }).end(),
    });
    expect(await connect().send()).toBe(302);
    expect(elsewhere.seen).toEqual([]);
  });
});
