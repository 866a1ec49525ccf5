import { expect, test } from "vitest";
import { startTestDaemon } from "../../support/daemon.ts";
import { optionsOf } from "../support/parse-line.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";

const key =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl mira@laptop";

test("public keys are added from standard input, listed and deleted", async () => {
  expect(await optionsOf("ssh-key add", ["id.pub", "--title", "laptop"])).toEqual({
    file: "id.pub",
    title: "laptop",
  });
  await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await using home = await temporaryHome();
  const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: daemon.first?.forge.token ?? "" };
  const croft = (line: readonly string[], stdin?: string) =>
    runCli([...line, "--json"], {
      home: home.path,
      env,
      ...(stdin === undefined ? {} : { stdin }),
    });
  const made = await croft(["ssh-key", "add", "-", "--title", "laptop"], key);
  expect(made.json()).toMatchObject({ title: "laptop", key });
  expect((await croft(["ssh-key", "add", "-"], "no key")).code).toBe(12);
  const listed = (await croft(["ssh-key", "list"])).json() as { id: number }[];
  expect(listed).toHaveLength(1);
  const id = String(listed[0]?.id);
  expect((await croft(["ssh-key", "delete", id, "--yes"])).json()).toEqual({ deleted: true, id });
  expect((await croft(["ssh-key", "delete", id, "--yes"])).code).toBe(6);
  expect((await croft(["org", "list"])).json()).toEqual([]);
});
