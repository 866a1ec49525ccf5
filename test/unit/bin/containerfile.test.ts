import { readFileSync } from "node:fs";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { commands } from "../../../cli/program.ts";
import { resolveSettings } from "../../../daemon/settings/resolve.ts";
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

describe.each(["croft.yaml", "postgres-and-bucket.yaml", "two-daemons.yaml"])(
  "compose/%s",
  (name) => {
    interface Service {
      readonly command?: readonly string[];
      readonly environment?: Readonly<Record<string, string>>;
      readonly volumes?: readonly string[];
      readonly ports?: readonly string[];
      readonly depends_on?: object;
    }
    const folder = join(root, "docs/compose");
    const file: { services: Record<string, Service>; volumes: object } = parse(
      readFileSync(join(folder, name), "utf8"),
      { merge: true },
    );
    const daemons = Object.entries(file.services).flatMap(([service, settings]) =>
      /^croft(?:-\d)?$/.test(service) ? settings : [],
    );

    test("sets only variables that croft reads, to values that it takes", () => {
      const known = new Set(listSettings().map(([setting]) => toVariable(setting)));
      expect(daemons.length).toBe(name === "two-daemons.yaml" ? 2 : 1);
      for (const { environment = {} } of daemons) {
        const names = Object.keys(environment);
        expect(names.filter((one) => !known.has(one))).toEqual([]);
        expect(names).toContain("CROFT_PUBLIC_URL");
        const env = { CROFT_HOME: "/data", ...toFilledIn(environment) };
        const around = { env, platform: "linux", homeDirectory: "/home", flags: {} } as const;
        const { settings } = resolveSettings({
          ...around,
          workingDirectory: "/",
          readFile: () => expect.unreachable("a setting names a file"),
          fileText: undefined,
          filePath: "/data/config.yaml",
          parseFile: parse,
        });
        expect(settings.publicUrl).toBe("https://localhost:7420");
      }
    });

    test("gives all daemons the same settings, and each a home of its own", () => {
      const [first, ...others] = daemons;
      for (const other of others) {
        expect(other.environment).toEqual(first?.environment);
        expect(other.command).toEqual(first?.command);
      }
      const homes = daemons.flatMap(
        ({ volumes = [] }) => volumes.find((at) => at.endsWith(":/data")) ?? [],
      );
      expect(new Set(homes).size).toBe(daemons.length);
    });

    test("publishes on loopback, and keeps data in volumes that it names", async () => {
      const services = Object.values(file.services);
      const ports = services.flatMap((service) => service.ports ?? []);
      expect(ports.filter((port) => !port.startsWith("127.0.0.1:"))).toEqual([]);
      const places = services
        .flatMap((service) => service.volumes ?? [])
        .map((at) => at.split(":")[0] ?? "");
      const volumes = new Set(places.filter((place) => !place.startsWith(".")));
      expect([...volumes].toSorted()).toEqual(Object.keys(file.volumes).toSorted());
      // The folder of the certificate is made by its reader.
      for (const place of places.filter((one) => one.startsWith("./") && one !== "./tls"))
        await access(join(folder, place));
      const needed = services.flatMap(({ depends_on: on = [] }) =>
        Array.isArray(on) ? on : Object.keys(on),
      );
      expect(needed.filter((one) => !(one in file.services))).toEqual([]);
    });

    test("holds no secret", () => {
      for (const service of Object.values(file.services))
        for (const [key, value] of Object.entries(service.environment ?? {}))
          if (/PASSWORD|SECRET|DATABASE_URL|MC_HOST|_KEY$/.test(key))
            expect(value).toMatch(/\$\{\w+:\?/);
    });
  },
);

test("the proxy of two daemons sends requests and connections of SSH to both", () => {
  const text = readFileSync(join(root, "docs/compose/two-daemons.nginx.conf"), "utf8");
  const servers = [...text.matchAll(/^\s*server (\S+:\d+) /gm)].map(([, server]) => server);
  const at = (port: number) => ["croft-1", "croft-2"].map((host) => `${host}:${port}`);
  expect(servers).toEqual([...at(7420), ...at(7422)]);
});

/** Fills in the variables of a compose file: defaults, and keys in the place of required ones. */
function toFilledIn(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value
        .replaceAll(/\$\{\w+:-([^}]*)\}/g, "$1")
        .replaceAll(/\$\{\w+:\?[^}]*\}/g, "0123456789abcdef".repeat(4)),
    ]),
  );
}
