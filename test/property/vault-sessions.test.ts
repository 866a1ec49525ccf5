import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AppError } from "../../daemon/errors.ts";
import { createVaultAdministration } from "../../daemon/vault/admin/admin.ts";
import type { IssuedTokens } from "../../daemon/vault/accounts/session-issue.ts";
import type { VaultCaller } from "../../daemon/vault/caller.ts";
import {
  cheapHasher,
  client,
  identify,
  openTestAccounts,
  totpCode,
} from "../support/vault-accounts.ts";
import { type Factor, type SecretId, VaultModel, type Verdict } from "./vault-model.ts";

const RUNS = 2_000;
const STEPS_MAX = 24;
const STEP_MS = 30_000;
const START = Date.UTC(2026, 10, 20, 9, 30);

const names = ["mira", "otto"] as const;
const name = fc.constantFrom(...names);
const password = fc.integer({ min: 0, max: 2 });
/** Whether the right password is given; mostly. */
const right = fc.oneof(
  { weight: 5, arbitrary: fc.constant(true) },
  { weight: 1, arbitrary: fc.constant(false) },
);
/** Which of the things of a kind that exist by then, counted from the newest: it is the interesting one. */
const recent = fc.oneof(
  { weight: 2, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 5 }) },
);
/** How many steps off a code is. */
const drift = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 1 }) },
  { weight: 1, arbitrary: fc.integer({ min: -2, max: 2 }) },
);
const factor = fc.oneof(
  { weight: 1, arbitrary: fc.constant({ kind: "none" as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("totp" as const),
      own: right,
      drift,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("backup" as const),
      own: right,
      place: fc.integer({ min: 0, max: 2 }),
    }),
  },
);

const command = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: fc.constant("register" as const), name, password }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("signIn" as const),
      name,
      right,
      factor,
      remember: fc.boolean(),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("refresh" as const), token: recent }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("raceRefresh" as const),
      token: recent,
      count: fc.integer({ min: 2, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("signOut" as const), token: recent }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("signOutAll" as const), access: recent }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("endSession" as const),
      access: recent,
      target: recent,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("changePassword" as const),
      access: recent,
      right,
      next: password,
      cookie: recent,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("setUpTotp" as const), access: recent }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("enableTotp" as const),
      access: recent,
      drift,
      cookie: recent,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("disableTotp" as const),
      access: recent,
      cookie: recent,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("setActive" as const), name, isActive: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("demandReset" as const), name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("requestReset" as const), name }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("confirmReset" as const),
      link: recent,
      next: password,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      ms: fc.constantFrom(
        1,
        999,
        1000,
        STEP_MS,
        10 * 60_000,
        16 * 60_000,
        61 * 60_000,
        17 * 3_600_000,
      ),
    }),
  },
);
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never;

/** Steps that random ones seldom take in a row: the second factor is on, and its owner is signed in. */
const enrolment: readonly Command[] = [
  { do: "setUpTotp", access: 0 },
  { do: "enableTotp", access: 0, drift: 0, cookie: 0 },
  { do: "refresh", token: 0 },
  { do: "wait", ms: STEP_MS },
];
const steps = fc.oneof(
  { weight: 12, arbitrary: command.map((each) => [each]) },
  { weight: 1, arbitrary: fc.constant(enrolment) },
);

describe("accounts and sessions, held against a model", () => {
  test(`${RUNS} random sequences: nothing is accepted that the model refuses, nor refused that it accepts`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(steps, { minLength: 1, maxLength: STEPS_MAX, size: "max" }),
        (sequence) => replay(sequence.flat()),
      ),
      { numRuns: RUNS },
    );
  });
});

/** Every sequence begins with two people, one of them signed in twice. */
const begin: readonly Command[] = [
  { do: "register", name: "mira", password: 0 },
  { do: "register", name: "otto", password: 0 },
  ...["otto", "mira", "mira"].map((who) => ({
    do: "signIn" as const,
    name: who as "mira" | "otto",
    right: true,
    factor: { kind: "none" as const },
    remember: false,
  })),
];

async function replay(commands: readonly Command[]): Promise<void> {
  await using world = await createWorld();
  for (const each of [...begin, ...commands]) {
    const { model, real } = await world.perform(each);
    const accepted = await world.acceptedByServices();
    expect({ each, real, accepted }).toEqual({
      each,
      real: model,
      accepted: world.acceptedByModel(),
    });
  }
}

/** The services and the model side by side, and everything that clients were given so far. */
async function createWorld() {
  let hashes = 0;
  const accounts = await openTestAccounts({
    // Like argon2, the same password never gives the same hash twice.
    hasher: {
      hash: async (text) => `${await cheapHasher.hash(text)}$${(hashes += 1)}`,
      verify: (stored, text) => cheapHasher.verify(stored.split("$").slice(0, 2).join("$"), text),
    },
  });
  const administration = createVaultAdministration({
    db: accounts.db,
    newId: accounts.deps.newId,
    resetMails: accounts.resetMails,
    settings: accounts.deps.settings,
  });
  accounts.now = START;
  const administrator = toAdministrator(
    await accounts.registration.createFirstAdministrator({
      handle: "keeper",
      email: "keeper@example.org",
      password: "x",
    }),
  );
  const model = new VaultModel(START);
  const tokens: IssuedTokens[] = [];
  /** By number: what the model calls a secret, and what its codes are. */
  const secrets: { readonly secret: string; codes: readonly string[] }[] = [];
  const links: string[] = [];

  const newest = (list: readonly unknown[], back: number) =>
    list.length === 0 ? -1 : list.length - 1 - (back % list.length);
  const guess = (current: number | undefined, isRight: boolean) =>
    isRight ? (current ?? 0) : ((current ?? 0) + 1) % 3;
  const cookieOf = (index: number) => client({ refreshToken: tokens[index]?.refreshToken });
  const codeOf = (secret: SecretId, step: number) =>
    secrets[secret] === undefined ? "000000" : totpCode(secrets[secret].secret, step * STEP_MS);

  return {
    perform,
    acceptedByModel: () => tokens.map((_, index) => model.accepts(index)),
    acceptedByServices: () =>
      Promise.all(
        tokens.map((each) =>
          identify(accounts, each).then(
            () => true,
            () => false,
          ),
        ),
      ),
    [Symbol.asyncDispose]: () => accounts[Symbol.asyncDispose](),
  };

  async function perform(given: Command): Promise<{ model: unknown; real: unknown }> {
    switch (given.do) {
      case "register":
        return {
          model: model.register(given.name, given.password),
          real: await verdict(
            accounts.registration.register({
              handle: given.name,
              email: emailOf(given.name),
              password: passwordOf(given.password),
            }),
          ),
        };
      case "signIn":
        return signIn(given);
      case "refresh":
        return refresh(newest(tokens, given.token), 1);
      case "raceRefresh":
        return refresh(newest(tokens, given.token), given.count);
      case "signOut": {
        const index = newest(tokens, given.token);
        return {
          model: model.signOut(index),
          real: await verdict(accounts.sessions.signOut(cookieOf(index))),
        };
      }
      case "signOutAll": {
        const access = newest(tokens, given.access);
        return {
          model: model.signOutAll(access),
          real: await asCaller(access, (caller) => accounts.sessions.signOutAll(caller)),
        };
      }
      case "endSession": {
        const access = newest(tokens, given.access);
        const target = newest(tokens, given.target);
        const sessionId = tokens[target] === undefined ? "" : sessionOf(tokens[target]);
        return {
          model: model.endSession(access, target),
          real: await asCaller(access, (caller) => accounts.sessions.end(caller, sessionId)),
        };
      }
      case "changePassword": {
        const access = newest(tokens, given.access);
        const cookie = newest(tokens, given.cookie);
        const current = guess(model.owner(access)?.password, given.right);
        return {
          model: model.changePassword(access, current, given.next, cookie),
          real: await asCaller(access, (caller) =>
            accounts.passwords.change(
              caller,
              { current: passwordOf(current), next: passwordOf(given.next) },
              cookieOf(cookie),
            ),
          ),
        };
      }
      case "setUpTotp": {
        const access = newest(tokens, given.access);
        const expected = model.setUpTotp(access, secrets.length);
        const real = await asCaller(access, async (caller) => {
          const { secret } = await accounts.totp.setUp(caller);
          secrets.push({ secret, codes: [] });
        });
        return { model: expected, real };
      }
      case "enableTotp": {
        const access = newest(tokens, given.access);
        const cookie = newest(tokens, given.cookie);
        const secret = model.owner(access)?.pending?.secret ?? newest(secrets, 0);
        const step = model.step + given.drift;
        return {
          model: model.enableTotp(access, secrets[secret] && secret, step, cookie),
          real: await asCaller(access, async (caller) => {
            const code = codeOf(secret, step);
            const enabled = await accounts.totp.enable(caller, code, cookieOf(cookie));
            const known = secrets[secret];
            if (known !== undefined) known.codes = enabled.backupCodes;
            return enabled.sessionsRevoked;
          }),
        };
      }
      case "disableTotp": {
        const access = newest(tokens, given.access);
        const cookie = newest(tokens, given.cookie);
        return {
          model: model.disableTotp(access, cookie),
          real: await asCaller(access, (caller) => accounts.totp.disable(caller, cookieOf(cookie))),
        };
      }
      case "setActive":
        return {
          model: model.setActive(given.name, given.isActive),
          real: await verdict(
            withId(given.name, (id) =>
              administration.users.setActive(administrator, id, given.isActive),
            ),
          ),
        };
      case "demandReset": {
        const real = await verdict(
          withId(given.name, (id) => administration.users.resetPassword(administrator, id)),
        );
        const expected = model.demandReset(given.name);
        if (expected === "ok") await takeLink(given.name);
        return { model: expected, real };
      }
      case "requestReset": {
        const real = await verdict(accounts.passwords.requestReset(emailOf(given.name)));
        await takeLink(given.name);
        return { model: "ok", real };
      }
      case "confirmReset": {
        const link = newest(links, given.link);
        return {
          model: model.confirmReset(link, given.next),
          real: await verdict(
            accounts.passwords.confirmReset(links[link] ?? "", passwordOf(given.next), client()),
          ),
        };
      }
      case "wait":
        accounts.now += given.ms;
        model.now += given.ms;
        return { model: "", real: "" };
    }
  }

  async function signIn(given: Extract<Command, { do: "signIn" }>) {
    const used = toFactor(given.name, given.factor);
    const password = guess(model.user(given.name)?.password, given.right);
    const real = await verdict(
      accounts.signIn
        .signIn(
          {
            email: emailOf(given.name),
            password: passwordOf(password),
            rememberMe: given.remember,
            totpCode: used.kind === "totp" ? codeOf(used.secret ?? -1, used.step) : undefined,
            backupCode: used.kind === "backup" ? backupCodeOf(used.code) : undefined,
          },
          client(),
        )
        .then((outcome) => {
          if (outcome.kind !== "signed_in") return outcome.kind;
          tokens.push(outcome.tokens);
          return undefined;
        }),
    );
    return { model: model.signIn(given.name, password, used, given.remember), real };
  }

  /** Several refreshes with one token at once are one after the other to the model: in which order does not matter. */
  async function refresh(index: number, count: number) {
    const expected = Array.from({ length: count }, () => model.refresh(index));
    const real = await Promise.all(
      Array.from({ length: count }, () =>
        verdict(
          accounts.sessions
            .refresh(client({ refreshToken: tokens[index]?.refreshToken ?? "x" }))
            .then((issued) => {
              tokens.push(issued);
            }),
        ),
      ),
    );
    return { model: expected.toSorted(), real: real.toSorted() };
  }

  async function asCaller(
    access: number,
    action: (caller: VaultCaller) => Promise<unknown>,
  ): Promise<Verdict> {
    const held = tokens[access];
    if (held === undefined) return "unauthenticated";
    return verdict(identify(accounts, held).then(action));
  }

  async function withId(who: string, action: (id: string) => Promise<unknown>): Promise<void> {
    const { users } = await administration.users.list({ text: who }, { page: 1, perPage: 1 });
    await action(users[0]?.id ?? "");
  }

  /** The link of the mail that was queued last, if somebody has the address. */
  async function takeLink(who: string): Promise<void> {
    const before = accounts.mails.length;
    await accounts.runJobs();
    model.requestReset(who);
    if (accounts.mails.length === before) return;
    const url = /https:\S+/.exec(accounts.mails.at(-1)?.text ?? "")?.[0] ?? "";
    links.push(new URL(url).searchParams.get("token") ?? "");
  }

  /** Own codes are of the secret in use; others of the newest secret there is, whose ever it is. */
  function toFactor(who: string, given: Extract<Command, { do: "signIn" }>["factor"]): Factor {
    if (given.kind === "none") return given;
    const own = given.own ? model.user(who)?.totp : undefined;
    const secret = own ?? newest(secrets, 0);
    return given.kind === "backup"
      ? { kind: "backup", code: `${secret}/${given.place}` }
      : {
          kind: "totp",
          secret: secret === -1 ? undefined : secret,
          step: model.step + given.drift,
        };
  }

  function backupCodeOf(code: string): string {
    const [secret, place] = code.split("/").map(Number);
    return secrets[secret ?? -1]?.codes[place ?? -1] ?? "00000-00000";
  }
}

const emailOf = (who: string) => `${who}@example.org`;
const passwordOf = (index: number) => `Correct-Horse-${index}`;

function toAdministrator({ id }: { readonly id: string }): VaultCaller {
  const email = "keeper@example.org";
  return { userId: id, handle: "keeper", email, role: "admin", sessionId: "", address: "" };
}

function sessionOf({ accessToken }: IssuedTokens): string {
  const [, claims = ""] = accessToken.split(".");
  return (JSON.parse(Buffer.from(claims, "base64url").toString()) as { sid: string }).sid;
}

/** What a call came to: `ok`, a count of ended sessions, or the text or kind of the refusal. Anything else is a bug. */
async function verdict(call: Promise<unknown>): Promise<Verdict> {
  try {
    const result = await call;
    if (typeof result === "number") return `ended ${result}`;
    return typeof result === "string" ? result : "ok";
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    switch (error.code) {
      case "rate_limited":
        return "limited";
      case "conflict":
      case "not_found":
      case "unauthenticated":
        return error.code;
      case "invalid_argument":
        return error.message.includes("link") ? error.message : "refused";
      default:
        return error.message;
    }
  }
}
