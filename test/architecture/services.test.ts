import { expect, test } from "vitest";
import { readSources, type SourceFile, visitNodes } from "./source-tree.ts";

const hasSeveralReturns = "the factory returns one of several values";
const isPort = "a port: several functions make one";

/** Interfaces beside their only factory that stay, with the reason. */
const reasons: Readonly<Record<string, string>> = {
  Archive: hasSeveralReturns,
  Content: isPort,
  Help: isPort,
  Keyring: "a port: keys may come from other places",
  Origin: isPort,
  PostgresPool: "it has optional members",
  RemoteFolder: "its folders are others of it, whose type cannot be inferred then",
  Stores: hasSeveralReturns,
  UploadBody: hasSeveralReturns,
};

test("the type of a service is what its factory returns; interfaces are for ports with several implementations", () => {
  const sources = readSources(["cli", "daemon", "storage"]);
  const builders = new Map<string, string[]>();
  for (const source of sources)
    for (const { factory, type } of listFactories(source))
      builders.set(type, [...(builders.get(type) ?? []), `${source.path} ${factory}`]);
  const doubled = sources.flatMap((source) =>
    listServiceInterfaces(source).filter((name) => {
      const [builder, another] = builders.get(name) ?? [];
      return builder?.startsWith(`${source.path} `) && another === undefined;
    }),
  );
  expect(doubled.toSorted()).toEqual(Object.keys(reasons));
});

/** Functions called `create…` or `open…` whose return type is written as one name, or as a promise of it. */
function listFactories(source: SourceFile): { readonly factory: string; readonly type: string }[] {
  const pattern =
    /function ((?:create|open)\w*)(?:<[^(]*>)?\((?:[^()]|\([^()]*\))*\): (?:Promise<)?([A-Z]\w*)>? \{/g;
  return [...source.text.matchAll(pattern)].map(([, factory = "", type = ""]) => ({
    factory,
    type,
  }));
}

/** Interfaces with a method that extend nothing. */
function listServiceInterfaces(source: SourceFile): string[] {
  const names: string[] = [];
  visitNodes(source, {
    TSInterfaceDeclaration({ id, body, extends: parents }) {
      const hasMethod = body.body.some(({ type }) => type === "TSMethodSignature");
      if (hasMethod && parents.length === 0) names.push(id.name);
    },
  });
  return names;
}
