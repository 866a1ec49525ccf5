import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openCertificate } from "../../../daemon/http/tls.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";
import { signIn } from "../support/signed-in.ts";

/** Something that serves https on loopback with a certificate of its own, as `croft serve --tls self` does. */
async function serve(keysDirectory: string) {
  await mkdir(keysDirectory, { recursive: true });
  const files = await openCertificate(
    { kind: "self" },
    {
      keysDirectory,
      hosts: [],
      clock: Date.now,
      writePrivately: (path, text) => writeFile(path, text),
    },
  );
  if (files === undefined) throw new Error("no certificate");
  const item = { provider_item_id: "a", name: "a", kind: "file", size: 5 };
  const server = createServer(
    { cert: await readFile(files.certFile), key: await readFile(files.keyFile) },
    ({ url = "" }, response) => {
      if (url.includes("/download")) return response.end("hello");
      const items = url.startsWith("/api/cloud/connections?")
        ? [{ id: "c1", display_name: "home" }]
        : [item];
      response.setHeader("Content-Type", "application/json");
      return response.end(JSON.stringify({ items, total: 1, page: 1, per_page: 100 }));
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("the certificate that this home's daemon has made is trusted, for requests and for bytes", async () => {
  await using home = await temporaryHome();
  await using daemon = await serve(join(home.path, "keys"));
  await signIn(home.path, { url: daemon.url, vault: {} });
  const listed = await runCli(["vault", "connection", "list", "--json=id"], { home: home.path });
  expect([listed.json(), listed.code]).toEqual([[{ id: "c1" }], 0]);
  const read = await runCli(["vault", "item", "cat", "home:/a"], { home: home.path });
  expect([read.out, read.code]).toEqual(["hello", 0]);
});

test("a certificate of another daemon, a missing one and a damaged one are not trusted", async () => {
  await using home = await temporaryHome();
  await using daemon = await serve(join(home.path, "other"));
  await signIn(home.path, { url: daemon.url, vault: {} });
  const isRefused = async () => {
    const ran = await runCli(["vault", "connection", "list", "--json"], { home: home.path });
    expect(ran).toMatchObject({ code: 10, out: "" });
    expect(ran.error()["message"]).toContain("not trusted");
    expect(ran.error()["hint"]).toContain("NODE_EXTRA_CA_CERTS");
  };
  await isRefused();
  await using own = await serve(join(home.path, "keys"));
  expect(own.url).not.toBe(daemon.url);
  await isRefused();
  await writeFile(join(home.path, "keys", "tls.crt"), "-----BEGIN CERTIFICATE-----\nx\n");
  await isRefused();
  await rm(join(home.path, "keys"), { recursive: true });
  await isRefused();
});
