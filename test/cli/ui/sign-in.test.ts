import { describe, expect, test } from "vitest";
import { run } from "../../../cli/main.ts";
import { type FakeAnswer, fakeDaemon } from "../support/fake-daemon.ts";
import { fakeSystem, openInput, temporaryHome } from "../support/run-cli.ts";
import { fakeJwt, readEntryOfAnyProfile } from "../support/signed-in.ts";

const signedIn: FakeAnswer = {
  body: {
    access_token: fakeJwt(Date.now() + 900_000),
    user: { id: "1", handle: "mira", email: "mira@example.org", role: "user", totp_enabled: true },
  },
  headers: { "Set-Cookie": "refresh_token=r3fresh; Max-Age=57600" },
};
const limited = (seconds: string | undefined): FakeAnswer => ({
  status: 429,
  headers: seconds === undefined ? {} : { "Retry-After": seconds },
  body: { detail: "Too many login attempts." },
});
const wrong: FakeAnswer = { status: 401, body: { detail: "Incorrect email or password" } };

/** Types answers into the screen, each when its prompt is shown, and returns the result. */
async function signInWith(
  line: readonly string[],
  answers: readonly FakeAnswer[],
  typed: readonly (readonly [question: string, keys: string])[],
) {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({ "POST /api/auth/login": answers });
  const stdin = openInput();
  const system = fakeSystem({
    home: home.path,
    env: { CROFT_URL: daemon.url },
    stdin,
    terminal: true,
    // A countdown's seconds pass faster.
    hurried: true,
  });
  let hasEnded = false;
  const running = run(["login", "vault", ...line], system).finally(() => (hasEnded = true));
  let readUntil = 0;
  for (const [question, keys] of typed) {
    while (!system.written.err().slice(readUntil).includes(question)) {
      if (hasEnded) throw new Error(`ended before ${question}: ${system.written.err()}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    readUntil = system.written.err().length;
    stdin.write(keys);
  }
  const code = await running;
  return {
    code,
    out: system.written.out(),
    screen: system.written.err(),
    sent: daemon.requests.map((request) => request.json()),
    kept: await readEntryOfAnyProfile(home.path, "vault"),
  };
}

describe("the sign-in screen", () => {
  test("asks again for a malformed address, also for one that only the daemon refuses", async () => {
    const refused = {
      status: 422,
      body: { detail: [{ loc: ["body", "email"], msg: "This is not an address", type: "x" }] },
    };
    const ended = await signInWith(
      [],
      [refused, signedIn],
      [
        ["E-mail:", "mira\r"],
        ["mira is not an e-mail address", "mira@x\r"],
        ["Password", "pw\r"],
        ["This is not an address", "mira@example.org\r"],
        ["Password", "pw\r"],
      ],
    );
    expect(ended.code).toBe(0);
    expect(ended.sent).toMatchObject([{ email: "mira@x" }, { email: "mira@example.org" }]);
  });

  test("prompts for address, password and code, and shows neither password nor its length", async () => {
    const {
      code,
      out,
      screen,
      sent,
      kept: stored,
    } = await signInWith(
      [],
      [{ body: { requires_totp: true } }, signedIn],
      [
        ["E-mail:", "mira@example.org\r"],
        ["Password", "s3cret!\r"],
        ["Six-digit code", "123456\r"],
      ],
    );
    expect(code).toBe(0);
    expect(out).toContain("as mira (mira@example.org)");
    expect(screen).not.toContain("s3cret!");
    expect(screen).not.toContain("*");
    expect(sent).toEqual([
      { email: "mira@example.org", password: "s3cret!", remember_me: false },
      { email: "mira@example.org", password: "s3cret!", totp_code: "123456", remember_me: false },
    ]);
    expect(stored).toMatchObject({ refresh_token: "r3fresh" });
  });

  test("takes a backup code in place of the six digits", async () => {
    const { sent } = await signInWith(
      ["--email", "mira@example.org"],
      [{ body: { requires_totp: true } }, signedIn],
      [
        ["Password", "s3cret!\r"],
        ["Six-digit code", "abcde-fghij\r"],
      ],
    );
    expect(sent[1]).toMatchObject({ backup_code: "abcde-fghij" });
  });

  test("shows the error and prompts again", async () => {
    const { code, screen } = await signInWith(
      ["--email", "mira@example.org"],
      [wrong, signedIn],
      [
        ["Password", "wrong\r"],
        ["Incorrect email or password", "s3cret!\r"],
      ],
    );
    expect(code).toBe(0);
    expect(screen).toContain("Incorrect email or password");
    expect(screen).toContain("croft vault password reset");
  });

  test("waits out a rate limit with a countdown and tries again by itself", async () => {
    const { code, screen, sent } = await signInWith(
      ["--email", "mira@example.org"],
      [limited("62"), signedIn],
      [["Password", "s3cret!\r"]],
    );
    expect(code).toBe(0);
    expect(screen).toContain("Too many login attempts.");
    expect(screen).toMatch(/Trying again in \d+ s/);
    expect(sent).toHaveLength(2);
    expect(sent[1]).toEqual(sent[0]);
  });

  test.each([
    ["Esc", "\u001b", 3],
    ["Ctrl-C", "\u0003", 130],
  ])("a countdown is left with %s", async (_key, keys, exit) => {
    const { code, sent } = await signInWith(
      ["--email", "mira@example.org"],
      [limited("3600")],
      [
        ["Password", "s3cret!\r"],
        ["Trying again in", keys],
      ],
    );
    expect(code).toBe(exit);
    expect(sent).toHaveLength(1);
  });

  test.each([
    ["no time", undefined],
    ["more than an hour", "3601"],
  ])("ends at a rate limit of %s", async (_time, seconds) => {
    const typed = [["Password", "x\r"]] as const;
    const { code, screen } = await signInWith(["--email", "a@b"], [limited(seconds)], typed);
    expect(code).toBe(9);
    expect(screen).toContain("Too many login attempts.");
  });

  test.each([
    ["Esc", "\u001b", 3],
    ["Ctrl-C", "\u0003", 130],
  ])("the sign-in screen is left with %s", async (_key, keys, exit) => {
    const { code, sent, kept: stored } = await signInWith([], [], [["E-mail:", keys]]);
    expect(code).toBe(exit);
    expect([sent, stored]).toEqual([[], undefined]);
  });

  test("the sign-in screen is not shown with --no-input", async () => {
    await using home = await temporaryHome();
    const system = fakeSystem({ home: home.path, stdin: openInput(), terminal: true });
    expect(
      await run(["login", "vault", "--email", "a@b", "--no-input", "--no-color"], system),
    ).toBe(2);
    expect(system.written.err()).toBe(
      "croft: --password-stdin is missing, and prompting is not possible\ngive --password-stdin\n",
    );
  });
});
