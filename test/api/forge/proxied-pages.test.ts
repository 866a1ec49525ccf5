import { expect, test } from "vitest";
import { startTestDaemon } from "../../support/daemon.ts";

// A proxy serves the daemon under a path of another host, removes the path and sends the daemon's own Host.

const publicUrl = "https://croft.example/forge";

test("pages below a path link to that path and accept forms of the public address", async () => {
  await using daemon = await startTestDaemon({ env: { CROFT_PUBLIC_URL: publicUrl } });
  const open = (path: string, init: RequestInit = {}) =>
    fetch(`${daemon.url}${path}`, { redirect: "manual", ...init });
  const page = await (await open("/user/login?redirect_to=/notifications")).text();
  const addresses = [...page.matchAll(/ (?:href|src|action)="([^"]*)"/g)].map(([, to]) => to ?? "");
  expect(addresses.length).toBeGreaterThan(3);
  expect(addresses.filter((to) => !/^(?:#|\/forge\/)/.test(to))).toEqual([]);

  const signIn = (origin: string) =>
    open("/user/login", {
      method: "POST",
      headers: { Origin: origin, "Sec-Fetch-Site": "same-origin" },
      body: new URLSearchParams({
        user_name: "keeper",
        password: daemon.first?.password ?? "",
        redirect_to: "/notifications",
      }),
    });
  const signedIn = await signIn("https://croft.example");
  expect(signedIn.status).toBe(303);
  expect(signedIn.headers.get("location")).toMatch(/^\/forge\//);
  expect((await signIn("https://evil.example")).status).toBe(403);
});
