import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { by } = people;
const open = (path: string) => daemon.request(path, { headers: { Accept: "text/html" } });

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await people.newUser("mira");
  for (const [name, isPrivate] of [
    ["tea", false],
    ["secret", true],
  ] as const)
    await people.api("POST", "/admin/users/mira/repos", {
      name,
      auto_init: true,
      private: isPrivate,
      description: `the ${name} words`,
    });
  const content = Buffer.from("a kettle & <b>\n").toString("base64");
  for (const name of ["tea", "secret"]) {
    await by("mira", "POST", `/repos/mira/${name}/contents/docs/kettle.txt`, {
      content,
      message: "Add ]]> <script>x</script> & \u0007 kettle",
    });
    await by("mira", "POST", `/repos/mira/${name}/issues`, { title: `kettle of ${name}` });
  }
  await by("mira", "POST", "/repos/mira/tea/tags", { tag_name: "v1/a", message: "<first>" });
});
afterAll(() => daemon[Symbol.asyncDispose]());

describe("feeds", () => {
  test.each([
    "/mira.atom",
    "/mira.rss",
    "/mira/tea.atom",
    "/mira/tea.rss",
    "/mira/tea/tags.atom",
    "/mira/tea/tags.rss",
    "/mira/tea/releases.rss",
    "/mira/tea/atom/branch/main",
    "/mira/tea/rss/branch/main/docs/kettle.txt",
  ])("%s is well-formed XML without elements of its texts", async (path) => {
    const { status, text, headers } = await open(path);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toMatch(/^application\/(?:atom|rss)\+xml/);
    expect(text).not.toMatch(/<script|<b>|<first>/);
    expect(text).not.toContain("\u0007");
    // Every opened element is closed, in order.
    const opened: string[] = [];
    for (const [, end, name, empty] of text.matchAll(/<(\/?)([\w:]+)[^>]*?(\/?)>/g))
      if (empty !== "/") expect(end === "/" ? opened.pop() : opened.push(name ?? "")).toBeTruthy();
    expect(opened).toEqual([]);
  });

  test("a former name leads to the same feed under the current one", async () => {
    await people.newUser("former");
    await people.api("POST", "/admin/users/former/repos", { name: "old", auto_init: true });
    await by("former", "PATCH", "/repos/former/old", { name: "new" });
    await people.api("POST", "/admin/users/former/rename", { new_username: "today" });
    for (const [path, target] of [
      ["/former.atom", "/today.atom"],
      ["/former.rss?a=b", "/today.rss?a=b"],
      ["/former/new.atom", "/today/new.atom"],
      ["/today/old.rss", "/today/new.rss"],
      ["/today/old/tags.atom", "/today/new/tags.atom"],
      ["/today/old/atom/branch/main", "/today/new/atom/branch/main"],
    ] as const)
      expect([path, (await open(path)).headers.get("location")]).toEqual([path, target]);
  });

  test("the feed of a file has its commits only, and that of tags their messages", async () => {
    const history = await open("/mira/tea/atom/branch/main/docs/kettle.txt");
    expect(history.text.match(/<entry>/g)).toHaveLength(1);
    expect(history.text).toContain("Add ]]&gt; &lt;script&gt;x&lt;/script&gt; &amp;  kettle");
    const tags = await open("/mira/tea/tags.atom");
    expect(tags.text).toContain("/mira/tea/src/tag/v1/a");
    expect(tags.text).toContain("&lt;p&gt;&amp;lt;first&amp;gt;");
  });

  test("feeds of a private repository are hidden, and others do not name it", async () => {
    for (const path of [
      "/mira/secret.atom",
      "/mira/secret/tags.rss",
      "/mira/secret/atom/branch/main",
      "/mira/secret/releases.rss",
    ])
      expect((await open(path)).status).toBe(404);
    expect((await open("/mira.atom")).text).not.toContain("secret");
  });

  test("robots are told to leave out pages that run git for long", async () => {
    const { text, headers } = await open("/robots.txt");
    expect(headers.get("content-type")).toContain("text/plain");
    expect(text).toContain("Disallow: /*/*/blame/");
  });
});

describe("the search", () => {
  test("one field finds repositories, issues, people and code that the caller may read", async () => {
    const all = await open("/explore?q=kettle");
    expect(all.text).toContain("kettle of tea");
    expect(all.text).not.toContain("secret");
    expect((await open("/explore/repos?q=tea")).text).toContain("/mira/tea");
    expect((await open("/explore/issues?q=kettle")).text).toContain("kettle of tea");
    expect((await open("/explore/users?q=mir")).text).toContain('href="/mira"');
    const code = await open(`/explore/code?q=${encodeURIComponent("Kettle & <B>")}`);
    expect(code.text).toContain("<mark>kettle &amp; &lt;b&gt;</mark>");
    expect(code.text).not.toContain("secret");
    expect((await open("/mira/tea/search?q=kettle")).text).toContain("docs/kettle.txt");
    expect((await open("/mira/secret/search?q=kettle")).status).toBe(404);
    for (const odd of ["%00", "%0a", "--help", "x".repeat(500), "%FF"])
      for (const path of ["/explore", "/explore/code", "/mira/tea/search"])
        expect((await open(`${path}?q=${odd}`)).status).toBeLessThan(500);
  });

  test("organizations are listed", async () => {
    await by("mira", "POST", "/orgs", { username: "club", description: "A club" });
    expect((await open("/explore/organizations?q=clu")).text).toContain('href="/club"');
  });
});
