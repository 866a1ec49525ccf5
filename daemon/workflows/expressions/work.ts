import type { ExpressionValue } from "./values.ts";

/** The work of evaluations that share a budget of steps. A step is some 10 ns. */
export type Work = ReturnType<typeof createWork>;

/** The evaluation needs more steps than its budget. */
export class WorkExceeded extends Error {
  constructor() {
    super("the evaluation takes too many steps");
    this.name = "WorkExceeded";
  }
}

/** Steps for a character of JSON, and for one of a text that was parsed before, which is compared. */
const STEPS_TO_PARSE = 4;
const STEPS_TO_COMPARE = 1 / 16;
/** Characters of the texts whose values are kept. */
const DECODED_CHARACTERS_MAX = 4 * 1024 * 1024;

/** Creates a budget; without a limit the work is only counted. */
export function createWork(stepsMax = Number.POSITIVE_INFINITY) {
  const decoded = new Map<string, ExpressionValue>();
  let decodedCharacters = 0;
  let steps = 0;
  const spend = (more: number) => {
    steps += more;
    if (steps > stepsMax) throw new WorkExceeded();
  };
  return {
    /** Counts work that is about to be done. @throws WorkExceeded when the budget is used up */
    spend,
    /** Parses JSON. The value of a text that was parsed before is shared. @throws SyntaxError, WorkExceeded */
    decode(text: string): ExpressionValue {
      spend(1 + text.length * STEPS_TO_COMPARE);
      const known = decoded.get(text);
      if (known !== undefined) return known;
      spend(text.length * STEPS_TO_PARSE);
      // Every value of JSON is a value of an expression.
      const value: ExpressionValue = JSON.parse(text);
      if (decodedCharacters + text.length <= DECODED_CHARACTERS_MAX) {
        decodedCharacters += text.length;
        decoded.set(text, value);
      }
      return value;
    },
  };
}
