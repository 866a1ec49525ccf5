import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { vi } from "vitest";
import { startTestDaemon, type TestAnswer, type TestRequest } from "../support/daemon.ts";
import type { HeldTokens, VaultBackend } from "./vault-backend.ts";
import type { Verdict } from "./vault-model.ts";

/** A daemon that many sequences share, each with people of its own. */
export interface HttpBackends extends AsyncDisposable {
  next(): Promise<VaultBackend>;
}

/** A whole daemon over HTTP, with the real hasher. */
export async function startHttpBackends(): Promise<HttpBackends> {
  let now = Date.UTC(2026, 10, 20, 9, 30);
  const daemon = await startTestDaemon({ clock: () => now });
  let requests = 0;
  let sequences = 0;

  /** Each request comes from another address, so the limits per address do not apply. */
  const send = (path: string, init: TestRequest = {}) => {
    requests += 1;
    const address = `10.${(requests >> 16) & 255}.${(requests >> 8) & 255}.${requests & 255}`;
    const headers = { "User-Agent": "property", "X-Forwarded-For": address, ...init.headers };
    return daemon.request(path, { ...init, headers });
  };
  const withCookie = (cookie: string | undefined, init: TestRequest): TestRequest =>
    cookie === undefined ? init : { ...init, headers: { Cookie: `refresh_token=${cookie}` } };
  const admin = async (path: string, init: TestRequest = {}) => {
    const signedIn = await send("/api/auth/login", {
      json: { email: daemon.first?.vault.email, password: daemon.first?.password },
    });
    return send(`/api/admin${path}`, { bearer: signedIn.json.access_token, ...init });
  };

  return {
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),

    async next() {
      sequences += 1;
      // The administrator signs in for every step: the counter of the address must not fill up.
      now += 15 * 60_000;
      const suffix = `-${sequences}`;
      const emailOf = (name: string) => `${name}${suffix}@example.org`;
      const seenMails = new Map<string, number>();
      let steps = 0;
      const asAdministrator = async (name: string, action: (id: string) => Promise<TestAnswer>) => {
        if ((steps += 1) > 3)
          throw new Error("more steps of the administrator than the counter lets through");
        const { json } = await admin(`/users?q=${name}${suffix}`);
        const id = json.items[0]?.id as string | undefined;
        return id === undefined ? "not_found" : toVerdict(await action(id));
      };

      return {
        get now() {
          return now;
        },
        wait(ms) {
          now += ms;
        },
        register: async (name, password) =>
          toVerdict(
            await send("/api/auth/register", {
              json: { handle: `${name}${suffix}`, email: emailOf(name), password },
            }),
          ),
        signIn: async ({ name, password, totpCode, backupCode, remember }) =>
          toTokens(
            await send("/api/auth/login", {
              json: {
                email: emailOf(name),
                password,
                totp_code: totpCode,
                backup_code: backupCode,
                remember_me: remember,
              },
            }),
          ),
        refresh: async (token) =>
          toTokens(await send("/api/auth/refresh", withCookie(token, { method: "POST" }))),
        signOut: async (cookie) =>
          toVerdict(await send("/api/auth/logout", withCookie(cookie, { method: "POST" }))),
        signOutAll: async (bearer) =>
          toVerdict(await send("/api/auth/logout-all", { method: "POST", bearer })),
        endSession: async (bearer, id) =>
          toVerdict(await send(`/api/auth/sessions/${id}`, { method: "DELETE", bearer })),
        changePassword: async (bearer, { current, next }, cookie) =>
          toVerdict(
            await send(
              "/api/auth/change-password",
              withCookie(cookie, {
                bearer,
                json: { current_password: current, new_password: next },
              }),
            ),
          ),
        async setUpTotp(bearer) {
          const answer = await send("/api/auth/totp/setup", { bearer });
          return { verdict: toVerdict(answer), secret: answer.json.secret };
        },
        async enableTotp(bearer, code, cookie) {
          const answer = await send(
            "/api/auth/totp/enable",
            withCookie(cookie, { bearer, json: { code } }),
          );
          return { verdict: toVerdict(answer), codes: answer.json.backup_codes };
        },
        disableTotp: async (bearer, cookie) =>
          toVerdict(await send("/api/auth/totp", withCookie(cookie, { method: "DELETE", bearer }))),
        setActive: (name, isActive) =>
          asAdministrator(name, (id) =>
            admin(`/users/${id}/status`, { method: "PATCH", json: { is_active: isActive } }),
          ),
        demandReset: (name) =>
          asAdministrator(name, (id) => admin(`/users/${id}/password-reset`, { method: "POST" })),
        requestReset: async (name) =>
          toVerdict(await send("/api/auth/password-reset", { json: { email: emailOf(name) } })),
        async takeLink(name) {
          const seen = seenMails.get(name) ?? 0;
          seenMails.set(name, seen + 1);
          // The mail is sent by jobs, beside the request.
          return vi.waitFor(
            async () => {
              const links = await linksTo(join(daemon.home, "outbox"), emailOf(name));
              const link = links[seen];
              if (link === undefined) throw new Error(`no mail to ${emailOf(name)}`);
              return link;
            },
            { timeout: 60_000, interval: 10 },
          );
        },
        confirmReset: async (token, password) =>
          toVerdict(
            await send("/api/auth/password-reset/confirm", {
              json: { token, new_password: password },
            }),
          ),
        accepts: async (bearer) => (await send("/api/auth/me", { bearer })).status === 200,
        [Symbol.asyncDispose]: async () => {},
      };
    },
  };
}

/** The tokens of the links mailed to an address, oldest first. */
async function linksTo(outbox: string, email: string): Promise<string[]> {
  const links: string[] = [];
  for (const name of (await readdir(outbox)).toSorted()) {
    const mail = await readFile(join(outbox, name), "utf8");
    const token = /\/password-reset\/confirm\?token=(\S+)/.exec(mail)?.[1];
    if (mail.includes(`To: ${email}`) && token !== undefined) links.push(token);
  }
  return links;
}

function toTokens(answer: TestAnswer): { verdict: Verdict; tokens?: HeldTokens } {
  const verdict = toVerdict(answer);
  const cookie = /refresh_token=([^;]+)/.exec(answer.headers.get("set-cookie") ?? "")?.[1];
  const accessToken = answer.json.access_token as string | undefined;
  if (accessToken === undefined || cookie === undefined) return { verdict };
  return { verdict, tokens: { accessToken, refreshToken: cookie } };
}

/** An answer in the words of the model. One that no document knows is a bug. */
function toVerdict({ status, json, text }: TestAnswer): Verdict {
  const detail = json.detail as string | undefined;
  switch (status) {
    case 200:
    case 201:
    case 202:
      if (json.requires_totp === true) return "totp_required";
      if (json.requires_password_change === true) return "password_change_required";
      return typeof json.sessions_revoked === "number" ? `ended ${json.sessions_revoked}` : "ok";
    case 400:
      return detail?.includes("link") === true ? detail : "refused";
    case 401:
      return detail === "Invalid or expired token" ? "unauthenticated" : (detail ?? "");
    case 404:
      return "not_found";
    case 409:
      return "conflict";
    case 429:
      return "limited";
    default:
      throw new Error(`unexpected answer ${status}: ${text}`);
  }
}
