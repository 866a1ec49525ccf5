import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

const job = {
  id: 7,
  kind: "mail.send",
  description: "send a mail",
  state: "dead",
  attempts: 8,
  last_error: "Error: refused",
  document_id: null,
  item_id: null,
  run_at: "2026-11-20T09:00:00.000Z",
  created_at: "2026-11-20T09:00:00.000Z",
  updated_at: "2026-11-20T09:00:00.000Z",
};

describe("croft job", () => {
  test("list sends its filters", async () => {
    await using home = await temporaryHome();
    const body = { items: [job], total: 1, page: 1, per_page: 30 };
    await using daemon = await fakeDaemon({ "GET /api/admin/jobs": { body } });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const line = ["job", "list", "--state", "dead", "--kind", "mail.send", "--json"];
    const ran = await runCli(line, { home: home.path });
    expect(ran.json()).toEqual([job]);
    expect(daemon.requests[0]?.path).toContain("state=dead");
    expect(daemon.requests[0]?.path).toContain("kind=mail.send");
  });

  test("view, retry and cancel name a job by its id", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/admin/jobs/7": { body: job },
      "POST /api/admin/jobs/7/retry": { body: { ...job, state: "waiting" } },
      "POST /api/admin/jobs/7/cancel": { status: 204 },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const at = { home: home.path };
    expect((await runCli(["job", "view", "7", "--json"], at)).json()).toEqual(job);
    const retried = await runCli(["job", "retry", "7", "--json"], at);
    expect(retried.json()).toMatchObject({ state: "waiting" });
    const cancelled = await runCli(["job", "cancel", "7", "--yes", "--json"], at);
    expect(cancelled.json()).toEqual({ cancelled: true, id: 7 });
  });

  test("refuses an id that is not a number", async () => {
    const ran = await runCli(["job", "view", "x", "--json"], { home: "/nowhere" });
    expect(ran.error()).toMatchObject({ code: "usage" });
  });
});
