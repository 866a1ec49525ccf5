/**
 * The part of jq that scripts use most, so that the real engine need not start: `.`, `.a.b`, `."a-b"`, `.[]`, `.[0]`,
 * `.a[].b`, `length`, `keys`, `select(PATH == VALUE)` with `==`, `!=`, `<`, `<=`, `>`, `>=`, and `|` between them.
 *
 * Loading the engine and running one expression takes 93 to 174 ms, which is as long as the rest of a command.
 */
export type SmallJq = (input: unknown) => unknown[];

/** A value where jq itself would fail, such as a field of a number. The real engine words the error. */
export class JqTypeError extends Error {}

type Step = (value: unknown) => unknown[];

/** Compiles an expression; undefined if it needs the real engine. */
export function compileSmallJq(expression: string): SmallJq | undefined {
  const steps: Step[] = [];
  for (const stage of splitStages(expression)) {
    const compiled = compileStage(stage.trim());
    if (compiled === undefined) return undefined;
    steps.push(...compiled);
  }
  return (input) =>
    steps.reduce<unknown[]>((values, step) => values.flatMap((value) => step(value)), [input]);
}

/** Splits at `|` outside of strings and parentheses. */
function splitStages(expression: string): string[] {
  const stages = [""];
  let depth = 0;
  let inString = false;
  for (let index = 0; index < expression.length; index++) {
    const character = expression.charAt(index);
    if (inString && character === "\\") {
      stages[stages.length - 1] += character + expression.charAt(++index);
      continue;
    }
    if (character === '"') inString = !inString;
    else if (!inString && character === "(") depth += 1;
    else if (!inString && character === ")") depth -= 1;
    if (character === "|" && depth === 0 && !inString) stages.push("");
    else stages[stages.length - 1] += character;
  }
  return stages;
}

function compileStage(stage: string): Step[] | undefined {
  if (stage === "length") return [(value) => [lengthOf(value)]];
  if (stage === "keys") return [(value) => [keysOf(value)]];
  const condition = /^select\((.*)\)$/s.exec(stage)?.[1];
  if (condition !== undefined) return compileSelect(condition.trim());
  return compilePath(stage);
}

function compileSelect(condition: string): Step[] | undefined {
  const parts = /^(\.[^=!<>]*?)\s*(==|!=|<=|>=|<|>)\s*(.+)$/s.exec(condition);
  const path = compilePath(parts?.[1] ?? condition);
  if (path === undefined) return undefined;
  const read = (value: unknown) =>
    path.reduce<unknown[]>((values, step) => values.flatMap((inner) => step(inner)), [value]);
  if (parts === null)
    return [
      (value) => read(value).flatMap((found) => (found === null || found === false ? [] : [value])),
    ];
  const literal = parseLiteral(parts[3] ?? "");
  const compare = comparisons[parts[2] ?? ""];
  if (literal === undefined || compare === undefined) return undefined;
  return [
    (value) => read(value).flatMap((found) => (compare(found, literal.value) ? [value] : [])),
  ];
}

const comparisons: Readonly<Record<string, (found: unknown, operand: unknown) => boolean>> = {
  "==": (found, operand) => found === operand,
  "!=": (found, operand) => found !== operand,
  "<": (found, operand) => order(found, operand) < 0,
  "<=": (found, operand) => order(found, operand) <= 0,
  ">": (found, operand) => order(found, operand) > 0,
  ">=": (found, operand) => order(found, operand) >= 0,
};

/** jq's order of types: null, false, true, numbers, strings, lists, objects. */
function order(a: unknown, b: unknown): number {
  const rank = (value: unknown) =>
    value === null
      ? 0
      : value === false
        ? 1
        : value === true
          ? 2
          : typeof value === "number"
            ? 3
            : typeof value === "string"
              ? 4
              : Array.isArray(value)
                ? 5
                : 6;
  const difference = rank(a) - rank(b);
  if (difference !== 0 || rank(a) < 3) return difference;
  if (typeof a === "number" && typeof b === "number") return a - b;
  // jq compares strings by code point, JavaScript by UTF-16 unit.
  if (typeof a === "string" && typeof b === "string")
    return Buffer.compare(Buffer.from(a), Buffer.from(b));
  throw new JqTypeError();
}

function parseLiteral(text: string): { readonly value: unknown } | undefined {
  if (!/^("(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"|-?\d+(\.\d+)?|true|false|null)$/.test(text))
    return undefined;
  return { value: JSON.parse(text) as unknown };
}

const pathStep = /^(?:\.([A-Za-z_]\w*)|\.?"([^"\\]*)"|\.?\[(-?\d+)?\]|\.?\["([^"\\]*)"\])/;

function compilePath(path: string): Step[] | undefined {
  if (path === ".") return [];
  if (!path.startsWith(".")) return undefined;
  const steps: Step[] = [];
  let rest = path;
  while (rest !== "") {
    const found = pathStep.exec(rest);
    if (found === null || found[0] === "") return undefined;
    const [whole, plain, quoted, index, bracketed] = found;
    const field = plain ?? quoted ?? bracketed;
    if (field !== undefined) steps.push((value) => [fieldOf(value, field)]);
    else if (index !== undefined) steps.push((value) => [itemOf(value, Number(index))]);
    else steps.push(itemsOf);
    rest = rest.slice(whole.length);
  }
  return steps;
}

function fieldOf(value: unknown, name: string): unknown {
  if (value === null) return null;
  if (typeof value !== "object" || Array.isArray(value)) throw new JqTypeError();
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : null;
}

function itemOf(value: unknown, index: number): unknown {
  if (value === null) return null;
  if (!Array.isArray(value)) throw new JqTypeError();
  return value.at(index) ?? null;
}

function itemsOf(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) throw new JqTypeError();
  return Object.values(value);
}

function lengthOf(value: unknown): number {
  if (value === null) return 0;
  if (typeof value === "number") return Math.abs(value);
  if (typeof value === "string") return [...value].length;
  if (typeof value === "object") return Object.keys(value).length;
  throw new JqTypeError();
}

function keysOf(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) throw new JqTypeError();
  return Array.isArray(value) ? value.map((_, index) => index) : Object.keys(value).sort();
}
