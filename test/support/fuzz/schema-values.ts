import fc from "fast-check";
import { z } from "zod";
import { hostileJson, hostileText } from "./hostile-values.ts";

/** A JSON Schema as the contract makes it. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Returns the values of a member that exist in the home under test, by the member's name. */
export type KnownValues = (name: string) => readonly string[];

/**
 * Returns values that a schema of the contract admits as far as JSON Schema says it. Rules beyond it, and a wrong value
 * now and then, come from the caller.
 */
export function valuesOf(schema: z.ZodType, known: KnownValues): fc.Arbitrary<unknown> {
  return toValues(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Schema, "");

  function toValues(of: Schema, name: string): fc.Arbitrary<unknown> {
    if (of.const !== undefined) return fc.constant(of.const);
    if (of.enum !== undefined) return fc.constantFrom(...of.enum);
    const choices = of.anyOf ?? of.oneOf ?? of.allOf;
    if (choices !== undefined && choices.length > 0)
      return fc.oneof(...choices.map((each) => toValues(each, name)));
    const type = typeof of.type === "string" ? of.type : of.type?.[0];
    switch (type) {
      case "object":
        return toObjects(of);
      case "array":
        return fc.array(toValues(of.items ?? {}, name), {
          maxLength: Math.min(of.maxItems ?? 3, 3),
        });
      case "string":
        return toTexts(of, name);
      case "integer":
        return toIntegers(of, name);
      case "number":
        return fc.double({ noNaN: true, min: of.minimum ?? -1e6, max: of.maximum ?? 1e6 });
      case "boolean":
        return fc.boolean();
      case "null":
        return fc.constant(null);
      default:
        return fc.oneof(toTexts({}, name), hostileJson);
    }
  }

  function toObjects(of: Schema): fc.Arbitrary<unknown> {
    const members = Object.entries(of.properties ?? {}).map(
      ([name, each]) => [name, toValues(each, name)] as const,
    );
    if (members.length === 0)
      return typeof of.additionalProperties === "object"
        ? fc.dictionary(fc.string({ maxLength: 10 }), toValues(of.additionalProperties, ""), {
            maxKeys: 3,
          })
        : fc.constant({});
    return fc.record(Object.fromEntries(members), { requiredKeys: [...(of.required ?? [])] });
  }

  function toTexts(of: Schema, name: string): fc.Arbitrary<string> {
    const existing = known(name);
    const made = fc.oneof(
      { weight: 3, arbitrary: byFormat(of) },
      { weight: 1, arbitrary: hostileText },
    );
    return existing.length === 0
      ? made
      : fc.oneof(
          { weight: 3, arbitrary: fc.constantFrom(...existing) },
          { weight: 2, arbitrary: made },
        );
  }

  function toIntegers(of: Schema, name: string): fc.Arbitrary<number> {
    const existing = known(name).map(Number).filter(Number.isSafeInteger);
    const min = Math.max(of.minimum ?? -3, -(2 ** 53) + 1);
    const made = fc.oneof(
      fc.integer({ min, max: Math.max(min, Math.min(of.maximum ?? 60, min + 60)) }),
      fc.constantFrom(of.minimum ?? 0, of.maximum ?? 1, 1, 2 ** 31, 2 ** 53 - 1),
    );
    return existing.length === 0 ? made : fc.oneof(fc.constantFrom(...existing), made);
  }
}

const byName = fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/);

const byFormatName: Readonly<Record<string, fc.Arbitrary<string>>> = {
  uuid: fc.uuid(),
  "date-time": fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  date: fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10)),
  email: byName.map((name) => `${name}@example.org`),
  uri: byName.map((name) => `http://127.0.0.1:9/${name}`),
};

/** Texts of a format or pattern. A pattern that fast-check cannot read is one of other texts. */
function byFormat({
  format = "",
  pattern,
  minLength = 0,
  maxLength,
}: Schema): fc.Arbitrary<string> {
  const named = byFormatName[format];
  if (named !== undefined) return named;
  if (pattern !== undefined) {
    try {
      return fc.stringMatching(new RegExp(pattern));
    } catch {
      return byName;
    }
  }
  return byName.filter(
    ({ length }) => length >= Math.min(minLength, 12) && length <= (maxLength ?? Infinity),
  );
}
