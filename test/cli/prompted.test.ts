import { expect, test } from "vitest";
import { createContext } from "../../cli/context.ts";
import { neverStopping } from "../../cli/report.ts";
import { commands } from "../../cli/program.ts";
import { loadAllCommands } from "../../cli/tree/command-tree.ts";
import { fakeSystem, runCli } from "./support/run-cli.ts";

const loaded = await loadAllCommands(
  createContext(fakeSystem({ home: "/nowhere" }), neverStopping),
  commands,
);
const prompting = loaded.flatMap(({ line, command, module: { prompted } }) =>
  prompted === undefined ? [] : [{ line, command, prompted }],
);
const nowhere = { home: "/nowhere", env: { CROFT_URL: "http://127.0.0.1:9" } };

test.each(prompting)("croft $line has the flags that it prompts for", ({ command, prompted }) => {
  const known = command.options.map(({ long }) => long);
  for (const flag of prompted.flatMap((flags) => flags.split(" or ")))
    expect(known).toContain(flag);
});

test.each(prompting)(
  "croft $line names all that it would prompt for at once where prompting is not possible",
  async ({ line, prompted }) => {
    const ran = await runCli([...line.split(" "), "--json"], nowhere);
    expect(ran).toMatchObject({ code: 2, out: "" });
    expect(ran.error()).toMatchObject({ code: "missing_input" });
    for (const flags of prompted) expect(ran.error()["message"]).toContain(flags);
  },
);

test("arguments, required flags and prompted flags are named together", async () => {
  const ran = await runCli(["vault", "register", "--handle", "mira"], nowhere);
  expect(ran.code).toBe(2);
  expect(ran.err).toContain("--email <address> and --password-stdin are missing");
});

test("a question is quoted where it cannot be answered, with the flag that answers it", async () => {
  const ran = await runCli(["token", "delete", "7"], nowhere);
  expect(ran.code).toBe(2);
  expect(ran.err).toContain(
    '"Delete the token 7?" must be confirmed, and prompting is not possible',
  );
  expect(ran.err).toContain("give --yes");
});
