import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect } from "vitest";

const schema = JSON.parse(
  readFileSync(fileURLToPath(new URL("./forge-wire.json", import.meta.url)), "utf8"),
);

/** Members of a repository that croft leaves out, since it has nothing to say there. */
export const omittedOfRepository: readonly string[] = [
  "parent",
  "default_target_branch",
  "external_tracker",
  "external_wiki",
];

/**
 * Asserts that a value, or each of a list, has the wire shape of this name: right types, and every member there
 * but those in `omitted`.
 */
export function expectWireShape(
  name: string,
  value: unknown,
  omitted: readonly string[] = [],
): void {
  const values = Array.isArray(value) ? value : [value];
  for (const each of values) {
    const errors = findShapeErrors(name, each);
    expect(errors, `${name}: ${JSON.stringify(each)}`).toEqual([]);
    const members = Object.keys(schema.$defs[name].properties);
    const missing = members.filter((member) => !(member in each) && !omitted.includes(member));
    expect(missing, `members of ${name}`).toEqual([]);
  }
}

/** Returns the type errors of a value of this wire shape, one sentence each. */
export function findShapeErrors(name: string, value: unknown): string[] {
  const validate = compile(name);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

const compile = createCompiler();

function createCompiler() {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  // An organization that owns a repository has the address "", as in Gitea 1.27.1; its document does not say so.
  const isEmail = ajv.formats["email"] as RegExp;
  ajv.addFormat("email", (text) => text === "" || isEmail.test(text));
  ajv.addSchema(schema);
  return (name: string) => {
    const validate = ajv.getSchema(`forge-wire#/$defs/${name}`);
    if (validate === undefined) throw new Error(`no wire shape is called ${name}`);
    return validate;
  };
}
