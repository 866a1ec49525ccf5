import { expect, test } from "vitest";
import { fakeDaemon } from "../../../support/fake-daemon.ts";
import { refusalOf } from "../../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../../support/run-cli.ts";
import { signIn } from "../../../support/signed-in.ts";

const user = (id: number, login: string) => ({
  id,
  login,
  username: login,
  full_name: "",
  email: `${login}@example.org`,
  is_admin: false,
  active: true,
  last_login: "1970-01-01T00:00:00Z",
  created: "2026-11-20T12:00:00Z",
});

test("the flags become the query", async () => {
  const line = [
    "--search",
    "bo",
    "--order",
    "desc",
    "--active",
    "true",
    "--2fa",
    "false",
    "--source-id",
    "3",
  ];
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({ "GET /api/v1/admin/users": { body: [] } });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  await runCli(["admin", "user", "list", ...line], { home: home.path });
  const query = new URL(daemon.requests[0]?.path ?? "", daemon.url).searchParams;
  expect(Object.fromEntries(query)).toMatchObject({
    q: "bo",
    sort: "name",
    order: "desc",
    is_active: "true",
    is_2fa_enabled: "false",
    source_id: "3",
  });
  expect(await refusalOf("admin user list", ["--active", "maybe"])).toMatch(/^croft: /);
});

test("requests one page and prints it", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/v1/admin/users": { body: [user(1, "boss")], headers: { "X-Total-Count": "31" } },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t0ken" });
  const line = ["admin", "user", "list", "--search", "b o", "--page", "2", "--limit", "30"];
  const ran = await runCli([...line, "--meta", "--json=id,login"], { home: home.path });
  expect(ran.json()).toEqual({
    items: [{ id: 1, login: "boss" }],
    page: 2,
    limit: 30,
    total: 31,
    has_more: false,
  });
  expect(daemon.requests[0]).toMatchObject({ path: "/api/v1/admin/users?q=b+o&page=2&limit=30" });
  expect(daemon.requests[0]?.headers.authorization).toBe("token t0ken");
});

test("all pages are followed to one document", async () => {
  await using home = await temporaryHome();
  const pageOf = (path: string) => Number(new URL(path, "http://x").searchParams.get("page"));
  await using daemon = await fakeDaemon({
    "GET /api/v1/admin/users": ({ path }) => ({
      headers: { "X-Total-Count": "120" },
      body: Array.from({ length: pageOf(path) === 3 ? 20 : 50 }, (_, index) =>
        user((pageOf(path) - 1) * 50 + index, "x"),
      ),
    }),
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const ran = await runCli(["admin", "user", "list", "--all", "--jq", "length"], {
    home: home.path,
  });
  expect(ran).toMatchObject({ code: 0, out: "120\n" });
  expect(daemon.requests.map(({ path }) => path)).toEqual(
    [1, 2, 3].map((page) => `/api/v1/admin/users?page=${page}&limit=50`),
  );
});

test("a refusal keeps the forge's words", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/v1/admin/users": {
      status: 403,
      body: { message: "user should be the site admin", url: "x" },
    },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const ran = await runCli(["admin", "user", "list"], { home: home.path });
  expect(ran).toMatchObject({ code: 5, out: "", err: "croft: user should be the site admin\n" });
});
