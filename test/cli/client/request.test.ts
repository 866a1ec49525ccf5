import { describe, expect, test } from "vitest";
import { toAddress, toPreview } from "../../../cli/client/request.ts";

const item = "/api/cloud/connections/:connection_id/items/**:item_id/download";

describe("an address", () => {
  test.each([
    ["spaces, umlauts, signs of URLs", "a b/ü/%#?+&.txt", "a%20b/%C3%BC/%25%23%3F%2B%26.txt"],
    ["slashes stay between segments", "folder/sub/file.txt", "folder/sub/file.txt"],
    ["an action word as a name", "upload/open", "upload/open"],
    ["a backslash", "a\\b", "a%5Cb"],
    ["a leading slash makes it one segment", "/docs/a.txt", "%2Fdocs%2Fa.txt"],
    ["a double slash too", "a//b", "a%2F%2Fb"],
    ["dots cannot walk up", "a/../../etc", "a%2F..%2F..%2Fetc"],
  ])("encodes the address of an item: %s", (_what, id, path) => {
    const address = toAddress(item, { connection_id: "c", item_id: id }, undefined);
    expect(address).toBe(`/api/cloud/connections/c/items/${path}/download`);
    // The address names the same item after a URL parser has normalized it.
    expect(new URL(address, "http://x").pathname).toBe(address);
  });

  test("encodes a single segment whole", () => {
    expect(toAddress("/api/v1/users/:username/tokens", { username: "a/b c" }, undefined)).toBe(
      "/api/v1/users/a%2Fb%20c/tokens",
    );
  });

  test.each(["", ".", ".."])("refuses a name that would lead elsewhere: %j", (username) => {
    expect(() => toAddress("/api/v1/admin/users/:username", { username }, undefined)).toThrow(
      `username cannot be ${JSON.stringify(username)}`,
    );
  });

  test("leaves out query values that are not given and repeats lists", () => {
    const query = {
      page: 2,
      q: undefined,
      limit: null,
      "status-types": ["unread", "pinned"],
      x: "a&b",
    };
    expect(toAddress("/api/v1/notifications", undefined, query)).toBe(
      "/api/v1/notifications?page=2&status-types=unread&status-types=pinned&x=a%26b",
    );
  });
});

test("a preview shows no secrets", () => {
  const body = {
    username: "bob",
    password: "hunter2",
    must_change_password: true,
    nested: { api_key: "k", credentials: { token: "t", region: "eu" } },
    totp_code: "123456",
    scopes: ["all"],
  };
  const shown = JSON.stringify(toPreview("POST", "http://x/y", body));
  for (const secret of ["hunter2", '"k"', '"t"', "123456"]) expect(shown).not.toContain(secret);
  expect(toPreview("POST", "http://x/y", body)).toMatchObject({
    method: "POST",
    body: { username: "bob", password: "(secret)", must_change_password: true, scopes: ["all"] },
  });
});
