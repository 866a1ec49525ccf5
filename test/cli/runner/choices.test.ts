import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { toShellCommand } from "../../../cli/runner/job/script-step.ts";
import { toContainerImage } from "../../../cli/runner/places/container-place.ts";
import { findEngine } from "../../../cli/runner/places/engine.ts";
import { isAllowed, findTarget, parseLabel } from "../../../cli/runner/runner-state.ts";
import { temporaryHome } from "../support/run-cli.ts";

test.each([
  [["*"], "mira/one", true],
  [["mira"], "Mira/one", true],
  [["mira/one"], "mira/One", true],
  [["mira/one"], "mira/two", false],
  [["mir"], "mira/one", false],
  [[], "mira/one", false],
])("with %j allowed, a job of %s runs: %s", (patterns, repository, expected) => {
  expect(isAllowed(patterns, repository)).toBe(expected);
});

test("the first label of a job that the runner has decides where it runs", () => {
  const labels = ["host", "big:host", "linux:docker://node:22"].flatMap(
    (text) => parseLabel(text) ?? [],
  );
  expect(findTarget(labels, ["linux", "big"])).toEqual({ kind: "container", image: "node:22" });
  expect(findTarget(labels, ["big"])).toEqual({ kind: "host" });
  expect(findTarget(labels, ["BIG"])).toEqual({ kind: "host" });
  expect(findTarget(labels, ["other"])).toBeUndefined();
  expect(["", "a b", "a:vm://x", ":host"].map(parseLabel)).toEqual(Array(4).fill(undefined));
});

test.each([
  [undefined, true, ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "/s"]],
  [undefined, false, ["sh", "-e", "/s"]],
  ["bash", true, ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "/s"]],
  ["python", true, ["python", "/s"]],
  ["perl -w '-M a' {0}", true, ["perl", "-w", "-M a", "/s"]],
])("the shell %s starts its script", (shell, hasBash, argv) => {
  expect(toShellCommand(shell, "x", hasBash)?.argv("/s")).toEqual(argv);
});

test("an unknown shell is refused", () => {
  expect(toShellCommand("fish", "x", true)).toBeUndefined();
});

test("a job cannot have the runner mount folders or add privileges", () => {
  expect(toContainerImage("node:22")).toBe("node:22");
  expect(toContainerImage({ image: "node:22", env: { A: "1" } })).toBe("node:22");
  for (const key of ["volumes", "options", "credentials"])
    expect(() => toContainerImage({ image: "x", [key]: ["/:/host"] })).toThrow(
      `container.${key} is not supported`,
    );
  for (const image of ["--privileged", "-v=/:/host", " node"])
    for (const container of [image, { image }])
      expect(() => toContainerImage(container)).toThrow("is no name of an image");
});

test("the runner takes the engine that answers: a docker without its daemon is no use beside podman", async () => {
  await using home = await temporaryHome();
  const install = async (folder: string, name: string, code: number) => {
    await mkdir(join(home.path, folder), { recursive: true });
    const script = `#!/bin/sh\nexit ${code}\n`;
    await writeFile(join(home.path, folder, name), script, { mode: 0o755 });
  };
  const find = () => findEngine({ PATH: `${join(home.path, "a")}:${join(home.path, "b")}` });
  expect(await find()).toBeUndefined();
  await install("b", "docker", 1);
  expect(await find()).toBeUndefined();
  await install("a", "podman", 0);
  expect(await find()).toBe(join(home.path, "a", "podman"));
  await install("b", "docker", 0);
  expect(await find()).toBe(join(home.path, "b", "docker"));
  await install("b", "docker", 1);
  await install("a", "podman", 1);
  expect(await find()).toBeUndefined();
});
