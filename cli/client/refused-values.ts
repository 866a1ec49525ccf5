import { z } from "zod";
import { allEndpoints } from "../../daemon/contract/all.ts";
import type { Endpoint } from "../../daemon/contract/endpoint.ts";
import { PASSWORD_LENGTH_MIN } from "../../daemon/contract/forge/rules.ts";
import { describeIssue } from "../../daemon/contract/issue-text.ts";
import { findWeakness, WEAK_PASSWORD } from "../../daemon/contract/password-rules.ts";
import { CliError, type Problem } from "../errors.ts";
import { asObject, type JsonObject } from "../support/json.ts";
import { forge, vault, type AnyOperation } from "./operations.ts";

// Loads the contract's schemas, which takes as long as a whole command. Import this file only after a failure.

/** The body member with a new password, and the rules that its schema lacks. */
const newPasswords: Readonly<Record<string, readonly [member: string, rule: PasswordRule]>> = {
  [forge.createUser.name]: ["password", findForgeMistake],
  [forge.editUser.name]: ["password", findForgeMistake],
  [vault.register.name]: ["password", findWeakness],
  [vault.changePassword.name]: ["new_password", findWeakness],
  [vault.confirmPasswordReset.name]: ["new_password", findWeakness],
};

/** Returns the broken rules as the end of a sentence; undefined for a password that breaks none. */
type PasswordRule = (password: string) => string | undefined;

/**
 * Adds all other invalid values of the body to a refusal. The forge reports only the first one, and both APIs check
 * passwords last.
 */
export function withAllProblems(error: CliError, operation: AnyOperation, body: unknown): CliError {
  const { problems = [] } = error.details;
  const told = forgePasswordRefusal.test(error.message)
    ? [{ field: "password", text: error.message }]
    : problems;
  const values = asObject(body);
  if (values === undefined || (told.length === 0 && !error.message.startsWith(WEAK_PASSWORD)))
    return error;
  const found = findRefusedValues(operation, values);
  const all = withoutRepeats([...told, ...found]);
  return new CliError(error.code, error.message, { ...error.details, cause: error, problems: all });
}

const forgePasswordRefusal = /^Password(?:IsRequired|Complexity|Pwned)$/;

/**
 * Returns the problems of values by their member in the bodies of `operations`. Ignores absent members and types
 * other than text, because flags are text.
 */
export function findFlagProblems(
  operations: readonly AnyOperation[],
  values: Readonly<Record<string, string>>,
): readonly Problem[] {
  return withoutRepeats(
    operations.flatMap((operation) =>
      findRefusedValues(operation, values).filter(({ field }) => Object.hasOwn(values, field)),
    ),
  );
}

function findRefusedValues(operation: AnyOperation, values: JsonObject): readonly Problem[] {
  const schema = schemaOf(operation);
  const error = operation.path.startsWith("/api/v1/") ? undefined : describeIssue;
  const parsed = schema?.safeParse(values, error && { error });
  const issues = parsed?.error?.issues ?? [];
  const [member = "", rule] = newPasswords[operation.name] ?? [];
  const password = values[member];
  const mistake = typeof password === "string" ? rule?.(password) : undefined;
  return [
    ...issues.map(({ path, message }) => ({ field: path.join("."), text: message })),
    ...(mistake === undefined ? [] : [{ field: member, text: mistake }]),
  ];
}

function schemaOf({ name }: AnyOperation): z.ZodType | undefined {
  const declared: Endpoint | undefined = allEndpoints.find((each) => each.name === name);
  return declared?.body instanceof z.ZodObject ? declared.body : undefined;
}

/** The owner of a server may have chosen another length, so this is only told beside a refusal. */
function findForgeMistake(password: string): string | undefined {
  return Buffer.byteLength(password) < PASSWORD_LENGTH_MIN
    ? `the password has fewer than ${PASSWORD_LENGTH_MIN} characters, the least length unless the server's setting min_password_length is another`
    : undefined;
}

/** The first problem of each field, in any of its spellings: `FullName`, `full_name`. */
function withoutRepeats(problems: readonly Problem[]): readonly Problem[] {
  const byField = new Map<string, Problem>();
  for (const problem of problems) {
    const field = problem.field.replaceAll(/[^A-Za-z0-9]/g, "").toLowerCase();
    if (!byField.has(field)) byField.set(field, problem);
  }
  return [...byField.values()];
}
