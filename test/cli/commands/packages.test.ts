import { hash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createContainerClient } from "../../support/forge/container-client.ts";
import { optionsOf } from "../support/parse-line.ts";
import { type Ran, runCli, temporaryHome } from "../support/run-cli.ts";

let daemon: TestDaemon;
let token: string;
let home: Awaited<ReturnType<typeof temporaryHome>>;
beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  token = daemon.first?.forge.token ?? "";
  home = await temporaryHome();
  const client = createContainerClient(() => daemon, { token });
  await client.push("keeper/tools", "one", ["layer"]);
  await client.push("keeper/tools", "two", ["layer"]);
  await daemon.request("/api/packages/keeper/generic/tool/1/tool.bin", {
    method: "PUT",
    token,
    body: "bytes",
  });
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
});

function croft(line: string): Promise<Ran> {
  const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: token };
  return runCli(line.split(" "), { home: home.path, env });
}

describe("the line becomes options", () => {
  test("owner and filters of a list become options", async () => {
    expect(await optionsOf("package list", ["acme", "--type", "npm", "--search", "x"])).toEqual({
      owner: "acme",
      type: "npm",
      search: "x",
    });
    expect(await optionsOf("package image", ["acme", "tools", "latest"])).toEqual({
      owner: "acme",
      name: "tools",
      version: "latest",
    });
  });

  test("the name of a version becomes an option", async () => {
    const line = ["keeper", "container", "tools", "latest"];
    const named = { owner: "keeper", type: "container", name: "tools", version: "latest" };
    expect(await optionsOf("package view", line)).toEqual(named);
    expect(await optionsOf("package readme", line)).toEqual(named);
    expect(await optionsOf("package delete", line)).toEqual(named);
  });
});

describe("against the daemon", () => {
  test("lists the caller's packages, and those of a type", async () => {
    const all = await croft("package list --json=type,version");
    expect(all.json()).toHaveLength(3);
    const images = await croft("package ls keeper --type container --json=version");
    expect(images.json()).toEqual([{ version: "two" }, { version: "one" }]);
  });

  test("shows an image with its tags and what docker pulls, and a version", async () => {
    const { host } = new URL(daemon.url);
    expect((await croft("package image keeper tools one --json")).json()).toMatchObject({
      reference: `${host}/keeper/tools:one`,
      platforms: ["linux/arm64"],
      labels: { a: "b" },
      tags: ["one", "two"],
    });
    expect((await croft("package view keeper container tools two --json")).json()).toMatchObject({
      type: "container",
      version: "two",
    });
  });

  test("prints the readme of a Python package", async () => {
    const form = new FormData();
    const digest = hash("sha256", "bytes", "hex");
    const fields = { name: "tool", version: "1", sha256_digest: digest, description: "Read me" };
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    form.append("content", new File(["bytes"], "tool-1.tar.gz"));
    const sent = { method: "POST", token, body: form };
    expect((await daemon.request("/api/packages/keeper/pypi", sent)).status).toBe(201);
    const printed = await croft("package readme keeper pypi tool 1 --jq .readme");
    expect(printed.out).toBe("Read me\n");
  });

  test("deletes a tag of an image", async () => {
    await croft("package delete keeper container tools one --yes");
    expect((await croft("package list --type container --jq length")).out).toBe("1\n");
  });
});
