import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** One method of the client `gitea-js`, as its type declarations describe it. */
export interface ClientMethod {
  /** `repos.repoGet` */
  readonly name: string;
  /** `GET /api/v1/repos/{owner}/{repo}` */
  readonly request: string;
  /** `Repository`, `User[]`, `any` or `void`. */
  readonly result: string;
}

/** The methods of `gitea-js` and the types of their results, both read from the declarations that it ships. */
export interface ClientDeclarations {
  readonly methods: readonly ClientMethod[];
  /** Describes each field that is missing in `value` or has another type than `type` declares. */
  findDifferences(type: string, value: unknown): string[];
}

/** Types that name no fields of an answer; `File` is the bytes of a file. */
const UNCHECKED: ReadonlySet<string> = new Set(["any", "void", "object", "File"]);

type Fields = ReadonlyMap<string, string>;

/** Reads the declarations. They are generated, so that one line declares one field or ends one method. */
export function readClientDeclarations(): ClientDeclarations {
  const file = fileURLToPath(
    new URL("../../../node_modules/gitea-js/dist/index.d.mts", import.meta.url),
  );
  const text = readFileSync(file, "utf8");
  const interfaces = readInterfaces(text);
  const aliases = new Map(
    [...text.matchAll(/^type (\w+) = (.+);$/gm)].map(([, name = "", type = ""]) => [name, type]),
  );

  function find(type: string, value: unknown, at: string, optional: boolean): string[] {
    if (value === undefined || UNCHECKED.has(type)) return [];
    // The client's generator knows no null; Go's nil pointers, slices and times are null or absent on the wire.
    if (value === null) return optional ? [] : [`${at} is null`];
    if (type.endsWith("[]"))
      return Array.isArray(value)
        ? value.flatMap((each, index) => find(type.slice(0, -2), each, `${at}[${index}]`, false))
        : [`${at} is not a list`];
    if (type.startsWith("Record<"))
      return typeof value === "object" ? [] : [`${at} is not an object`];
    const alias = aliases.get(type);
    if (alias !== undefined) return find(alias, value, at, optional);
    const fields = interfaces.get(type);
    if (fields !== undefined) return findInFields(type, fields, value, at);
    if (type.includes("'"))
      return type.split(" | ").includes(`'${String(value)}'`)
        ? []
        : [`${at} is ${String(value)}, not ${type}`];
    return typeof value === type ? [] : [`${at} is ${typeof value}, not ${type}`];
  }

  function findInFields(type: string, fields: Fields, value: unknown, at: string): string[] {
    if (typeof value !== "object" || Array.isArray(value)) return [`${at} is not an object`];
    const members = value as Readonly<Record<string, unknown>>;
    return [...fields].flatMap(([name, fieldType]) =>
      name in members
        ? find(fieldType, members[name], `${at}.${name}`, true)
        : [`${type}.${name} is missing`],
    );
  }

  return {
    methods: readMethods(text),
    findDifferences: (type, value) => [...new Set(find(type, value, type, false))],
  };
}

function readInterfaces(text: string): Map<string, Fields> {
  const interfaces = new Map<string, Fields>();
  for (const [, name = "", body = ""] of text.matchAll(/^interface (\w+) \{\n(.*?)^\}$/gms))
    interfaces.set(
      name,
      new Map(
        [...body.matchAll(/^ {4}'?([\w-]+)'?\??: (.+);$/gm)].map(([, field = "", type = ""]) => [
          field,
          type,
        ]),
      ),
    );
  return interfaces;
}

function readMethods(text: string): ClientMethod[] {
  const methods: ClientMethod[] = [];
  let group = "";
  let request = "";
  let method = "";
  for (const line of text.slice(text.indexOf("declare class Api")).split("\n")) {
    group = /^ {4}(\w+): \{$/.exec(line)?.[1] ?? group;
    const [, verb, path] = /@request (\w+):(\S+)/.exec(line) ?? [];
    if (verb !== undefined) request = `${verb} /api/v1${path}`;
    method = /^ {8}(\w+): \(/.exec(line)?.[1] ?? method;
    const result = /=> Promise<HttpResponse<(.+), \w+>>;$/.exec(line)?.[1];
    if (result !== undefined) methods.push({ name: `${group}.${method}`, request, result });
  }
  return methods;
}

/**
 * Wraps a client: `observe` gets the name and the data of each answer. Answers other than 2xx are thrown as an `Error`
 * with the method, the status and the text of the answer.
 */
export function watchClient<Client extends object>(
  client: Client,
  observe: (name: string, data: unknown) => void,
): Client {
  const groups = new Map<string | symbol, unknown>();
  return new Proxy(client, {
    get(target, group) {
      const methods: unknown = Reflect.get(target, group);
      if (typeof methods !== "object" || methods === null) return methods;
      if (!groups.has(group)) groups.set(group, watchGroup(String(group), methods, observe));
      return groups.get(group);
    },
  });
}

function watchGroup(
  group: string,
  methods: object,
  observe: (name: string, data: unknown) => void,
): object {
  return new Proxy(methods, {
    get(target, method) {
      const call: unknown = Reflect.get(target, method);
      if (typeof call !== "function") return call;
      const name = `${group}.${String(method)}`;
      return async (...args: unknown[]) => {
        try {
          const answer = await call(...args);
          // A web response of these statuses has no body, even if the server sent one.
          observe(name, answer.status === 204 || answer.status === 205 ? undefined : answer.data);
          return answer;
        } catch (error) {
          const { status, url, error: body } = error as Record<string, unknown>;
          throw new Error(`${name}: ${String(status)} ${String(url)} ${JSON.stringify(body)}`, {
            cause: error,
          });
        }
      };
    },
  });
}
