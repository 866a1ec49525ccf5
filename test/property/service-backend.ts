import { AppError } from "../../daemon/errors.ts";
import { createUserAdministration } from "../../daemon/vault/admin/users.service.ts";
import type { VaultCaller } from "../../daemon/vault/caller.ts";
import { cheapHasher, client, openTestAccounts } from "../support/vault/vault-accounts.ts";
import type { VaultBackend } from "./vault-backend.ts";
import type { Verdict } from "./vault-model.ts";
import { toAccountId, type AccountId } from "../../storage/tables/vault/ids.ts";

/** The services themselves over a database in memory, with a hasher that costs nothing. */
export async function createServiceBackend(): Promise<VaultBackend> {
  let hashes = 0;
  const accounts = await openTestAccounts({
    // Like argon2, the same password never gives the same hash twice.
    hasher: {
      hash: async (text) => `${await cheapHasher.hash(text)}$${(hashes += 1)}`,
      verify: (stored, text) => cheapHasher.verify(stored.split("$").slice(0, 2).join("$"), text),
    },
  });
  const users = createUserAdministration({
    db: accounts.db,
    newId: accounts.deps.newId,
    resetMails: accounts.resetMails,
    invitationLinks: accounts.invitationLinks,
    releaseStorages: async () => async () => undefined,
    defaultQuotaBytes: accounts.deps.settings.defaultQuotaBytes,
  });
  const { id } = await accounts.registration.createFirstAdministrator({
    handle: "keeper",
    email: "keeper@example.org",
    password: "x",
  });
  const administrator: VaultCaller = {
    userId: id,
    handle: "keeper",
    email: "keeper@example.org",
    role: "admin",
    sessionId: "",
    address: "",
  };
  const callerOf = (accessToken: string) => accounts.authentication.identify(accessToken, client());
  const withCookie = (refreshToken: string | undefined) => client({ refreshToken });
  const withId = async (name: string, action: (userId: AccountId) => Promise<unknown>) => {
    const found = await users.list({ text: name }, { page: 1, perPage: 1 });
    return action(found.users[0]?.id ?? toAccountId(""));
  };

  return {
    get now() {
      return accounts.now;
    },
    wait(ms) {
      accounts.now += ms;
    },
    register: (name, password) =>
      verdictOf(accounts.registration.register({ handle: name, email: emailOf(name), password })),
    signIn: ({ name, remember, ...given }) =>
      answerOf(async () => {
        const outcome = await accounts.signIn.signIn(
          { ...given, email: emailOf(name), rememberMe: remember },
          client(),
        );
        if (outcome.kind === "signed_in") return { verdict: "ok", tokens: outcome.tokens };
        return { verdict: outcome.kind };
      }),
    refresh: (refreshToken) =>
      answerOf(async () => ({
        verdict: "ok",
        tokens: await accounts.sessions.refresh(client({ refreshToken })),
      })),
    signOut: (cookie) => verdictOf(accounts.sessions.signOut(withCookie(cookie))),
    signOutAll: (token) =>
      verdictOf(callerOf(token).then((caller) => accounts.sessions.signOutAll(caller))),
    endSession: (token, sessionId) =>
      verdictOf(callerOf(token).then((caller) => accounts.sessions.end(caller, sessionId))),
    changePassword: (token, passwords, cookie) =>
      verdictOf(
        callerOf(token).then((caller) =>
          accounts.passwords.change(caller, passwords, withCookie(cookie)),
        ),
      ),
    setUpTotp: (token) =>
      answerOf(async () => {
        const { secret } = await accounts.totp.setUp(await callerOf(token));
        return { verdict: "ok", secret };
      }),
    enableTotp: (token, code, cookie) =>
      answerOf(async () => {
        const caller = await callerOf(token);
        const enabled = await accounts.totp.enable(caller, code, withCookie(cookie));
        return { verdict: `ended ${enabled.sessionsRevoked}`, codes: enabled.backupCodes };
      }),
    disableTotp: (token, cookie) =>
      verdictOf(
        callerOf(token).then((caller) => accounts.totp.disable(caller, withCookie(cookie))),
      ),
    setActive: (name, isActive) =>
      verdictOf(withId(name, (userId) => users.setActive(administrator, userId, isActive))),
    demandReset: (name) =>
      verdictOf(withId(name, (userId) => users.resetPassword(administrator, userId))),
    requestReset: (name) => verdictOf(accounts.passwords.requestReset(emailOf(name))),
    async takeLink() {
      await accounts.runJobs();
      const url = /https:\S+/.exec(accounts.mails.at(-1)?.text ?? "")?.[0] ?? "";
      return new URL(url).searchParams.get("token") ?? "";
    },
    confirmReset: (link, password) =>
      verdictOf(accounts.passwords.confirmReset(link, password, client())),
    accepts: (token) =>
      callerOf(token).then(
        () => true,
        () => false,
      ),
    [Symbol.asyncDispose]: () => accounts[Symbol.asyncDispose](),
  };
}

const emailOf = (name: string) => `${name}@example.org`;

/** `ok`, a count of ended sessions, or the text or kind of the refusal. Anything else is a bug. */
async function verdictOf(call: Promise<unknown>): Promise<Verdict> {
  const { verdict } = await answerOf(async () => {
    const result = await call;
    return { verdict: typeof result === "number" ? `ended ${result}` : "ok" };
  });
  return verdict;
}

async function answerOf<T extends { readonly verdict: Verdict }>(
  call: () => Promise<T>,
): Promise<T | { readonly verdict: Verdict }> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { verdict: toVerdict(error) };
  }
}

function toVerdict({ code, message }: AppError): Verdict {
  switch (code) {
    case "rate_limited":
      return "limited";
    case "conflict":
    case "not_found":
    case "unauthenticated":
      return code;
    case "invalid_argument":
      return message.includes("link") ? message : "refused";
    default:
      return message;
  }
}
