import { expect, test } from "vitest";
import { startTestDaemon } from "../../support/daemon.ts";

test("refuses a text that cannot be stored at any depth of the body", async () => {
  await using daemon = await startTestDaemon();
  const depth = 50_000;
  const answer = await daemon.request("/api/v1/admin/users", {
    token: daemon.first?.forge.token ?? "",
    headers: { "Content-Type": "application/json" },
    body: `{"username":"x","other":${"[".repeat(depth)}"\\u0000"${"]".repeat(depth)}}`,
  });
  expect([answer.status, answer.json.message]).toEqual([
    422,
    "[]: a text contains a character that cannot be stored",
  ]);
});
