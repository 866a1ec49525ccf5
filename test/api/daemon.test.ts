import { describe, expect, test } from "vitest";
import { startTestDaemon } from "../support/daemon.ts";

describe("a daemon on a new home", () => {
  test("makes both administrators, once, and shows their password", async () => {
    await using daemon = await startTestDaemon();
    const { first } = daemon;
    expect(first).toMatchObject({
      home: daemon.home,
      forge: { username: "keeper", token: expect.stringMatching(/^[0-9a-f]{40}$/) },
      vault: { handle: "keeper", email: "keeper@croft.localhost" },
      password: expect.stringMatching(/^.{20,}$/),
    });
    const me = await daemon.request("/api/v1/user", { token: first?.forge.token ?? "" });
    expect(me.json).toMatchObject({ login: "keeper", is_admin: true });
    const signedIn = await daemon.request("/api/auth/login", {
      json: { email: "keeper@croft.localhost", password: first?.password },
    });
    expect(signedIn.json).toMatchObject({ user: { handle: "keeper", role: "admin" } });

    await daemon.stop();
    await using again = await startTestDaemon({ home: daemon.home });
    expect(again.first).toBeUndefined();
    expect((await again.request("/api/v1/user", { token: first?.forge.token ?? "" })).status).toBe(
      200,
    );
  });
});
