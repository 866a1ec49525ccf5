// daemon/contract/vault: the endpoints and wire schemas of the vault API, one file per area.
// Start here: the shapes that every area uses.
import { z } from "zod";
import { MISSING } from "../issue-text.ts";

/** An id: UUID, lower case on the wire. */
export const uuid = z.uuid().toLowerCase();

/** A time on the wire: ISO 8601, UTC, milliseconds. */
export const time = z.iso.datetime();

/** Text of a request that is kept as it is: well-formed Unicode, at most `max` characters, and no NUL, which no database stores. */
export const exactText = (max: number) =>
  z
    .string()
    .max(max)
    .refine(isWellFormed, "Text must be well-formed Unicode")
    .refine((value) => !value.includes("\0"), "Text must not contain NUL");

/** The same in NFC. */
export const text = (max: number) => exactText(max).normalize("NFC");

/** Text on one line, such as a name: no control characters. */
export const line = (max: number) =>
  text(max).refine((value) => !CONTROL.test(value), "Control characters are not allowed");

/** One of a few words; a missing value is reported as missing. */
export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, { error: ({ input }) => (input === undefined ? MISSING : undefined) });

/** An e-mail address as accounts keep it: trimmed, lower case, at most 254 characters. */
export const email = z
  .string()
  .trim()
  .max(254)
  // Before lower-casing, which turns the Kelvin sign into a plain k and thus another address.
  .check(z.email({ error: "This is not an e-mail address" }))
  .toLowerCase();

/** The longest part of an e-mail address before its `@` (RFC 5321, 4.5.3.1.1). */
const LOCAL_PART_MAX = 64;

/** The e-mail address of a new account. Existing accounts sign in with longer ones, too. */
export const newEmail = email.refine(
  (address) => address.lastIndexOf("@") <= LOCAL_PART_MAX,
  `An e-mail address has at most ${LOCAL_PART_MAX} characters before the @`,
);

/** A handle: 3 to 32 letters of ASCII, digits, `_` and `-`, a letter first. Compared without case. */
export const handleName = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_-]{2,31}$/,
    "A handle is 3 to 32 of a-z 0-9 _ - and starts with a letter",
  );

/** A password in a request; its strength is a rule of the service. */
export const password = z
  .string()
  .refine(isWellFormed, "Text must be well-formed Unicode")
  .normalize("NFC")
  .refine(
    (value) => new TextEncoder().encode(value).byteLength <= PASSWORD_BYTES_MAX,
    `A password is at most 1024 bytes`,
  );

/** Longest password in bytes of UTF-8. */
export const PASSWORD_BYTES_MAX = 1024;

/** One invalid value. */
const validationFailure = z.object({
  loc: z.array(z.union([z.string(), z.number()])),
  msg: z.string(),
  type: z.string(),
});

/** The body of a refusal. After a failed validation it lists the invalid fields. */
export const detail = z.object({ detail: z.union([z.string(), z.array(validationFailure)]) });

/** A response with only a message. */
export const message = z.object({ message: z.string() });

/** A whole number in a query, written in decimal digits only: not `0x10`, `1e2` or `" 5"`. */
export const queryInteger = (min: number, max: number, absent: number) =>
  z.preprocess(
    (value: string | number | undefined) =>
      typeof value === "string" && /^-?\d{1,15}$/.test(value) ? Number(value) : value,
    z.number().int().min(min).max(max).default(absent),
  );

/** The query of a list: `page` from 1, `per_page` up to 100. */
export const paging = {
  page: queryInteger(1, 1_000_000_000, 1),
  per_page: queryInteger(1, 100, 30),
};

/** One page of a list. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({
    items: z.array(item),
    total: z.int().min(0),
    page: z.int().min(1),
    per_page: z.int().min(1),
  });

/** A filter of a list: `true` or `false` in the query. */
export const queryFlag = z.enum(["true", "false"]).transform((value) => value === "true");

// oxlint-disable-next-line no-control-regex -- the pattern matches control characters
const CONTROL = /[\u0000-\u001f\u007f]/;

function isWellFormed(value: string): boolean {
  return value.isWellFormed();
}
