import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
let mira: string;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  mira = await people.newUser();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGVYpLTzjOTxkrCeVbKSSNHSqXDhqHYxJBT1qNmkuHkR";
const config = { url: "https://hooks.example/", content_type: "json" };

// A script that deletes the same id twice must not delete a later object.
test.each<[string, () => string, object]>([
  ["a hook", () => "/admin/hooks", { type: "gitea", config }],
  ["a key", () => `/admin/users/${mira}/keys`, { title: "laptop", key }],
])("the id of %s that was deleted is not reused", async (_what, path, body) => {
  const made = await people.api("POST", path(), body);
  expect(made.status).toBe(201);
  await people.api("DELETE", `${path()}/${made.json.id}`);
  const next = await people.api("POST", path(), body);
  expect(next.json.id).toBeGreaterThan(made.json.id);
});

test("the ids of a token, and of an issue and its comment, are not used again", async () => {
  const basic = `${mira}:user-password`;
  const newToken = () =>
    daemon.request(`/api/v1/users/${mira}/tokens`, {
      basic,
      json: { name: "short-lived", scopes: ["all"] },
    });
  const made = await newToken();
  const at = `/api/v1/users/${mira}/tokens/${made.json.id}`;
  expect((await daemon.request(at, { basic, method: "DELETE" })).status).toBe(204);
  expect((await newToken()).json.id).toBeGreaterThan(made.json.id);

  const newIssue = async () => {
    const path = `/repos/${mira}/${await people.newRepository(mira)}`;
    const issue = await people.by(mira, "POST", `${path}/issues`, { title: "one" });
    const comment = await people.by(mira, "POST", `${path}/issues/1/comments`, { body: "two" });
    return { path, issue: issue.json.id, comment: comment.json.id };
  };
  const first = await newIssue();
  await people.by(mira, "DELETE", first.path);
  const second = await newIssue();
  expect(second.issue).toBeGreaterThan(first.issue);
  expect(second.comment).toBeGreaterThan(first.comment);
});
