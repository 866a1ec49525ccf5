import { expect, test } from "vitest";
import { toSignature } from "../../../../storage/git/signatures.ts";

test("an author's name with a Unicode line separator is read whole", () => {
  expect(toSignature("A\u2028B\u2029 <a@example.org> 1700000000 +0100")).toEqual({
    name: "A\u2028B\u2029",
    email: "a@example.org",
    at: "2023-11-14T23:13:20+01:00",
  });
});
