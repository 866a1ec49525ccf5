import { expect, test } from "vitest";
import { fakeDaemon } from "../../../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../../support/run-cli.ts";
import { signIn } from "../../../support/signed-in.ts";

test("the line becomes options", async () => {
  expect(await optionsOf("vault preference set", ["--pdf-open-mode", "new_tab"])).toEqual({
    pdfOpenMode: "new_tab",
  });
  expect(await optionsOf("vault preference set", ["default-storage", "webdav"])).toEqual({
    preference: "default-storage",
    value: "webdav",
  });
  for (const line of [["default-storage"], ["colour", "blue"]])
    expect(await refusalOf("vault preference set", line)).toMatch(/^croft: /);
});

test("preferences are shown and changed", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/auth/me/preferences": {
      body: { pdf_open_mode: "in_app", default_storage_backend: "internal" },
    },
    "PATCH /api/auth/me/preferences": { body: { pdf_open_mode: "new_tab" } },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const shown = await runCli(["vault", "preference", "get"], { home: home.path });
  expect(shown.out).toBe("pdf_open_mode\tin_app\ndefault storage\tinternal\n");
  const line = ["vault", "preference", "set", "--pdf-open-mode", "new_tab", "--json"];
  expect((await runCli(line, { home: home.path })).json()).toEqual({ pdf_open_mode: "new_tab" });
  expect(daemon.requests[1]?.json()).toEqual({ pdf_open_mode: "new_tab" });
  const dry = await runCli([...line, "--dry-run"], { home: home.path });
  expect(dry.code).toBe(0);
  expect(daemon.requests).toHaveLength(2);
});

test("the default storage is set, and a command that names no preference is refused", async () => {
  await using home = await temporaryHome();
  const body = { pdf_open_mode: "in_app", default_storage_backend: "webdav" };
  await using daemon = await fakeDaemon({ "PATCH /api/auth/me/default-storage": { body } });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const line = ["vault", "preference", "set", "default-storage", "webdav"];
  expect((await runCli(line, { home: home.path })).out).toContain("default storage\twebdav\n");
  expect((await runCli([...line, "--json"], { home: home.path })).json()).toEqual(body);
  expect(daemon.requests[0]?.json()).toEqual({ backend: "webdav" });
  const nothing = await runCli(["vault", "preference", "set"], { home: home.path });
  expect(nothing.code).toBe(2);
  expect(daemon.requests).toHaveLength(2);
});
