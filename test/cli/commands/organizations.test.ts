import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { optionsOf, refusalOf } from "../support/parse-line.ts";
import { type Ran, runCli, temporaryHome } from "../support/run-cli.ts";

let daemon: TestDaemon;
let home: Awaited<ReturnType<typeof temporaryHome>>;
beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  home = await temporaryHome();
  const made = await croft(
    "admin user create --username mira --email mira@example.org --random-password",
  );
  expect(made.code, made.err).toBe(0);
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

function croft(line: string): Promise<Ran> {
  const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: daemon.first?.forge.token ?? "" };
  return runCli([...line.split(" "), "--json"], { home: home.path, env });
}

/** Returns what a command prints. Fails when the command does. */
// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
async function json(line: string): Promise<any> {
  const ran = await croft(line);
  expect({ line, code: ran.code, err: ran.err }).toEqual({ line, code: 0, err: "" });
  return ran.json();
}

test("a line becomes the options of an organization and of a team", async () => {
  expect(await optionsOf("org edit", ["guild", "--admins-change-teams", "true"])).toEqual({
    name: "guild",
    adminsChangeTeams: "true",
  });
  expect(await refusalOf("org edit", ["guild"])).toContain("nothing to change");
  const line = ["guild", "masons", "--unit", "code", "--unit", "issues=write"];
  expect(await optionsOf("team create", line)).toEqual({
    organization: "guild",
    name: "masons",
    unit: ["code", "issues=write"],
  });
});

test("an organization with teams is made, used and deleted by commands", async () => {
  await json("org create guild --description Builders");
  expect(await json("org edit guild --location Here")).toMatchObject({
    description: "Builders",
    location: "Here",
  });
  expect(await json("org list --all-visible")).toMatchObject([{ name: "guild" }]);
  expect(await json("org permission guild keeper")).toMatchObject({ is_owner: true });
  const team = await json("team create guild masons --unit code --unit issues=write");
  expect(team.units_map).toEqual({ "repo.code": "read", "repo.issues": "write" });
  expect((await json("team create guild all --permission write")).units).toContain("repo.wiki");
  await json("team edit guild/masons --name bricks --visibility public");
  expect(await json("team view guild/bricks")).toMatchObject({ id: team.id, visibility: "public" });
  expect((await croft("team view guild/none")).code).toBe(6);
  expect((await croft("team view bricks")).code).toBe(2);

  await json("team member add guild/bricks mira");
  expect(await json(`team member list ${team.id}`)).toMatchObject([{ login: "mira" }]);
  expect(await json("org member list guild")).toHaveLength(2);
  await json("org member publicize guild mira");
  expect(await json("org member list guild --public")).toMatchObject([{ login: "mira" }]);
  await json("org member conceal guild mira --yes");
  expect(await json("org member list guild --public")).toEqual([]);

  await json("repo create wall --org guild");
  await json("team repo add guild/bricks guild/wall");
  expect(await json("team repo list guild/bricks")).toMatchObject([{ full_name: "guild/wall" }]);
  await json("team repo remove guild/bricks guild/wall --yes");
  expect(await json("team repo list guild/bricks")).toEqual([]);
  await json("team member remove guild/bricks mira --yes");
  expect(await json("org member list guild")).toHaveLength(1);
  await json("org rename guild union");
  await json("team delete union/bricks --yes");
  expect((await croft("org delete union --yes")).code).toBe(12);
  await json("repo delete union/wall --confirm union/wall");
  await json("org delete union --yes");
  expect((await croft("org view union")).code).toBe(6);
  expect(await json("team list")).toEqual([]);
});
