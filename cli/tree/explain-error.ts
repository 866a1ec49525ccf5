import type { Command, Option } from "commander";
import { describeStrengthRules, WEAK_PASSWORD } from "../../daemon/contract/password-rules.ts";
import type { CliEnvironment } from "../environment.ts";
import { CliError, type CliErrorDetails, type Problem } from "../errors.ts";
import { lineOf } from "./command-tree.ts";
import type { CommandDefinition, Noun, Verb } from "./entry.ts";

/** The command that failed. */
interface FailedCommand {
  /** The groups on the way, outermost first. */
  readonly path: readonly Noun[];
  readonly verb: Verb;
  readonly module: CommandDefinition;
  /** The parsed command. */
  readonly leaf: Command;
  readonly cli: Pick<CliEnvironment, "config" | "io" | "system">;
}

/**
 * Rewords a failure for the user: names the flag or argument with the refused value and the object that was not
 * found, and adds a next step. Otherwise the server's text stays.
 */
export async function explainError(error: CliError, failed: FailedCommand): Promise<CliError> {
  const { leaf } = failed;
  const { problems = [] } = error.details;
  if (problems.length > 0)
    return reword(error, problems.map((problem) => toSentence(problem, leaf)).join("; "));
  if (error.message.startsWith(WEAK_PASSWORD))
    return reword(error, error.message, { hint: describeStrengthRules() });
  if (error.code === "missing_input" || error.code === "usage") return addMistakes(error, failed);
  if (error.code === "not_found") return explainNotFound(error, failed);
  if (error.code === "name_collision") return explainTakenName(error, leaf);
  if (error.code === "invalid_credentials" || error.code === "session_revoked")
    return explainRefusal(error, failed);
  // A connection that does not exist yet cannot be reconnected.
  if (error.code === "reauth_required" && lineOf(leaf) === "croft vault connection add")
    return reword(error, error.message, { hint: "check the credentials, and repeat the command" });
  if (error.code === "rate_limited") return explainBlockedSignIn(error, leaf);
  if (/^can not \w+ the last admin user/.test(error.message))
    return reword(error, error.message, {
      hint: 'make another account an administrator first: "croft admin user edit NAME --admin true"',
    });
  if (error.code === "forbidden" && error.message.startsWith("This account is prohibited"))
    return reword(error, error.message, {
      hint:
        'an administrator lets it sign in again: "croft admin user edit NAME --active true --prohibit-login false"; where ' +
        'none can sign in, "croft daemon recover-admin NAME" on the machine of the daemon',
    });
  return error;
}

/** Names what still works: only passwords and codes are counted. */
function explainBlockedSignIn(error: CliError, leaf: Command): CliError {
  const { service, hint: wait } = error.details;
  const withWait = (hint: string) => (wait === undefined ? hint : `${wait}; ${hint}`);
  if (service === "forge" && takesCode(leaf) && leaf.getOptionValue("tokenStdin") !== true)
    return reword(error, error.message, {
      hint: withWait(
        'programs that are signed in and access tokens still work; "croft login forge --token-stdin" signs in with one',
      ),
    });
  if (service === "vault" && lineOf(leaf).startsWith("croft login vault"))
    return reword(error, error.message, {
      hint: withWait("programs that are signed in still work"),
    });
  return error;
}

/** Adds the mistakes in the other values of the line, so that one attempt reports all. */
async function addMistakes(error: CliError, failed: FailedCommand): Promise<CliError> {
  const { leaf, module, path, verb } = failed;
  const line = [...path, verb].map(({ name }) => name).join(" ");
  const { findUnknownValues } = await import("./usage-errors.ts");
  const unknown = findUnknownValues(leaf, line, module);
  const operations = module.takesValuesOf ?? [];
  const values = operations.length === 0 ? {} : await readFlagValues(failed);
  const refused = Object.keys(values).length === 0 ? [] : await findRefused();
  const mistakes = [...unknown, ...refused].filter((each) => !error.message.includes(each));
  return mistakes.length === 0 ? error : reword(error, [error.message, ...mistakes].join("; "));

  async function findRefused(): Promise<readonly string[]> {
    const { findFlagProblems } = await import("../client/refused-values.ts");
    return findFlagProblems(operations, values).map((problem) => toSentence(problem, leaf));
  }
}

/** Returns the flag values of the line by their names in requests, with the password that waits on standard input. */
async function readFlagValues({ leaf, cli }: FailedCommand): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const option of leaf.options) {
    const value: unknown = leaf.getOptionValue(option.attributeName());
    if (leaf.getOptionValueSource(option.attributeName()) !== "cli") continue;
    if (typeof value === "string") values[option.name().replaceAll("-", "_")] = value;
    const isWaiting = !cli.io.isInputTerminal && !cli.system.stdin.destroyed;
    if (option.long === "--password-stdin" && isWaiting)
      values["password"] = await cli.io.readInput(64 * 1024);
  }
  return values;
}

/** Names the flag of the command that replaces what exists. */
function explainTakenName(error: CliError, leaf: Command): CliError {
  const canReplace = leaf.options.some(({ long }) => long === "--replace");
  if (!canReplace || leaf.getOptionValue("replace") === true) return error;
  return reword(error, error.message, {
    hint: "choose another name, or give --replace to replace it",
  });
}

async function explainNotFound(error: CliError, failed: FailedCommand): Promise<CliError> {
  const hint = error.details.hint ?? (await findListHint(failed));
  const named = failed.leaf.args.join(" ");
  // The forge's message for any missing object is no more than that.
  const isBare = /^not found$/i.test(error.message) && named !== "";
  return reword(error, isBare ? `not found: ${named}` : toMissingText(error.message), { hint });
}

/** `user redirect does not exist [name: mira]`, as the forge words it like Gitea, becomes `there is no user "mira"`. */
function toMissingText(message: string): string {
  const [, kind = "", details = ""] =
    /^([a-z ]+?)(?: redirect)? does not exist \[([^[\]]+)\]$/i.exec(message) ?? [];
  const name = /(?:^|, )name: ([^,]+)$/.exec(details)?.[1];
  if (name !== undefined) return `there is no ${kind} ${JSON.stringify(name)}`;
  const id = /^\w*id: (\d+)/.exec(details)?.[1];
  return id === undefined ? message : `there is no ${kind} with the id ${id}`;
}

/** The `list` command of the nearest noun: of a list that failed, that of the noun above. */
async function findListHint({ path, verb, leaf }: FailedCommand): Promise<string | undefined> {
  const above = verb.name === "list" ? path.slice(0, -1) : path;
  for (let depth = above.length; depth > 0; depth -= 1) {
    const { entries = [] } = (await above[depth - 1]?.load()) ?? {};
    if (!entries.some(({ kind, name }) => kind === "verb" && name === "list")) continue;
    const nouns = above.slice(0, depth).map(({ name }) => name);
    const [, repository, within] = /^([\w.-]+\/[\w.-]+)(#\d+)?$/.exec(leaf.args[0] ?? "") ?? [];
    if (nouns.join(" ") === "repo" || repository === undefined)
      return `"${["croft", ...nouns, "list"].join(" ")}" shows what there is`;
    // When only the repository is named, it is the missing object: its own list would fail as well.
    if (within !== undefined || leaf.args.length > 1)
      return `"${["croft", ...nouns, "list", repository].join(" ")}" shows what there is`;
    break;
  }
  return leaf.args.some((word) => word.includes("/"))
    ? '"croft repo list" shows your repositories'
    : undefined;
}

/** Signing in again helps neither with a token from the environment nor where signing in has just failed. */
async function explainRefusal(error: CliError, { leaf, cli }: FailedCommand): Promise<CliError> {
  const { service } = error.details;
  if (service === undefined) return error;
  const isLogin = lineOf(leaf).startsWith("croft login");
  if (isLogin && error.details.hint !== toLoginHint(service)) return error;
  // These commands sign in with a password; a stored token is not the cause.
  if (isLogin || (service === "forge" && takesCode(leaf)))
    return reword(error, error.message, { hint: toPasswordHint(service, leaf) });
  const { forgeToken, vaultToken, tokenCommand } = await cli.config();
  const variable =
    (service === "forge" ? forgeToken : vaultToken) !== undefined
      ? `CROFT_${service.toUpperCase()}_TOKEN`
      : tokenCommand === undefined
        ? undefined
        : "CROFT_TOKEN_COMMAND";
  if (variable === undefined) return error;
  return reword(error, error.message, {
    hint: `the token comes from ${variable}: replace it, or unset it and sign in with "croft login ${service}"`,
  });
}

const takesCode = (leaf: Command): boolean => leaf.options.some(({ long }) => long === "--totp");

/** The forge answers a missing code as it answers a wrong password. */
function toPasswordHint(service: "forge" | "vault", leaf: Command): string {
  if (leaf.getOptionValue("tokenStdin") === true) return "check the token, and try again";
  const check = "check the name and the password, and try again";
  if (service === "vault") return check;
  return leaf.getOptionValue("totp") === undefined && leaf.getOptionValue("otp") === undefined
    ? `${check}; if the account has a second factor, give --totp CODE`
    : "check the name, the password and the code, and try again; each code works once";
}

const toLoginHint = (service: "forge" | "vault") => `"croft login ${service}" signs in`;

function reword(error: CliError, message: string, more: CliErrorDetails = {}): CliError {
  return new CliError(error.code, message, { ...error.details, cause: error, ...more });
}

/** `--email: "mira" is not an e-mail address`. */
function toSentence({ field, text }: Problem, leaf: Command): string {
  if (field === "") return `the server cannot read the request: ${text}`;
  const name = toKebab(field);
  const option = leaf.options.find(
    (each) =>
      each.long === `--${name}` ||
      (each.long === `--${name}-stdin` && leaf.getOptionValue(each.attributeName()) === true),
  );
  const position = leaf.registeredArguments.findIndex((argument) => argument.name() === name);
  const where = option?.long ?? (position < 0 ? name.replaceAll("-", " ") : `<${name}>`);
  const typed: unknown =
    option === undefined ? leaf.args[position] : leaf.getOptionValue(option.attributeName());
  const value = typeof typed === "string" && typed !== "" ? `${JSON.stringify(typed)} ` : "";
  return `${where}: ${toRuleText(text, value, option)}`;
}

/** The rules that the forge names by a keyword; other rules already are sentences. */
function toRuleText(rule: string, value: string, option: Option | undefined): string {
  const known = ruleTexts[rule];
  if (known !== undefined) return `${value}${known}`;
  if (rule === "In") {
    const allowed = option === undefined ? "" : `; it is for: ${option.description}`;
    return `${value}is not one of the allowed values${allowed}`;
  }
  const parsed = /^Value could not be parsed as (.+)$/.exec(rule)?.[1];
  return parsed === undefined ? rule : `${value}is not of the type ${parsed}`;
}

const ruleTexts: Readonly<Record<string, string>> = {
  Required: "is missing",
  MaxSize: "is too long",
  MinSize: "is too short",
  Email: "is not an e-mail address of the form name@example.org",
  Url: "is not a URL that begins with http:// or https://",
  AlphaDashDot: "may have letters, digits, '-', '_' and '.' only",
  GitRefName: "is not a name that git takes for a branch or tag",
  GlobPattern: "is not a glob pattern",
  PasswordIsRequired:
    "the password is shorter than the server's setting min_password_length (8, unless it is another)",
  PasswordComplexity:
    "the password lacks a kind of characters that the server requires: lower-case and upper-case letters, digits and special characters are safe",
  PasswordPwned: "the password has appeared in a data breach; choose a different one",
  "invalid username":
    "is not a user name: it takes letters and digits, with single '-', '_' or '.' between them, 40 at most",
  "invalid slug": "is not a slug: it takes letters, digits, '-', '_' and '.'",
};

/** `FullName` and `full_name` as the flag is spelled: `full-name`. */
function toKebab(field: string): string {
  return field
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replaceAll(/[._]/g, "-")
    .toLowerCase();
}
