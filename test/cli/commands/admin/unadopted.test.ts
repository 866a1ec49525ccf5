import { expect, test } from "vitest";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

const unadopted = "/api/v1/admin/unadopted";
const total = (count: number) => ({ headers: { "X-Total-Count": String(count) } });

test("patterns without a glob are used as they are", async () => {
  expect(await optionsOf("admin unadopted list", [])).toEqual({});
  expect(await optionsOf("admin unadopted list", ["m*"])).toEqual({ pattern: "m*" });
  for (const line of ["admin unadopted adopt", "admin unadopted delete"])
    expect(await optionsOf(line, ["a/b", "c/*"])).toEqual({ pattern: ["a/b", "c/*"] });
});

test("names are listed, as rows and as one array", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    [`GET ${unadopted}`]: { body: ["mira/a", "mira/b"], ...total(2) },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const line = ["admin", "unadopted", "list", "mira/*"];
  expect((await runCli(line, { home: home.path })).out).toBe("mira/a\nmira/b\n");
  expect((await runCli([...line, "--json"], { home: home.path })).json()).toEqual([
    "mira/a",
    "mira/b",
  ]);
  expect(daemon.requests[0]?.path).toContain("query=mira%2F*");
});

test("a glob is matched page by page, and each repository is adopted once", async () => {
  await using home = await temporaryHome();
  const names = Array.from({ length: 60 }, (_, index) => `mira/r${index}`);
  await using daemon = await fakeDaemon({
    [`GET ${unadopted}`]: [
      { body: names.slice(0, 50), ...total(60) },
      { body: names.slice(50), ...total(60) },
    ],
    ...Object.fromEntries(names.map((name) => [`POST ${unadopted}/${name}`, { status: 204 }])),
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const line = ["admin", "unadopted", "adopt", "mira/*", "mira/r3", "--json"];
  const ran = await runCli(line, { home: home.path });
  expect(ran.code).toBe(0);
  expect(ran.json()).toEqual(names.map((item) => ({ item, adopted: true, error: null })));
  expect(daemon.requests.filter(({ method }) => method === "POST")).toHaveLength(60);
});

test("a failed adoption is reported, and the other repositories are adopted", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    [`POST ${unadopted}/mira/a`]: { status: 204 },
    [`POST ${unadopted}/mira/b`]: { status: 404, body: { message: "not found" } },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const ran = await runCli(["admin", "unadopted", "adopt", "mira/a", "mira/b", "--json"], {
    home: home.path,
  });
  expect(ran.code).toBe(14);
  expect(ran.json()).toMatchObject([
    { item: "mira/a", adopted: true, error: null },
    { item: "mira/b", error: { code: "not_found" } },
  ]);
});

test("a glob without matches exits with not_found", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({ [`GET ${unadopted}`]: { body: [], ...total(0) } });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const ran = await runCli(["admin", "unadopted", "adopt", "x*", "--json"], { home: home.path });
  expect(ran.error()).toMatchObject({ code: "not_found", exit_code: 6 });
});

test("a deletion asks for confirmation unless --yes is set", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    [`GET ${unadopted}`]: { body: ["mira/a", "mira/b"], ...total(2) },
    [`DELETE ${unadopted}/mira/a`]: { status: 204 },
    [`DELETE ${unadopted}/mira/b`]: { status: 204 },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const line = ["admin", "unadopted", "delete", "mira/*", "--json"];
  const refused = await runCli(line, { home: home.path });
  expect(refused.error()).toMatchObject({ code: "missing_input", hint: "give --yes" });
  expect(daemon.requests.every(({ method }) => method === "GET")).toBe(true);
  const ran = await runCli([...line, "--yes"], { home: home.path });
  expect(ran.json()).toMatchObject([{ deleted: true }, { deleted: true }]);
});
