import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { totpCode } from "../support/vault/vault-accounts.ts";
import { startHttpBackends } from "./http-backend.ts";
import { createServiceBackend } from "./service-backend.ts";
import type { HeldTokens, VaultBackend } from "./vault-backend.ts";
import { type Factor, type SecretId, VaultModel, type Verdict } from "./vault-model.ts";
import { cases } from "../support/property.ts";

const RUNS = 2_000;
const STEPS_MAX = 24;
const HTTP_RUNS = 20;
const HTTP_STEPS_MAX = 16;
const STEP_MS = 30_000;

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

const sequences = (stepsMax: number) =>
  fc
    .array(steps, { minLength: 1, maxLength: stepsMax, size: "max" })
    .map((chosen) => chosen.flat());

describe("accounts and sessions accept and refuse exactly the same calls as a model", () => {
  test(`${RUNS} random sequences, on the services`, async () => {
    await fc.assert(
      fc.asyncProperty(sequences(STEPS_MAX), async (commands) =>
        replay(await createServiceBackend(), commands),
      ),
      cases(RUNS),
    );
  });

  test(`${HTTP_RUNS} random sequences, on a daemon over HTTP`, async () => {
    await using backends = await startHttpBackends();
    await fc.assert(
      fc.asyncProperty(sequences(HTTP_STEPS_MAX), async (commands) =>
        replay(await backends.next(), withFewAdministrators(commands)),
      ),
      { ...cases(HTTP_RUNS), endOnFailure: true },
    );
  });
});

/** Over HTTP the administrator has to sign in for each step, which a counter bounds. */
function withFewAdministrators(commands: readonly Command[]): readonly Command[] {
  let left = 3;
  return commands.filter(
    (each) => (each.do !== "setActive" && each.do !== "demandReset") || (left -= 1) >= 0,
  );
}

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

async function replay(backend: VaultBackend, commands: readonly Command[]): Promise<void> {
  await using world = createWorld(backend);
  for (const each of [...begin, ...commands]) {
    const { model, real } = await world.perform(each);
    const accepted = await world.acceptedByBackend();
    expect({ each, real, accepted }).toEqual({
      each,
      real: model,
      accepted: world.acceptedByModel(),
    });
  }
}

/** The backend and the model side by side, and everything that clients were given so far. */
function createWorld(backend: VaultBackend) {
  const model = new VaultModel(backend.now);
  const tokens: HeldTokens[] = [];
  /** The secrets by their numbers in the model, each with its codes. */
  const secrets: { readonly secret: string; codes: readonly string[] }[] = [];
  const links: string[] = [];

  const newest = (list: readonly unknown[], back: number) =>
    list.length === 0 ? -1 : list.length - 1 - (back % list.length);
  const guess = (current: number | undefined, isRight: boolean) =>
    isRight ? (current ?? 0) : ((current ?? 0) + 1) % 3;
  const cookieOf = (index: number) => tokens[index]?.refreshToken;
  const codeOf = (secret: SecretId, step: number) =>
    secrets[secret] === undefined ? "000000" : totpCode(secrets[secret].secret, step * STEP_MS);

  return {
    perform,
    acceptedByModel: () => tokens.map((_, index) => model.accepts(index)),
    acceptedByBackend: () =>
      Promise.all(tokens.map(({ accessToken }) => backend.accepts(accessToken))),
    [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
  };

  async function perform(given: Command): Promise<{ model: unknown; real: unknown }> {
    switch (given.do) {
      case "register":
        return {
          model: model.register(given.name, given.password),
          real: await backend.register(given.name, passwordOf(given.password)),
        };
      case "signIn":
        return signIn(given);
      case "refresh":
        return refresh(newest(tokens, given.token), 1);
      case "raceRefresh":
        return refresh(newest(tokens, given.token), given.count);
      case "signOut": {
        const index = newest(tokens, given.token);
        return { model: model.signOut(index), real: await backend.signOut(cookieOf(index)) };
      }
      case "signOutAll": {
        const access = newest(tokens, given.access);
        return { model: model.signOutAll(access), real: await as(access, backend.signOutAll) };
      }
      case "endSession": {
        const access = newest(tokens, given.access);
        const target = newest(tokens, given.target);
        const sessionId = tokens[target] === undefined ? "" : sessionOf(tokens[target]);
        return {
          model: model.endSession(access, target),
          real: await as(access, (token) => backend.endSession(token, sessionId)),
        };
      }
      case "changePassword": {
        const access = newest(tokens, given.access);
        const cookie = newest(tokens, given.cookie);
        const current = guess(model.owner(access)?.password, given.right);
        const passwords = { current: passwordOf(current), next: passwordOf(given.next) };
        return {
          model: model.changePassword(access, current, given.next, cookie),
          real: await as(access, (token) =>
            backend.changePassword(token, passwords, cookieOf(cookie)),
          ),
        };
      }
      case "setUpTotp": {
        const access = newest(tokens, given.access);
        return {
          model: model.setUpTotp(access, secrets.length),
          real: await as(access, async (token) => {
            const { verdict, secret } = await backend.setUpTotp(token);
            if (secret !== undefined) secrets.push({ secret, codes: [] });
            return verdict;
          }),
        };
      }
      case "enableTotp": {
        const access = newest(tokens, given.access);
        const cookie = newest(tokens, given.cookie);
        const secret = model.owner(access)?.pending?.secret ?? newest(secrets, 0);
        const step = model.step + given.drift;
        return {
          model: model.enableTotp(access, secrets[secret] && secret, step, cookie),
          real: await as(access, async (token) => {
            const code = codeOf(secret, step);
            const { verdict, codes } = await backend.enableTotp(token, code, cookieOf(cookie));
            const known = secrets[secret];
            if (known !== undefined && codes !== undefined) known.codes = codes;
            return verdict;
          }),
        };
      }
      case "disableTotp": {
        const access = newest(tokens, given.access);
        const cookie = newest(tokens, given.cookie);
        return {
          model: model.disableTotp(access, cookie),
          real: await as(access, (token) => backend.disableTotp(token, cookieOf(cookie))),
        };
      }
      case "setActive":
        return {
          model: model.setActive(given.name, given.isActive),
          real: await backend.setActive(given.name, given.isActive),
        };
      case "demandReset": {
        const real = await backend.demandReset(given.name);
        const expected = model.demandReset(given.name);
        if (expected === "ok") await takeLink(given.name);
        return { model: expected, real };
      }
      case "requestReset": {
        const real = await backend.requestReset(given.name);
        await takeLink(given.name);
        return { model: "ok", real };
      }
      case "confirmReset": {
        const link = newest(links, given.link);
        return {
          model: model.confirmReset(link, given.next),
          real: await backend.confirmReset(links[link] ?? "", passwordOf(given.next)),
        };
      }
      case "wait":
        backend.wait(given.ms);
        model.now += given.ms;
        return { model: "", real: "" };
    }
  }

  async function signIn(given: Extract<Command, { do: "signIn" }>) {
    const used = toFactor(given.name, given.factor);
    const password = guess(model.user(given.name)?.password, given.right);
    const answer = await backend.signIn({
      name: given.name,
      password: passwordOf(password),
      remember: given.remember,
      totpCode: used.kind === "totp" ? codeOf(used.secret ?? -1, used.step) : undefined,
      backupCode: used.kind === "backup" ? backupCodeOf(used.code) : undefined,
    });
    if (answer.tokens !== undefined) tokens.push(answer.tokens);
    const expected = model.signIn(given.name, password, used, given.remember);
    return { model: expected, real: answer.verdict };
  }

  /** Several refreshes with one token at once are one after the other to the model: in which order does not matter. */
  async function refresh(index: number, count: number) {
    const expected = Array.from({ length: count }, () => model.refresh(index));
    const refreshToken = tokens[index]?.refreshToken ?? "x";
    const answers = await Promise.all(
      Array.from({ length: count }, () => backend.refresh(refreshToken)),
    );
    for (const { tokens: issued } of answers) if (issued !== undefined) tokens.push(issued);
    return {
      model: expected.toSorted(),
      real: answers.map(({ verdict }) => verdict).toSorted(),
    };
  }

  async function as(
    access: number,
    action: (accessToken: string) => Promise<Verdict>,
  ): Promise<Verdict> {
    const held = tokens[access];
    return held === undefined ? "unauthenticated" : action(held.accessToken);
  }

  /** Returns the mailed link, if the account exists and is active. */
  async function takeLink(name: string): Promise<void> {
    if (model.user(name)?.isActive !== true) return;
    model.requestReset(name);
    links.push(await backend.takeLink(name));
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

const passwordOf = (index: number) => `Correct-Horse-${index}`;

function sessionOf({ accessToken }: HeldTokens): string {
  const [, claims = ""] = accessToken.split(".");
  return (JSON.parse(Buffer.from(claims, "base64url").toString()) as { sid: string }).sid;
}
