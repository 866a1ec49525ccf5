import { expect, test } from "vitest";
import { readNewSecret } from "../../../cli/support/secrets.ts";

/** A person who types these answers one after another. */
function person(answers: readonly string[]) {
  const rest = [...answers];
  const notes: string[] = [];
  const prompts = {
    canAsk: async () => true,
    secret: async () => rest.shift() ?? "nothing left to type",
  };
  const cli = { io: { note: (text: string) => notes.push(text) }, prompts };
  const read = () =>
    readNewSecret(cli as unknown as Parameters<typeof readNewSecret>[0], {
      fromInput: false,
      question: "Password:",
      flag: "--password-stdin",
      findProblem: (secret) => (secret.length < 4 ? "it is too short" : undefined),
    });
  return { read, notes, rest };
}

test("a typed secret that breaks a rule or differs is asked for again", async () => {
  const { read, notes, rest } = person(["abc", "abcd", "abce", "abcde", "abcde", "unread"]);
  expect(await read()).toBe("abcde");
  expect(notes).toEqual(["it is too short", "the two do not match"]);
  expect(rest).toEqual(["unread"]);
});

test("a secret that is mistyped three times ends the command", async () => {
  const { read, rest } = person(["a", "b", "abcd", "abce", "unread"]);
  await expect(read()).rejects.toMatchObject({
    code: "cancelled",
    message: "the two do not match; nothing was done",
  });
  expect(rest).toEqual(["unread"]);
});
