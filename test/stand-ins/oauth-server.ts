// test/stand-ins: fake vendor servers that follow the vendors' public documentation. They import nothing of the product.
// Each can be started alone: `node test/stand-ins/google-drive-server.ts --port 8400`.
// Start here (sign-in, shared by all of them), then google-drive-server.ts.
import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";

/** How one vendor's sign-in differs from another's. */
export interface OAuthServerOptions {
  readonly paths: { readonly authorize: string; readonly token: string; readonly revoke?: string };
  readonly clientId: string;
  readonly clientSecret: string;
  /** Whether the client has registered this address; loopback addresses only when absent. */
  readonly isRedirectUrl?: (url: string) => boolean;
  /** Names of the accounts that the consent page offers. */
  readonly accounts: readonly string[];
  /** Scopes that may be requested. */
  readonly scopes: readonly string[];
  /** Parameters that the authorization URL must have for a refresh token, such as `{ access_type: "offline" }`. */
  readonly offlineParameters?: Readonly<Record<string, string>>;
  /** A scope that must be requested instead, such as `offline_access`. */
  readonly offlineScope?: string;
  readonly accessTokenSeconds?: number;
  /** Renewing ends the refresh token and gives a new one. */
  readonly rotates?: boolean;
  /** Epoch milliseconds. */
  readonly clock?: () => number;
  /** Additional members of a token response, such as Dropbox's `account_id`. */
  readonly tokenExtras?: (account: string) => Readonly<Record<string, unknown>>;
}

/** A sign-in server in memory, to be mounted into a stand-in. */
export interface OAuthServer {
  /** Answers its own paths; false for any other. */
  handle(request: IncomingMessage, response: ServerResponse, url: URL): Promise<boolean>;
  /** The account of an `Authorization` header; undefined when its token is missing, unknown, ended or revoked. */
  accountOf(authorization: string | undefined): string | undefined;
  /** Returns the tokens that a finished sign-in of this account would return. */
  grant(account: string): { readonly accessToken: string; readonly refreshToken: string };
  /** All access tokens end now. */
  expireTokens(): void;
  /** Answers the next exchange of a code with this. Renewals, which jobs of the daemon request at any time, are not affected. */
  answerNextExchange(status: number, body: string): void;
  /** Refuses renewals with `invalid_grant` until reset. */
  refuseRenewal(isRefused: boolean): void;
  /** Revokes all tokens of this account, as a user can on the vendor's page. */
  revoke(account: string): void;
  /** How often a token was renewed. */
  renewals(): number;
  /** All codes and tokens that were ever given, without the letters that they begin with. */
  readonly secrets: readonly string[];
}

interface Code {
  readonly account: string;
  readonly scope: string;
  readonly redirectUrl: string;
  readonly challenge: string;
  readonly endsAt: number;
  readonly isOffline: boolean;
  used: boolean;
  /** Tokens given for it: they end when the code comes a second time (RFC 6749, 4.1.2). */
  readonly given: string[];
}

interface Token {
  readonly account: string;
  readonly scope: string;
  endsAt: number;
}

const CODE_MS = 60_000;

export function createOAuthServer(options: OAuthServerOptions): OAuthServer {
  const { paths, clock = Date.now, accessTokenSeconds = 3600, rotates = false } = options;
  const codes = new Map<string, Code>();
  const accessTokens = new Map<string, Token>();
  const refreshTokens = new Map<string, Token>();
  const secrets: string[] = [];
  let isRefused = false;
  let renewals = 0;
  let nextExchange: { readonly status: number; readonly body: string } | undefined;

  function newSecret(): string {
    const made = secret();
    secrets.push(made);
    return made;
  }

  function give(account: string, scope: string): string {
    const token = `at.${newSecret()}`;
    accessTokens.set(token, { account, scope, endsAt: clock() + accessTokenSeconds * 1000 });
    return token;
  }

  function giveLasting(account: string, scope: string): string {
    const token = `rt/${newSecret()}`;
    refreshTokens.set(token, { account, scope, endsAt: Infinity });
    return token;
  }

  /** Returns the fault of a consent request: shown on the page (never redirected) or sent back to the client. */
  function faultOf(query: URLSearchParams): { shown?: string; sent?: string } {
    const { isRedirectUrl = isLoopback } = options;
    if (query.get("client_id") !== options.clientId) return { shown: "invalid_client" };
    if (!isRedirectUrl(query.get("redirect_uri") ?? "")) return { shown: "redirect_uri_mismatch" };
    if (query.get("response_type") !== "code") return { sent: "unsupported_response_type" };
    if (query.get("code_challenge_method") !== "S256") return { sent: "invalid_request" };
    if (!/^[\w-]{43}$/.test(query.get("code_challenge") ?? "")) return { sent: "invalid_request" };
    const scopes = (query.get("scope") ?? "").split(" ").filter((scope) => scope !== "");
    const isKnown = scopes.every((scope) => options.scopes.includes(scope));
    return isKnown ? {} : { sent: "invalid_scope" };
  }

  function sendBack(response: ServerResponse, query: URLSearchParams, more: [string, string][]) {
    const url = new URL(query.get("redirect_uri") ?? "");
    for (const [name, value] of more) url.searchParams.set(name, value);
    if (query.has("state")) url.searchParams.set("state", query.get("state") ?? "");
    response.writeHead(302, { location: url.href, "cache-control": "no-store" }).end();
  }

  function authorize(response: ServerResponse, query: URLSearchParams): void {
    const fault = faultOf(query);
    if (fault.shown !== undefined) return sendPage(response, 400, errorPage(fault.shown));
    if (fault.sent !== undefined) return sendBack(response, query, [["error", fault.sent]]);
    sendPage(response, 200, consentPage(options, query));
  }

  function decide(response: ServerResponse, query: URLSearchParams, form: URLSearchParams): void {
    const fault = faultOf(query);
    if (fault.shown !== undefined) return sendPage(response, 400, errorPage(fault.shown));
    const account = form.get("account") ?? "";
    if (form.get("decision") !== "allow" || !options.accounts.includes(account))
      return sendBack(response, query, [["error", "access_denied"]]);
    const code = `4/${newSecret()}`;
    const scope = form.getAll("scope").join(" ");
    const offline = Object.entries(options.offlineParameters ?? {});
    codes.set(code, {
      account,
      scope,
      redirectUrl: query.get("redirect_uri") ?? "",
      challenge: query.get("code_challenge") ?? "",
      endsAt: clock() + CODE_MS,
      isOffline:
        offline.every(([name, value]) => query.get(name) === value) &&
        (options.offlineScope === undefined || scope.split(" ").includes(options.offlineScope)),
      used: false,
      given: [],
    });
    sendBack(response, query, [["code", code]]);
  }

  function exchange(form: URLSearchParams): Answer {
    const code = codes.get(form.get("code") ?? "");
    if (code === undefined) return refuse("invalid_grant", "Bad code.");
    if (code.used) {
      for (const token of code.given) {
        accessTokens.delete(token);
        refreshTokens.delete(token);
      }
      return refuse("invalid_grant", "Code was already redeemed.");
    }
    code.used = true;
    const verifier = form.get("code_verifier") ?? "";
    const challenge = createHash("sha256").update(verifier).digest("base64url");
    if (challenge !== code.challenge) return refuse("invalid_grant", "Bad code_verifier.");
    if (form.get("redirect_uri") !== code.redirectUrl) return refuse("redirect_uri_mismatch");
    if (clock() > code.endsAt) return refuse("invalid_grant", "Code has expired.");
    const accessToken = give(code.account, code.scope);
    const refreshToken = code.isOffline ? giveLasting(code.account, code.scope) : undefined;
    code.given.push(accessToken, refreshToken ?? "");
    return tokens(code.account, code.scope, accessToken, refreshToken);
  }

  function renew(form: URLSearchParams): Answer {
    renewals += 1;
    const old = form.get("refresh_token") ?? "";
    const known = refreshTokens.get(old);
    if (known === undefined || isRefused)
      return refuse("invalid_grant", "Token has been expired or revoked.");
    let next: string | undefined;
    if (rotates) {
      refreshTokens.delete(old);
      next = giveLasting(known.account, known.scope);
    }
    return tokens(known.account, known.scope, give(known.account, known.scope), next);
  }

  function tokens(
    account: string,
    scope: string,
    accessToken: string,
    refreshToken?: string,
  ): Answer {
    const body = {
      access_token: accessToken,
      expires_in: accessTokenSeconds,
      token_type: "Bearer",
      scope,
      ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
      ...options.tokenExtras?.(account),
    };
    return { status: 200, body };
  }

  function answerToken(request: IncomingMessage, form: URLSearchParams): Answer {
    const basic = /^Basic (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    const [id, password] =
      basic === undefined
        ? [form.get("client_id"), form.get("client_secret")]
        : Buffer.from(basic, "base64").toString().split(":").map(decodeURIComponent);
    if (id !== options.clientId || password !== options.clientSecret)
      return { status: 401, body: { error: "invalid_client", error_description: "Unauthorized" } };
    switch (form.get("grant_type")) {
      case "authorization_code":
        return exchange(form);
      case "refresh_token":
        return renew(form);
      default:
        return refuse("unsupported_grant_type");
    }
  }

  function revokeToken(form: URLSearchParams): Answer {
    const token = form.get("token") ?? "";
    const account = (refreshTokens.get(token) ?? accessTokens.get(token))?.account;
    if (account === undefined) return refuse("invalid_token");
    accessTokens.delete(token);
    refreshTokens.delete(token);
    return { status: 200, body: {} };
  }

  return {
    async handle(request, response, url) {
      const { method } = request;
      if (url.pathname === paths.authorize && method === "GET")
        authorize(response, url.searchParams);
      else if (url.pathname === paths.authorize && method === "POST")
        decide(response, url.searchParams, new URLSearchParams(await text(request)));
      else if (url.pathname === paths.token && method === "POST") {
        const form = new URLSearchParams(await text(request));
        const planned = form.get("grant_type") === "authorization_code" ? nextExchange : undefined;
        if (planned === undefined) sendJson(response, answerToken(request, form));
        else {
          nextExchange = undefined;
          response.writeHead(planned.status).end(planned.body);
        }
      } else if (url.pathname === paths.revoke && method === "POST")
        sendJson(response, revokeToken(new URLSearchParams(await text(request))));
      else return false;
      return true;
    },

    accountOf(authorization) {
      const token = accessTokens.get(/^Bearer (.+)$/i.exec(authorization ?? "")?.[1] ?? "");
      return token === undefined || clock() >= token.endsAt ? undefined : token.account;
    },

    grant(account) {
      const scope = options.scopes.join(" ");
      return { accessToken: give(account, scope), refreshToken: giveLasting(account, scope) };
    },

    answerNextExchange(status, body) {
      nextExchange = { status, body };
    },

    expireTokens() {
      for (const token of accessTokens.values()) token.endsAt = 0;
    },

    refuseRenewal(value) {
      isRefused = value;
    },

    revoke(account) {
      for (const map of [accessTokens, refreshTokens])
        for (const [token, known] of map) if (known.account === account) map.delete(token);
    },

    renewals: () => renewals,
    secrets,
  };
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

function refuse(error: string, description?: string): Answer {
  return { status: 400, body: { error, error_description: description } };
}

function sendJson(response: ServerResponse, { status, body }: Answer): void {
  response
    .writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
    .end(JSON.stringify(body));
}

function sendPage(response: ServerResponse, status: number, html: string): void {
  response
    .writeHead(status, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" })
    .end(html);
}

/** A page that a browser and curl can answer: one form, no script. */
function consentPage({ accounts, clientId }: OAuthServerOptions, query: URLSearchParams): string {
  const scopes = (query.get("scope") ?? "").split(" ").filter((scope) => scope !== "");
  const choices = accounts.map(
    (account, at) =>
      `<p><label><input type="radio" name="account" value="${escape(account)}"${at === 0 ? " checked" : ""}> ${escape(account)}</label></p>`,
  );
  const boxes = scopes.map(
    (scope) =>
      `<p><label><input type="checkbox" name="scope" value="${escape(scope)}" checked> ${escape(scope)}</label></p>`,
  );
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sign in</title><link rel="icon" href="data:,">
<h1>${escape(clientId)} wants access to your storage</h1>
<form method="post" action="?${escape(query.toString())}">
${choices.join("\n")}
${boxes.join("\n")}
<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Deny</button>
</form></html>
`;
}

function errorPage(error: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Error</title><h1>Error 400: ${escape(error)}</h1></html>\n`;
}

function escape(value: string): string {
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function isLoopback(url: string): boolean {
  return URL.canParse(url) && ["127.0.0.1", "localhost", "[::1]"].includes(new URL(url).hostname);
}

function secret(): string {
  return randomBytes(24).toString("base64url");
}
