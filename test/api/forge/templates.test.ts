import { mkdir, writeFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";

let home: string;
let daemon: TestDaemon;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "croft-templates-"));
  const custom = join(home, "custom");
  for (const folder of ["gitignore/below", "labels", "licenses"])
    await mkdir(join(custom, folder), { recursive: true, mode: 0o700 });
  await writeFile(join(custom, "gitignore", "Go"), "ours\n");
  await writeFile(join(custom, "gitignore", "C# & more"), "*.obj\n");
  await writeFile(join(custom, "gitignore", ".hidden"), "x");
  await writeFile(join(custom, "gitignore", "Binary"), Buffer.from([0xff, 0xfe]));
  await writeFile(
    join(custom, "labels", "Team.yaml"),
    'labels:\n  - name: "a/b"\n    color: "#ABC"\n    exclusive: true\n',
  );
  await writeFile(join(custom, "labels", "Old"), "#ee0701 bug ; Something is wrong\n#fff nice\n");
  await writeFile(join(custom, "labels", "Broken.yaml"), "labels: [");
  await writeFile(join(custom, "licenses", "House"), "Do as you like.\n");
  daemon = await startTestDaemon({ home });
});

afterAll(async () => {
  await daemon.stop();
  await rm(home, { recursive: true, force: true });
});

const get = (path: string) => daemon.request(`/api/v1${path}`);
const name = (text: string) => encodeURIComponent(text);

describe("ignore files", () => {
  test("lists ignore files by name in byte order, also for anonymous callers", async () => {
    const { status, json, headers } = await get("/gitignore/templates");
    expect(status).toBe(200);
    expect(json.length).toBeGreaterThanOrEqual(278);
    expect(json).toEqual(expect.arrayContaining(["Flutter", "IAR", "NotesOnly", "UiPath"]));
    expect((await get("/gitignore/templates/Flutter")).json.source).toContain(".dart_tool/\n");
    expect(json).toEqual([...json].sort());
    expect(json).toEqual(
      expect.arrayContaining([
        "AL",
        "C++",
        "Go",
        "Go.AllowList",
        "Node",
        "Python",
        "Zig",
        "core",
        "macOS",
        "uVision",
      ]),
    );
    expect(headers.get("x-total-count")).toBeNull();
  });

  test.each([
    ["AutomationStudio", "Binaries/"],
    ["ECU-TEST", "TestReports/"],
    ["Firebase", ".firebase/"],
    ["Hexo", "db.json"],
    ["OpenTofu", "*.tfstate"],
    ["Perl6", ".precomp"],
    ["ReScript", "/lib/"],
    ["Terragrunt", ".terragrunt-cache"],
    // Links to another file in the collection.
    ["Clojure", "/target/"],
    ["Fortran", "*.mod"],
    ["Kotlin", "*.class"],
    ["Octave", "*.asv"],
  ])("the ignore file of %s has patterns", async (file, pattern) => {
    const { source } = (await get(`/gitignore/templates/${file}`)).json;
    expect(source.split("\n")).toContain(pattern);
    expect(source).not.toMatch(/\.gitignore\s*$/);
  });

  test("ignore files are returned by their exact name, with any characters in it", async () => {
    expect((await get("/gitignore/templates/Node")).json).toMatchObject({
      name: "Node",
      source: expect.stringContaining("node_modules"),
    });
    for (const path of ["C%2B%2B", "C++"])
      expect((await get(`/gitignore/templates/${path}`)).json.name).toBe("C++");
    for (const path of ["%2FNode", ".%2FNode", ".%5CNode", "Node%2F"])
      expect((await get(`/gitignore/templates/${path}`)).json.name).toBe("Node");
    expect((await get("/gitignore/templates/x%2F..%2FNode")).status).toBe(404);
    expect((await get(`/gitignore/templates/${name("C# & more")}`)).json).toEqual({
      name: "C# & more",
      source: "*.obj\n",
    });
  });

  test("ignore files of the operator override shipped ones, and binary and hidden files are skipped", async () => {
    expect((await get("/gitignore/templates/Go")).json).toEqual({ name: "Go", source: "ours\n" });
    const { json } = await get("/gitignore/templates");
    expect(json).not.toContain(".hidden");
    expect(json).not.toContain("Binary");
    expect(json).not.toContain("below");
    expect(JSON.stringify(daemon.log).includes("Binary")).toBe(true);
  });
});

describe("label sets", () => {
  test("label sets are listed and returned in the order of the set", async () => {
    expect((await get("/label/templates")).json).toEqual(["Advanced", "Default", "Old", "Team"]);
    const { json } = await get("/label/templates/Default");
    expect(json).toHaveLength(7);
    expect(json[0]).toEqual({
      name: "bug",
      exclusive: false,
      color: "ee0701",
      description: "Something is not working",
    });
    const advanced = (await get("/label/templates/Advanced")).json;
    expect(advanced).toHaveLength(18);
    expect(advanced.filter((label: { exclusive: boolean }) => label.exclusive)).toHaveLength(11);
  });

  test("label sets of the operator may be YAML or lines, and an invalid one is skipped and logged", async () => {
    expect((await get("/label/templates/Team")).json).toEqual([
      { name: "a/b", exclusive: true, color: "aabbcc", description: "" },
    ]);
    expect((await get("/label/templates/Old")).json).toEqual([
      { name: "bug", exclusive: false, color: "ee0701", description: "Something is wrong" },
      { name: "nice", exclusive: false, color: "ffffff", description: "" },
    ]);
    expect(JSON.stringify(daemon.log).includes("Broken.yaml")).toBe(true);
  });
});

describe("licenses", () => {
  test("licenses are listed with their addresses", async () => {
    const { json } = await get("/licenses");
    expect(json.map(({ key }: { key: string }) => key).join(", ")).toBe(
      "0BSD, AGPL-3.0, Apache-2.0, BSD-2-Clause, BSD-3-Clause, BSD-3-Clause-Clear, BSL-1.0, CC-BY-4.0, CC-BY-SA-4.0, CC0-1.0, EPL-1.0, EPL-2.0, EUPL-1.2, GPL-2.0, GPL-3.0, House, ISC, LGPL-2.1, LGPL-3.0, MIT, MIT-0, MPL-2.0, MulanPSL-2.0, OFL-1.1, OSL-3.0, UPL-1.0, Unlicense, WTFPL, Zlib",
    );
    expect(json[1]).toEqual({
      key: "AGPL-3.0",
      name: "AGPL-3.0",
      url: `${daemon.url}/api/v1/licenses/AGPL-3.0`,
    });
  });

  test("licenses are returned with text and advice", async () => {
    const { json } = await get("/licenses/MIT");
    expect(json).toMatchObject({
      key: "MIT",
      name: "MIT",
      url: `${daemon.url}/api/v1/licenses/MIT`,
    });
    expect(json.body).toContain("Permission is hereby granted");
    expect(json.implementation).toMatch(
      /^Create a text file \(typically named LICENSE or LICENSE\.txt\)/,
    );
    expect((await get("/licenses/House")).json.body).toBe("Do as you like.\n");
    for (const { key } of (await get("/licenses")).json)
      expect((await get(`/licenses/${key}`)).json.body.length, key).toBeGreaterThan(10);
  });
});

describe("unknown templates", () => {
  test("hostile and unknown names of templates are 404", async () => {
    const names = [
      "nope",
      "go",
      "NODE",
      "..",
      "%2e%2e",
      "..%2FGo",
      "%2Fetc%2Fpasswd",
      "..%5C..%5Cetc",
      "below",
      ".hidden",
      "Go%00",
      "__proto__",
      "constructor",
      "%F0%9F%8D%80",
    ];
    for (const kind of ["gitignore/templates", "label/templates", "licenses"])
      for (const one of names) {
        const { status, json, text } = await get(`/${kind}/${one}`);
        expect(status, `${kind}/${one}: ${text}`).toBe(404);
        if (one === "nope") expect(json.message).toBe("not found");
      }
    for (const one of ["default", "Advanced.yaml", "Team.yaml"])
      expect((await get(`/label/templates/${one}`)).status).toBe(404);
    for (const one of ["mit", "MIT.json"]) expect((await get(`/licenses/${one}`)).status).toBe(404);
  });

  test("templates refuse wrong credentials although none are required", async () => {
    expect((await daemon.request("/api/v1/licenses", { token: "0123456789abcdef" })).status).toBe(
      401,
    );
  });
});
