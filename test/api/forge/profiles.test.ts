import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { toPng } from "../../support/png.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { api, by, newUser, newToken, newRepository } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

const loginsOf = (list: readonly { login: string }[]) => list.map(({ login }) => login);
const namesOf = (list: readonly { full_name: string }[]) => list.map((one) => one.full_name);

/** A chunk of a PNG file. */
describe("one's own settings", () => {
  test("settings are changed by member and shown in the profile", async () => {
    const mira = await newUser();
    const before = await by(mira, "GET", "/user/settings");
    expect(before).toMatchObject({
      status: 200,
      json: {
        full_name: "",
        theme: "",
        diff_view_style: "",
        hide_email: false,
        email_notifications: "enabled",
      },
    });
    const change = {
      full_name: "Mira",
      website: "https://mira.example",
      location: "Here",
      description: "Hello",
      language: "en-US",
      theme: "gitea-dark",
      diff_view_style: "split",
      hide_email: true,
      hide_activity: true,
      email_notifications: "andyourown",
    };
    const changed = await by(mira, "PATCH", "/user/settings", change);
    expect(changed).toMatchObject({ status: 200, json: change });
    const cleared = await by(mira, "PATCH", "/user/settings", { website: "", location: null });
    expect(cleared.json).toEqual({ ...change, website: "" });
    const other = await newUser();
    const profile = (await by(other, "GET", `/users/${mira}`)).json;
    expect(profile).toMatchObject({ full_name: "Mira", language: "", location: "Here" });
    expect(profile.email).toMatch(/noreply/);
  });

  test.each([
    [{ website: "javascript:alert(1)" }, /Url/],
    [{ full_name: "x".repeat(101) }, /MaxSize/],
    [{ location: "x".repeat(51) }, /MaxSize/],
    [{ hide_email: "yes" }, /boolean/],
  ])("settings %j are refused", async (change, text) => {
    const mira = await newUser();
    const refused = await by(mira, "PATCH", "/user/settings", change);
    expect(refused.status).toBe(422);
    expect(refused.json.message).toMatch(text);
  });

  test("a public-only token neither reads nor changes settings", async () => {
    const mira = await newUser();
    const token = await newToken(mira, ["public-only", "write:user"]);
    for (const [method, body] of [["GET"], ["PATCH", { full_name: "x" }]] as const)
      expect((await api(method, "/user/settings", body, token)).status).toBe(403);
    const reading = await newToken(mira, ["read:user"]);
    expect((await api("PATCH", "/user/settings", { full_name: "x" }, reading)).status).toBe(403);
  });
});

describe("heatmaps", () => {
  test("the heatmap counts issues and comments that the caller may read", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const name = await newRepository(mira);
    const path = `/repos/${mira}/${name}/issues`;
    expect((await by(nora, "POST", path, { title: "Torn" })).status).toBe(201);
    await by(nora, "POST", `${path}/1/comments`, { body: "Still torn" });
    const totalOf = async (user: string) => {
      const { json } = await by(user, "GET", `/users/${nora}/heatmap`);
      for (const { timestamp } of json) expect(timestamp % 900).toBe(0);
      return json.reduce(
        (sum: number, one: { contributions: number }) => sum + one.contributions,
        0,
      );
    };
    expect(await totalOf(mira)).toBe(2);
    const other = await newUser();
    await by(mira, "PATCH", `/repos/${mira}/${name}`, { private: true });
    expect([await totalOf(mira), await totalOf(other)]).toEqual([2, 0]);
    await by(nora, "PATCH", "/user/settings", { hide_activity: true });
    expect(await totalOf(mira)).toBe(0);
    const hidden = await newUser(undefined, { visibility: "private" });
    expect((await by(mira, "GET", `/users/${hidden}/heatmap`)).status).toBe(404);
  });
});

describe("pictures", () => {
  const pathOf = (address: string) => new URL(address).pathname;

  test("the address of a picture serves an image without active content", async () => {
    const { avatar_url: address } = (await api("GET", "/user")).json;
    const picture = await daemon.request(pathOf(address));
    expect(picture.status).toBe(200);
    expect(picture.text).toMatch(/^<svg /);
    expect(picture.headers.get("content-type")).toBe("image/svg+xml");
    expect(picture.headers.get("x-content-type-options")).toBe("nosniff");
    expect(picture.headers.get("content-security-policy")).toContain("default-src 'none'");
    const again = await daemon.request(pathOf(address), {
      headers: { "If-None-Match": picture.headers.get("etag") ?? "" },
    });
    expect(again.status).toBe(304);
  });

  test.each(["x", "..%2f..%2fetc%2fpasswd", "A".repeat(32), "0".repeat(65)])(
    "%s is not a picture",
    async (hash) => expect((await daemon.request(`/avatars/${hash}`)).status).toBe(404),
  );

  test("an uploaded picture replaces the drawn one, without its metadata, until it is deleted", async () => {
    const mira = await newUser();
    const drawn = (await by(mira, "GET", "/user")).json.avatar_url;
    const image = toPng(8, 8);
    const upload = await by(mira, "POST", "/user/avatar", { image: image.toString("base64") });
    expect(upload.status).toBe(204);
    const { avatar_url: address } = (await by(mira, "GET", "/user")).json;
    expect(address).not.toBe(drawn);
    const picture = await fetch(new URL(pathOf(address), daemon.url));
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect(picture.headers.get("x-content-type-options")).toBe("nosniff");
    expect(picture.headers.get("content-security-policy")).toContain("sandbox");
    const bytes = Buffer.from(await picture.arrayBuffer());
    expect(bytes.includes("taken at home")).toBe(false);
    expect(address).toContain(createHash("sha256").update(bytes).digest("hex"));
    expect((await by(mira, "DELETE", "/user/avatar")).status).toBe(204);
    expect((await by(mira, "GET", "/user")).json.avatar_url).toBe(drawn);
    expect((await by(mira, "DELETE", "/user/avatar")).status).toBe(204);
  });

  test("changing the e-mail address keeps an uploaded picture", async () => {
    const mira = await newUser();
    await by(mira, "POST", "/user/avatar", { image: toPng(8, 8).toString("base64") });
    const { avatar_url: address } = (await by(mira, "GET", "/user")).json;
    await api("PATCH", `/admin/users/${mira}`, { login_name: mira, email: "other@example.org" });
    expect((await by(mira, "GET", "/user")).json.avatar_url).toBe(address);
  });

  test.each([
    ["text", Buffer.from("hello"), 422],
    ["an SVG", Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>"), 422],
    ["a truncated PNG", toPng(8, 8).subarray(0, 60), 422],
    ["a PNG that is too wide", toPng(4097, 8), 422],
    ["an empty PNG", toPng(0, 8), 422],
    ["more than a mebibyte", Buffer.concat([toPng(8, 8), Buffer.alloc(1024 * 1024)]), 422],
    ["far too much", Buffer.alloc(3_000_000), 413],
  ])("%s is refused as a picture", async (_what, bytes, status) => {
    const mira = await newUser();
    const refused = await by(mira, "POST", "/user/avatar", { image: bytes.toString("base64") });
    expect(refused.status).toBe(status);
  });

  test("a picture that is not base64 is 400", async () => {
    const mira = await newUser();
    expect((await by(mira, "POST", "/user/avatar", { image: "a*b=" })).status).toBe(400);
    expect((await by(mira, "POST", "/user/avatar", {})).status).toBe(422);
  });

  test("only owners change the picture of an organization", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const org = (await by(mira, "POST", "/orgs", { username: `org-of-${mira}` })).json.username;
    const image = { image: toPng(8, 8).toString("base64") };
    expect((await by(nora, "POST", `/orgs/${org}/avatar`, image)).status).toBe(403);
    expect((await by(mira, "POST", `/orgs/${org}/avatar`, image)).status).toBe(204);
    const { avatar_url: address } = (await api("GET", `/orgs/${org}`)).json;
    const picture = await daemon.request(pathOf(address));
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect((await by(nora, "DELETE", `/orgs/${org}/avatar`)).status).toBe(403);
    expect((await by(mira, "DELETE", `/orgs/${org}/avatar`)).status).toBe(204);
    const after = (await api("GET", `/orgs/${org}`)).json.avatar_url;
    expect((await daemon.request(pathOf(after))).headers.get("content-type")).toBe("image/svg+xml");
    expect((await by(mira, "POST", "/orgs/none/avatar", image)).status).toBe(404);
  });

  test("the sweep of objects spares pictures in use", async () => {
    const mira = await newUser();
    await by(mira, "POST", "/user/avatar", { image: toPng(9, 9).toString("base64") });
    const { avatar_url: address } = (await by(mira, "GET", "/user")).json;
    expect((await api("POST", "/admin/cron/cleanup_packages")).status).toBe(204);
    expect((await daemon.request(pathOf(address))).status).toBe(200);
  });
});

describe("followers", () => {
  test("a user follows and unfollows others, and the counts of both follow", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    for (let again = 0; again < 2; again += 1)
      expect((await by(mira, "PUT", `/user/following/${nora}`)).status).toBe(204);
    expect((await by(mira, "GET", `/user/following/${nora}`)).status).toBe(204);
    expect((await by(nora, "GET", `/user/following/${mira}`)).status).toBe(404);
    expect((await by(nora, "GET", `/users/${mira}/following/${nora}`)).status).toBe(204);
    expect((await by(nora, "GET", `/users/${nora}/following/${mira}`)).status).toBe(404);
    expect(loginsOf((await by(mira, "GET", "/user/following")).json)).toEqual([nora]);
    expect(loginsOf((await by(nora, "GET", "/user/followers")).json)).toEqual([mira]);
    expect(loginsOf((await by(mira, "GET", `/users/${nora}/followers`)).json)).toEqual([mira]);
    expect(loginsOf((await by(mira, "GET", `/users/${mira}/following`)).json)).toEqual([nora]);
    expect((await api("GET", `/users/${nora}`)).json).toMatchObject({ followers_count: 1 });
    expect((await api("GET", `/users/${mira}`)).json).toMatchObject({ following_count: 1 });
    for (let again = 0; again < 2; again += 1)
      expect((await by(mira, "DELETE", `/user/following/${nora}`)).status).toBe(204);
    expect((await api("GET", `/users/${nora}`)).json).toMatchObject({ followers_count: 0 });
    expect((await by(mira, "PUT", "/user/following/nobody-at-all")).status).toBe(404);
  });

  test("users cannot follow themselves", async () => {
    const mira = await newUser();
    expect((await by(mira, "PUT", `/user/following/${mira}`)).status).toBe(204);
    expect((await by(mira, "GET", "/user/following")).json).toEqual([]);
  });

  test("hidden accounts cannot be followed and are in no list of others", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const hidden = await newUser(undefined, { visibility: "private" });
    expect((await by(mira, "PUT", `/user/following/${hidden}`)).status).toBe(404);
    await by(hidden, "PUT", `/user/following/${nora}`);
    expect((await by(mira, "GET", `/users/${nora}/followers`)).json).toEqual([]);
    expect(loginsOf((await by(hidden, "GET", `/users/${nora}/followers`)).json)).toEqual([hidden]);
    expect((await by(mira, "GET", `/users/${hidden}/following`)).status).toBe(404);
  });

  test("deleting an account updates the follower counts of others", async () => {
    const [mira, nora, gone] = [await newUser(), await newUser(), await newUser()];
    const name = await newRepository(mira);
    await by(gone, "PUT", `/user/following/${mira}`);
    await by(nora, "PUT", `/user/following/${gone}`);
    await by(gone, "PUT", `/user/starred/${mira}/${name}`);
    expect((await api("DELETE", `/admin/users/${gone}?purge=true`)).status).toBe(204);
    expect((await api("GET", `/users/${mira}`)).json.followers_count).toBe(0);
    expect((await api("GET", `/users/${nora}`)).json.following_count).toBe(0);
    expect((await api("GET", `/repos/${mira}/${name}`)).json.stars_count).toBe(0);
  });
});

describe("stars and watches", () => {
  test("a star is counted once, listed, found by search and removed", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const name = await newRepository(mira);
    const path = `/user/starred/${mira}/${name}`;
    expect((await by(nora, "GET", path)).status).toBe(404);
    for (let again = 0; again < 2; again += 1)
      expect((await by(nora, "PUT", path)).status).toBe(204);
    expect((await by(nora, "GET", path)).status).toBe(204);
    expect((await api("GET", `/repos/${mira}/${name}`)).json.stars_count).toBe(1);
    const { id, starred_repos_count: count } = (await by(nora, "GET", "/user")).json;
    expect(count).toBe(1);
    const fullName = `${mira}/${name}`;
    for (const list of ["/user/starred", `/users/${nora}/starred`]) {
      const listed = await by(nora, "GET", list);
      expect(namesOf(listed.json)).toEqual([fullName]);
      expect(listed.headers.get("x-total-count")).toBe("1");
    }
    const found = await by(nora, "GET", `/repos/search?starredBy=${id}&sort=stars&order=desc`);
    expect(namesOf(found.json.data)).toEqual([fullName]);
    expect(loginsOf((await api("GET", `/repos/${fullName}/stargazers`)).json)).toEqual([nora]);
    expect((await by(nora, "DELETE", path)).status).toBe(204);
    expect((await api("GET", `/repos/${fullName}`)).json.stars_count).toBe(0);
    expect((await by(nora, "GET", "/user/starred")).json).toEqual([]);
  });

  test("deleting a repository updates the counts of users who starred it", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const name = await newRepository(mira);
    await by(nora, "PUT", `/user/starred/${mira}/${name}`);
    await by(mira, "DELETE", `/repos/${mira}/${name}`);
    expect((await by(nora, "GET", "/user")).json.starred_repos_count).toBe(0);
  });

  test("a repository that became private disappears from the lists of users who may not read it", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const name = await newRepository(mira);
    await by(nora, "PUT", `/user/starred/${mira}/${name}`);
    await by(nora, "PUT", `/repos/${mira}/${name}/subscription`);
    await by(mira, "PUT", `/user/starred/${mira}/${name}`);
    expect(namesOf((await by(nora, "GET", "/user/subscriptions")).json)).toEqual([
      `${mira}/${name}`,
    ]);
    expect(loginsOf((await api("GET", `/repos/${mira}/${name}/subscribers`)).json)).toContain(nora);
    await by(mira, "PATCH", `/repos/${mira}/${name}`, { private: true });
    for (const list of ["/user/starred", "/user/subscriptions", `/users/${mira}/starred`])
      expect((await by(nora, "GET", list)).json).toEqual([]);
    for (const path of [
      `/repos/${mira}/${name}/stargazers`,
      `/repos/${mira}/${name}/subscribers`,
      `/user/starred/${mira}/${name}`,
    ])
      expect((await by(nora, "GET", path)).status).toBe(404);
    expect((await by(nora, "PUT", `/user/starred/${mira}/${name}`)).status).toBe(404);
    expect(namesOf((await by(mira, "GET", "/user/starred")).json)).toEqual([`${mira}/${name}`]);
    const publicOnly = await newToken(mira, ["public-only", "all"]);
    expect((await api("GET", "/user/starred", undefined, publicOnly)).json).toEqual([]);
  });

  test("starring a repository needs the scope to write repositories", async () => {
    const mira = await newUser();
    const name = await newRepository(mira);
    const token = await newToken(mira, ["read:repository", "write:user"]);
    const path = `/user/starred/${mira}/${name}`;
    expect((await api("PUT", path, undefined, token)).status).toBe(403);
    expect((await api("GET", path, undefined, token)).status).toBe(404);
  });
});
