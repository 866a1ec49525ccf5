import { AppError } from "../errors.ts";

/** An answer outside the forge's usual error body: its own status, and plain text or nothing as the body. */
export interface PlainAnswer {
  readonly kind: "forge_plain_answer";
  readonly status: number;
  readonly text: string | undefined;
}

/** Whether an `AppError`'s body asks for an answer outside the usual error body. */
export function isPlainAnswer(body: unknown): body is PlainAnswer {
  return (
    typeof body === "object" &&
    body !== null &&
    "kind" in body &&
    body.kind === "forge_plain_answer"
  );
}

/** 404 `not found`. */
export const notFound = (): AppError => new AppError("not_found", "not found");

/** 404 for a name in a path that nobody has, and never had. */
export const userNotFound = (name: string): AppError =>
  new AppError("not_found", `user redirect does not exist [name: ${name.toLowerCase()}]`);

/** 307 to the address that a renamed user has. */
export const movedTo = (location: string): AppError =>
  new AppError("not_found", "moved", {
    headers: { Location: location },
    body: { kind: "forge_plain_answer", status: 307, text: undefined } satisfies PlainAnswer,
  });

/** Whether an `AppError`'s body asks for 307, which goes to the address in its headers. */
export const isMoved = (body: unknown): boolean => isPlainAnswer(body) && body.status === 307;

/** The query of a target, with its mark, without the token in it: that must not come back in a header. */
export function keptQuery(target: string): string {
  const mark = target.indexOf("?");
  if (mark === -1) return "";
  const query = new URLSearchParams(target.slice(mark + 1));
  if (!query.has("token") && !query.has("access_token")) return target.slice(mark);
  query.delete("token");
  query.delete("access_token");
  const rest = query.toString();
  return rest === "" ? "" : `?${rest}`;
}

/** 404 in plain text, for a former name whose owner is gone or hidden from strangers. */
export const formerUserGone = (): AppError =>
  new AppError("not_found", "user does not exist", {
    body: {
      kind: "forge_plain_answer",
      status: 404,
      text: "user does not exist\n",
    } satisfies PlainAnswer,
  });

/** A refusal whose body has no `url` member: account state and sudo (forge behaviour, 3). */
export const bareRefusal = (message: string): AppError =>
  new AppError("forbidden", message, { body: { message } });

/** What the body of a refusal with 423 is until its error body is made. */
const locked = { kind: "forge_locked" } as const;

/** Whether an `AppError`'s body asks for 423 with the usual error body. */
export const isLocked = (body: unknown): boolean => body === locked;

/** 423: nothing can be added to an archived repository. */
export const isArchived = (fullName: string): AppError =>
  new AppError("forbidden", `${fullName} is archived`, { body: locked });

export const nameTakenText = (name: string): string => `user already exists [name: ${name}]`;

export const nameTaken = (name: string): AppError => new AppError("conflict", nameTakenText(name));

/** The last site administrator can be neither deleted nor demoted. */
export const lastAdmin = (
  code: "invalid_argument" | "unprocessable",
  user: { readonly id: number },
): AppError => new AppError(code, `can not delete the last admin user [uid: ${user.id}]`);

export const targetIsOrganization = (): AppError =>
  new AppError("unprocessable", "target is an organization but not user");

export const emailTaken = (email: string): AppError =>
  new AppError("conflict", `e-mail already in use [email: ${email}]`);
