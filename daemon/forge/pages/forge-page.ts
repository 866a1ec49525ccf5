import { AppError } from "../../errors.ts";
import type { PageAnswer, PageContext, PageRoute } from "../../pages/page.ts";
import type { Session } from "../../pages/sessions.ts";
import type { ForgeCaller } from "../caller.ts";

/** The kit's types for the callers of the forge. */
export type ForgePageContext = PageContext<ForgeCaller>;
export type ForgePageAnswer = PageAnswer<ForgeCaller>;
export type ForgePageRoute = PageRoute<ForgeCaller>;
export type ForgeSession = Session<ForgeCaller>;

/** The parameters of the pages of a repository. A type, because operations take any record of texts. */
export type RepositoryParams = { readonly owner: string; readonly repo: string };

export const SIGN_IN = "/user/login";
export const CHANGE_PASSWORD = "/user/settings/change_password";

/** Returns the response of a page that only a signed-in user may open. */
export function toSignIn(back: string): ForgePageAnswer {
  return { kind: "redirect", to: `${SIGN_IN}?redirect_to=${encodeURIComponent(back)}` };
}

const rules: Readonly<Record<string, string>> = {
  Required: "is missing",
  MaxSize: "is too long",
  In: "is not allowed",
};

/** Returns the reason of a refusal for a person: the API has words of Gitea, such as `[Title]: Required`. */
export function toSentence({ message }: AppError): string {
  const [, field = "A value", rule = ""] = /^(?:\[(\w+)\]: )?(\w+)$/.exec(message) ?? [];
  return Object.hasOwn(rules, rule) ? `${field} ${rules[rule]}.` : message;
}

/** The refusals that the form of a page shows. Any other is a page of its own. */
export const formRefusals: readonly AppError["code"][] = [
  "forbidden",
  "unprocessable",
  "invalid_argument",
  "archived",
  "not_found",
  "conflict",
  "precondition_failed",
  "not_mergeable",
  "too_large",
  "rate_limited",
  "unavailable",
];

/**
 * Runs the work of a form. Returns the refusal that the form shows, which is one of `codes`; undefined when it succeeded.
 * Throws any other error.
 */
export async function findRefusal(
  codes: readonly AppError["code"][],
  work: () => Promise<unknown>,
): Promise<AppError | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError) || !codes.includes(error.code)) throw error;
    return error;
  }
}
