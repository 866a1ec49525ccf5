import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

test("a line becomes options", async () => {
  expect(await optionsOf("template gitignore view", ["C++"])).toEqual({ name: "C++" });
  expect(await optionsOf("template label view", ["Default"])).toEqual({ name: "Default" });
  expect(await optionsOf("template license view", ["MIT"])).toEqual({ key: "MIT" });
});

describe("templates, without signing in", () => {
  const label = { name: "bug", exclusive: false, color: "ee0701", description: "d" };
  const license = { key: "MIT", name: "MIT", url: "http://x/api/v1/licenses/MIT" };
  const answers = {
    "GET /api/v1/gitignore/templates": { body: ["C++", "Go"] },
    "GET /api/v1/gitignore/templates/C%2B%2B": { body: { name: "C++", source: "*.o\n" } },
    "GET /api/v1/gitignore/templates/Nope": {
      status: 404,
      body: { message: "not found", url: "u" },
    },
    "GET /api/v1/label/templates": { body: ["Default"] },
    "GET /api/v1/label/templates/Default": { body: [label] },
    "GET /api/v1/licenses": { body: [license] },
    "GET /api/v1/licenses/MIT": { body: { ...license, implementation: "i", body: "text\n" } },
  };
  const ask = async (line: string) => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon(answers);
    const ran = await runCli(line.split(" "), { home: home.path, env: { CROFT_URL: daemon.url } });
    expect(daemon.requests[0]?.headers.authorization).toBeUndefined();
    return ran;
  };

  test("names are printed one a line, or as one array", async () => {
    expect((await ask("template gitignore list")).out).toBe("C++\nGo\n");
    expect((await ask("template gitignore list --json")).json()).toEqual(["C++", "Go"]);
    expect((await ask("template label ls")).out).toBe("Default\n");
    expect((await ask("template license list")).out).toBe("MIT\thttp://x/api/v1/licenses/MIT\n");
  });

  test("texts are printed as they are, or as the whole answer", async () => {
    expect((await ask("template gitignore view C++")).out).toBe("*.o\n");
    expect((await ask("template gitignore view C++ --json")).json()).toEqual({
      name: "C++",
      source: "*.o\n",
    });
    expect((await ask("template license view MIT")).out).toBe("text\n");
    expect((await ask("template label view Default")).out).toBe("bug\tee0701\tfalse\td\n");
    expect((await ask("template label view Default --json=name,color")).json()).toEqual([
      { name: "bug", color: "ee0701" },
    ]);
  });

  test("one that is not there exits 6", async () => {
    const ran = await ask("template gitignore view Nope");
    expect(ran.code).toBe(6);
    expect(ran.err).toContain("not found");
  });
});
