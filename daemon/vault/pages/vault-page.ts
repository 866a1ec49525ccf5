import { AppError } from "../../errors.ts";
import type { ServerRequest } from "../../http/handle.ts";
import {
  get,
  type PageAnswer,
  type PageContext,
  type PageOptions,
  type PageRoute,
  type PathParams,
  post,
} from "../../pages/page.ts";
import type { Session } from "../../pages/sessions.ts";
import type { VaultCaller } from "../caller.ts";
import { HOME, SIGN_IN, toVaultPath } from "./addresses.ts";

/** The kit's types for the callers of the vault. */
export type VaultPageContext = PageContext<VaultCaller>;
export type VaultPageAnswer = PageAnswer<VaultCaller>;
export type VaultPageRoute = PageRoute<VaultCaller>;
export type VaultPageSession = Session<VaultCaller>;

/** The context of a page whose caller has signed in. */
export type SignedInContext = VaultPageContext & { readonly session: VaultPageSession };

type Run<Path extends string> = (
  context: SignedInContext,
  params: PathParams<Path>,
) => Promise<VaultPageAnswer>;

/** Declares a page of signed-in callers; others sign in first and come back. */
export function open<Path extends string>(path: Path, run: Run<Path>): VaultPageRoute {
  return get(path, (context, params) => {
    const { session, request } = context;
    return session === undefined
      ? Promise.resolve(toSignIn(request.target))
      : run({ ...context, session }, params);
  });
}

/** Declares the target of a form of signed-in callers. After a sign-in the page of the form is open again. */
export function submit<Path extends string>(
  path: Path,
  run: Run<Path>,
  options: PageOptions = {},
): VaultPageRoute {
  return post(
    path,
    (context, params) => {
      const { session, request } = context;
      return session === undefined
        ? Promise.resolve(toSignIn(findFormPage(request)))
        : run({ ...context, session }, params);
    },
    options,
  );
}

/** Returns the response that leads to the sign-in and from there to `back`. */
function toSignIn(back: string): VaultPageAnswer {
  const query = back === HOME ? "" : `?to=${encodeURIComponent(back)}`;
  return { kind: "redirect", to: SIGN_IN + query };
}

/** Returns the path of the page that sent a form. */
function findFormPage({ headers }: ServerRequest): string {
  const url = URL.parse(headers.referer ?? "");
  return url === null ? HOME : toVaultPath(url.pathname + url.search);
}

/**
 * Runs the work of a form. Returns its result, or the refusal that the form shows, which is one of `codes`. Throws any
 * other error.
 */
export async function tryForm<T>(
  work: () => Promise<T>,
  codes: readonly AppError["code"][] = SHOWN,
): Promise<{ readonly result: T } | { readonly refusal: AppError }> {
  try {
    return { result: await work() };
  } catch (error) {
    if (!(error instanceof AppError) || !codes.includes(error.code)) throw error;
    return { refusal: error };
  }
}

/** The refusals that a form shows beside its fields. */
const SHOWN: readonly AppError["code"][] = [
  "invalid_argument",
  "invalid_credentials",
  "unprocessable",
  "conflict",
  "forbidden",
  "rate_limited",
  "too_large",
  "storage_full",
  "unavailable",
];

/** Returns what a refusal says: the reasons of the fields, where it has them. */
export function toText({ message, data }: AppError): string {
  const { failures } = data;
  return failures === undefined ? message : failures.map(({ msg }) => msg).join(". ");
}
