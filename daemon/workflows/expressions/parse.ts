import { isFunction } from "./functions.ts";
import { ExpressionError, type ExpressionValue } from "./values.ts";

/** A parsed expression. */
export type Expression =
  | { readonly kind: "literal"; readonly value: ExpressionValue }
  | { readonly kind: "context"; readonly name: string }
  | { readonly kind: "member"; readonly of: Expression; readonly key: Expression }
  /** `.*`: the values of an object, or the members of a list. */
  | { readonly kind: "filter"; readonly of: Expression }
  | { readonly kind: "call"; readonly name: string; readonly values: readonly Expression[] }
  | { readonly kind: "not"; readonly of: Expression }
  | {
      readonly kind: "binary";
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    };
export type BinaryOperator = "||" | "&&" | "==" | "!=" | "<" | "<=" | ">" | ">=";

interface Token {
  readonly kind: "number" | "string" | "name" | "sign";
  readonly text: string;
}

/** Longest expression in characters, and deepest nesting: parser and evaluator recurse. */
const CHARACTERS_MAX = 21_000;
const DEPTH_MAX = 50;

const TOKEN =
  /\s*(?:(?<number>[+-]?(?:0x[0-9a-fA-F]+|0o[0-7]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))|(?<string>'(?:[^']|'')*')|(?<name>[A-Za-z_][\w-]*)|(?<sign>\|\||&&|==|!=|<=|>=|[<>!()[\].,*]))/y;

/** Operators by precedence, the loosest first. */
const LEVELS: readonly (readonly BinaryOperator[])[] = [
  ["||"],
  ["&&"],
  ["==", "!="],
  ["<", "<=", ">", ">="],
];

/**
 * Parses the text between `${{` and `}}`. @throws ExpressionError
 * @param names the contexts that it may refer to, in lower case; any by default
 */
export function parseExpression(text: string, names?: ReadonlySet<string>): Expression {
  if (text.length > CHARACTERS_MAX)
    throw new ExpressionError(`an expression has at most ${CHARACTERS_MAX} characters`);
  const tokens = tokenize(text);
  let at = 0;
  let depth = 0;

  const expression = nested(() => binary(0));
  const rest = tokens[at];
  if (rest !== undefined) throw unexpected(rest);
  return expression;

  function binary(level: number): Expression {
    const operators = LEVELS[level];
    if (operators === undefined) return unary();
    let left = binary(level + 1);
    let count = 0;
    for (;;) {
      const operator = operators.find((each) => accept(each));
      if (operator === undefined) return left;
      // A chain of operators is a left-deep tree, which the evaluator descends.
      if ((count += 1) > CHAIN_MAX)
        throw new ExpressionError(`an expression has at most ${CHAIN_MAX} operators in a row`);
      left = { kind: "binary", operator, left, right: binary(level + 1) };
    }
  }

  function unary(): Expression {
    if (accept("!")) return { kind: "not", of: nested(unary) };
    return members(primary());
  }

  function members(of: Expression): Expression {
    let value = of;
    for (let count = 0; ; count += 1) {
      if (count > DEPTH_MAX) throw tooDeep();
      if (accept(".")) {
        if (accept("*")) value = { kind: "filter", of: value };
        else value = { kind: "member", of: value, key: literal(take("name").text) };
      } else if (accept("[")) {
        if (accept("*")) value = { kind: "filter", of: value };
        else value = { kind: "member", of: value, key: nested(() => binary(0)) };
        expect("]");
      } else return value;
    }
  }

  function primary(): Expression {
    const token = tokens[at];
    at += 1;
    if (token === undefined) throw new ExpressionError("the expression ends too early");
    if (token.kind === "number") return literal(Number(token.text));
    if (token.kind === "string") return literal(token.text.slice(1, -1).replaceAll("''", "'"));
    if (token.text === "(") {
      const inner = nested(() => binary(0));
      expect(")");
      return inner;
    }
    if (token.kind !== "name") throw unexpected(token);
    if (accept("(")) {
      const name = token.text.toLowerCase();
      if (!isFunction(name))
        throw new ExpressionError(`unknown function ${JSON.stringify(token.text)}`);
      return { kind: "call", name, values: call() };
    }
    const word = WORDS.get(token.text);
    if (word !== undefined) return literal(word);
    if (names?.has(token.text.toLowerCase()) === false)
      throw new ExpressionError(`unknown name ${JSON.stringify(token.text)}`);
    return { kind: "context", name: token.text };
  }

  function call(): Expression[] {
    const values: Expression[] = [];
    if (accept(")")) return values;
    do values.push(nested(() => binary(0)));
    while (accept(","));
    expect(")");
    return values;
  }

  function nested(parse: () => Expression): Expression {
    depth += 1;
    if (depth > DEPTH_MAX) throw tooDeep();
    const parsed = parse();
    depth -= 1;
    return parsed;
  }

  function accept(sign: string): boolean {
    const token = tokens[at];
    if (token?.kind !== "sign" || token.text !== sign) return false;
    at += 1;
    return true;
  }

  function expect(sign: string): void {
    if (!accept(sign)) throw tokens[at] === undefined ? missing(sign) : unexpected(tokens[at]);
  }

  function take(kind: Token["kind"]): Token {
    const token = tokens[at];
    if (token?.kind !== kind) throw token === undefined ? missing("a name") : unexpected(token);
    at += 1;
    return token;
  }
}

/** Operators of one precedence in a row. */
const CHAIN_MAX = 500;

const WORDS: ReadonlyMap<string, ExpressionValue> = new Map<string, ExpressionValue>([
  ["true", true],
  ["false", false],
  ["null", null],
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
]);

const literal = (value: ExpressionValue): Expression => ({ kind: "literal", value });

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  const whole = text.trimEnd();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < whole.length) {
    const from = TOKEN.lastIndex;
    const groups = TOKEN.exec(whole)?.groups;
    if (groups === undefined) {
      const sign = whole.slice(from).trimStart().slice(0, 1);
      throw new ExpressionError(`unexpected character ${JSON.stringify(sign)} in an expression`);
    }
    for (const kind of ["number", "string", "name", "sign"] as const) {
      const found = groups[kind];
      if (found !== undefined) tokens.push({ kind, text: found });
    }
  }
  return tokens;
}

const tooDeep = () => new ExpressionError(`an expression is nested at most ${DEPTH_MAX} deep`);
const missing = (expected: string) => new ExpressionError(`the expression ends before ${expected}`);
const unexpected = (token: Token | undefined) =>
  new ExpressionError(`unexpected ${JSON.stringify(token?.text ?? "")} in an expression`);
