import { readFileSync } from "node:fs";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { commands } from "../../../cli/program.ts";
import { listSettings, toVariable } from "../../../daemon/settings/settings.ts";
import { findCommand } from "../../../cli/tree/command-tree.ts";

const root = join(import.meta.dirname, "../../..");

interface Instruction {
  readonly name: string;
  readonly value: string;
}

const instructions = toInstructions(await readFile(join(root, "Containerfile"), "utf8"));
const stages = toStages(instructions);
const last = stages.at(-1) ?? [];

/** The instructions of a container file: comments and empty lines left out, continued lines joined. */
function toInstructions(text: string): readonly Instruction[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !/^\s*#/.test(line));
  return lines
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => {
      const [, name = "", value = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
      return { name, value };
    });
}

function toStages(all: readonly Instruction[]): readonly (readonly Instruction[])[] {
  const stages: Instruction[][] = [];
  for (const one of all) {
    if (one.name === "FROM") stages.push([]);
    stages.at(-1)?.push(one);
  }
  return stages;
}

const valuesOf = (stage: readonly Instruction[], name: string) =>
  stage.filter((one) => one.name === name).map(({ value }) => value);
const words = (json: string) => JSON.parse(json) as string[];

describe("the container file", () => {
  test("pins each base image to an exact version", () => {
    expect(stages).toHaveLength(2);
    for (const stage of stages)
      expect(valuesOf(stage, "FROM")[0]).toMatch(/^\w+:\d+\.\d+[\w.-]*(?: AS \w+)?$/);
    expect(valuesOf(last, "FROM")[0]).toMatch(/^debian:.*-slim$/);
  });

  test("installs the library of the Node that npm brings, to build and to run", () => {
    for (const stage of stages)
      expect(valuesOf(stage, "RUN").join("\n")).toMatch(/apt-get install .*\blibatomic1\b/);
  });

  test("runs as a numbered user other than root, chosen before anything starts", () => {
    const [user = ""] = valuesOf(last, "USER");
    expect(user).toMatch(/^[1-9]\d+:[1-9]\d+$/);
    const at = (name: string) => last.findIndex((one) => one.name === name);
    expect(at("USER")).toBeGreaterThan(at("RUN"));
    expect(at("USER")).toBeLessThan(at("ENTRYPOINT"));
  });

  test("keeps the home in a volume", () => {
    const [volume = ""] = valuesOf(last, "VOLUME");
    expect(valuesOf(last, "ENV").join(" ").split(" ")).toContain(`CROFT_HOME=${volume}`);
  });

  test("has a health check and a start that are commands of croft", async () => {
    const check = /^(?:--\S+ )+CMD (\[.*\])$/.exec(valuesOf(last, "HEALTHCHECK")[0] ?? "")?.[1];
    const start = [
      ...words(valuesOf(last, "ENTRYPOINT")[0] ?? "[]"),
      ...words(valuesOf(last, "CMD")[0] ?? "[]"),
    ];
    for (const line of [words(check ?? "[]"), start]) {
      expect(line[0]).toBe("croft");
      expect((await findCommand(line.slice(1), commands)).verb).toBeDefined();
    }
  });

  test("installs the locked versions, and removes the files of apt", () => {
    const runs = instructions.filter(({ name }) => name === "RUN").map(({ value }) => value);
    expect(runs.filter((run) => /\bnpm i(?:nstall)?\b/.test(run))).toEqual([]);
    expect(runs.join("\n")).toMatch(/\bnpm ci\b/);
    const apt = runs.filter((run) => run.includes("apt-get"));
    expect(apt).toHaveLength(stages.length);
    for (const run of apt)
      for (const fact of ["--no-install-recommends", "rm -rf /var/lib/apt/lists/*"])
        expect(run).toContain(fact);
  });

  test("copies only the executable into the image, and files that exist", async () => {
    expect(valuesOf(last, "COPY")).toEqual(["--from=build /src/dist/croft /usr/local/bin/croft"]);
    expect(instructions.filter(({ name }) => name === "ADD" || name === "ARG")).toEqual([]);
    for (const value of valuesOf(stages[0] ?? [], "COPY"))
      for (const path of value.split(" ").slice(0, -1)) await access(join(root, path));
    const ignored = (await readFile(join(root, ".dockerignore"), "utf8")).split("\n");
    expect(ignored).toEqual(expect.arrayContaining([".git", "node_modules", "dist"]));
  });
});

describe.each(["croft.yaml", "postgres-and-bucket.yaml"])("compose/%s", (name) => {
  interface Service {
    readonly environment?: Readonly<Record<string, string>>;
    readonly volumes?: readonly string[];
    readonly ports?: readonly string[];
    readonly depends_on?: object;
  }
  const file: { services: Record<string, Service>; volumes: object } = parse(
    readFileSync(join(root, "docs/compose", name), "utf8"),
  );

  test("sets only variables that croft reads", () => {
    const known = new Set(listSettings().map(([name]) => toVariable(name)));
    const names = Object.keys(file.services["croft"]?.environment ?? {});
    expect(names.filter((one) => !known.has(one))).toEqual([]);
    expect(names).toContain("CROFT_PUBLIC_URL");
  });

  test("publishes on loopback, and keeps data in volumes that it names", () => {
    const services = Object.values(file.services);
    const ports = services.flatMap((service) => service.ports ?? []);
    expect(ports.filter((port) => !port.startsWith("127.0.0.1:"))).toEqual([]);
    const volumes = services
      .flatMap((service) => service.volumes ?? [])
      .map((at) => at.split(":")[0]);
    expect(volumes.toSorted()).toEqual(Object.keys(file.volumes).toSorted());
    const needed = services.flatMap(({ depends_on: on = [] }) =>
      Array.isArray(on) ? on : Object.keys(on),
    );
    expect(needed.filter((one) => !(one in file.services))).toEqual([]);
  });

  test("holds no secret", () => {
    for (const service of Object.values(file.services))
      for (const [key, value] of Object.entries(service.environment ?? {}))
        if (/PASSWORD|SECRET|DATABASE_URL|MC_HOST/.test(key)) expect(value).toMatch(/\$\{\w+:\?/);
  });
});
